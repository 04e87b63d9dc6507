"""`python -m snarkcuda`."""

from snarkcuda.cli.main import main

main()
