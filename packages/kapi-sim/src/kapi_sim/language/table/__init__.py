"""The table of intrinsics, family by family: a row says what a word means, and every layer reads it there."""
