"""From a kernel and its argument types to a module: captures, fingerprint, compilation."""
