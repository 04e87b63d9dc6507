"""Benches: operations measured, recorded, compared with a record or a second setting."""
