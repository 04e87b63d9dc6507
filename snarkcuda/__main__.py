"""`python -m snarkcuda`."""

from snarkcuda.cli.main import run

run()
