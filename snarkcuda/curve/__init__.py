"""Points: the two pairing-friendly curves, their group law and their pairing."""
