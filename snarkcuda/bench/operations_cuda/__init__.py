"""The operations that a GPU does, made ready to be timed by its own clock."""
