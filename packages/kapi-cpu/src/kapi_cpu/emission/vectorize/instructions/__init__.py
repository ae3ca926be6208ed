"""Instructions of several lanes, by their families: what the vectoriser writes into a block."""
