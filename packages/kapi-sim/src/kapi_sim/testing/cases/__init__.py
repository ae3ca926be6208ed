"""The cases of the conformance suite, in rooms by their subject."""
