"""Static analysis of a function: its source, its scope, the kind of each expression."""
