"""What is known of a function before it runs: its source, its names, the kind of each expression."""
