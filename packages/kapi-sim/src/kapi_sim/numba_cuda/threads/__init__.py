"""The threads of a launch: where each is and waits, what a warp exchanges, and the memory that they make."""
