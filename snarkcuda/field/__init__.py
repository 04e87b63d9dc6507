"""Numbers: prime fields and the towers above them."""
