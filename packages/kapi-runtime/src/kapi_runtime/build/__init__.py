"""Build of a module for a kernel and the types of its arguments: captures, fingerprint, compilation."""
