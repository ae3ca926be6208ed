"""What a work-item asks of its group, written as queries of constant axes, memory of the group, and barriers."""
