"""Compiling ahead: the work of commands in `parts`, which `processes` run at the same time.

`records` remember which parts have been run, so that a first proof knows that it is the first.
"""
