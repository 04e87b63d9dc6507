"""iden3/snarkjs#480, #479, #26: a verifier took the public signal v + r for v.

A nullifier with two spellings can be spent twice. The spellings that the reader refuses are in
`test_formats_scalar_spellings.py`; here the verifier, by number and by file, and the command line.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from snarkcuda.curve.params import BN254, CURVES, Curve
from snarkcuda.errors import FormatError, NotInFieldError
from snarkcuda.formats.proof_json import read_proof
from snarkcuda.formats.public_json import read_public
from snarkcuda.formats.vkey_json import read_verifying_key
from snarkcuda.groth16.verify import verify
from tests.naive_groth16 import CUBE

curves = pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)


@curves
def test_aliases_of_a_true_signal(curve: Curve, make_files: Callable) -> None:
    """CUBE with x = 3, y = 35: 35 is true, every 35 + k·r is refused, by number and by file."""
    files, r = make_files(curve, CUBE), curve.fr.modulus
    key, proof = read_verifying_key(files.vk), read_proof(files.proof)
    assert files.signals == [35]
    assert verify(key, [35], proof)
    for alias in (35 + r, 35 + 2 * r, 35 - r, 35 + (r << 64), 35 + (r << 256), r, -1, -35):
        with pytest.raises(NotInFieldError, match="public signal 0 is"):
            verify(key, [alias], proof)
        files.public.write_text(json.dumps([str(alias)]))
        with pytest.raises(NotInFieldError, match="signal 0 "):
            verify(key, read_public(files.public, curve), proof)
    files.public.write_text('["35"]')
    assert verify(key, read_public(files.public, curve), proof)


@curves
@pytest.mark.parametrize("text", ["0x23 ", "3.5e1", "", " 35", "35.0", "+35", "035", "0X23"])
def test_other_spellings_of_a_true_signal(curve: Curve, text: str, make_files: Callable) -> None:
    """Refused, not guessed."""
    files = make_files(curve, CUBE)
    files.public.write_text(json.dumps([text]))
    with pytest.raises(FormatError, match="signal 0 must be an integer"):
        read_public(files.public, curve)


@pytest.mark.parametrize(
    "text, words",
    [
        (str(35 + BN254.fr.modulus), "not below r"),
        ("-1", "negative"),
        ("0x23 ", "0x23 "),
        ("3.5e1", "3.5e1"),
        ("", "integer"),
    ],
)
def test_command_line(text: str, words: str, make_files: Callable, run_cli: Callable) -> None:
    """Exit code 2 and the signal's index; never 0, and never 1, which would be a verdict."""
    files = make_files(BN254, CUBE)
    files.public.write_text(json.dumps([text]))
    ended = run_cli("verify", files.vk, files.public, files.proof)
    assert ended.code == 2
    for word in ("signal 0", words, str(files.public)):
        assert word in ended.stderr


def test_command_line_verdicts(make_files: Callable, run_cli: Callable) -> None:
    """0 for the true signal, 1 for a false one in range."""
    files = make_files(BN254, CUBE)
    assert run_cli("verify", files.vk, files.public, files.proof).code == 0
    files.public.write_text('["36"]')
    assert run_cli("verify", files.vk, files.public, files.proof).code == 1
