"""One launch: its arguments, its place, its geometry, what it may fail with, and its plan."""
