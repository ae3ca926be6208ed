"""The words that a kernel is written in: stubs with their documentation, which say what a call must be given."""
