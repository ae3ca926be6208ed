"""What a user may set for the launches of a block, and the report of it."""
