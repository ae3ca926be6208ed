"""Results of compilation: a module, its packed argument, and the failures of its work-items."""
