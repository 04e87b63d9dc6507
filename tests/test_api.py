"""The public names: all there, typed, and cheap to import."""

import subprocess
import sys

import pytest

import snarkcuda


def test_every_public_name_resolves():
    for name in snarkcuda.__all__:
        assert getattr(snarkcuda, name) is not None
    assert set(snarkcuda.__all__) <= set(dir(snarkcuda))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = snarkcuda.nothing


@pytest.mark.parametrize("names", ["", "read_zkey, read_proof, FormatError, BN254"])
def test_package_and_readers_do_not_load_numba(names):
    load = f"from snarkcuda import {names or '__version__'}"
    code = f"{load}; import sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
