"""Settings for the launches of a block, and the report of it."""
