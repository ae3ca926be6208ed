"""One launch: its arguments, queue and index space, its failures, and its plan."""
