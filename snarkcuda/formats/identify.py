"""Which kind of file is this? Told by its content, never by its name."""

from __future__ import annotations

from snarkcuda.errors import FormatError
from snarkcuda.formats import vkey_json
from snarkcuda.formats.opening import FilePath, open_input, shown
from snarkcuda.formats.sections import MAGIC_NAMES, foreign
from snarkcuda.formats.strict_json import read_json


def file_kind(path: FilePath) -> str:
    """The kind of a file.

    Returns:
        "zkey", "wtns", "r1cs", "ptau" by the first four bytes; "proof", "verification_key",
        "public" by the shape of the JSON.

    Raises:
        FormatError: unreadable, or none of these.
    """
    with open_input(path) as file:
        try:
            start = file.read(4) or b""
        except OSError as error:
            raise FormatError(f"cannot read {shown(path)}: {error.strerror}") from error
    if start in MAGIC_NAMES:
        return start.decode()
    known = "zkey, wtns, r1cs, ptau, or JSON (proof, public signals, verifying key)"
    if start.lstrip()[:1] == b"[":
        return "public"  # the only list among them; its length is for its reader to bound
    if start.lstrip()[:1] not in (b"{", b""):
        raise FormatError(f"{shown(path)} is {foreign(start)}; known are {known}")
    value = read_json(path, vkey_json.MAX_BYTES, "a JSON file of a proof").value
    if isinstance(value, dict) and "pi_a" in value:
        return "proof"
    if isinstance(value, dict) and "vk_alpha_1" in value:
        return "verification_key"
    if isinstance(value, dict) and "mac" in value:
        raise FormatError(f"{shown(path)} is the record of a check: `snarkcuda check` the key")
    raise FormatError(
        f"{shown(path)} is JSON, but no proof, public signals or verifying key; if it holds a "
        "circuit's inputs, circom's witness calculator makes a witness (.wtns) of it"
    )
