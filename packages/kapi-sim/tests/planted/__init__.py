"""Programs that are right, and the faults that are planted in them."""
