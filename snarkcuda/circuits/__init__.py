"""Constraint systems: what a circuit demands of its wires."""
