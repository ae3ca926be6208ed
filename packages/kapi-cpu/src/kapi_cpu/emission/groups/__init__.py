"""Code of whole work-groups: functions from barrier to barrier, and the loops around them."""
