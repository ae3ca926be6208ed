"""Code shared by all platforms, and the interface that each implements."""
