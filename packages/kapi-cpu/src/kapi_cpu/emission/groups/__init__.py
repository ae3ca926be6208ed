"""Code of entire work-groups: functions from barrier to barrier, and the loops around them."""
