"""What solves each puzzle."""
