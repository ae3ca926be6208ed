"""What compilation gives: a module, its packed argument, and what its work-items may meet."""
