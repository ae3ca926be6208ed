"""A work-item as the simulator sees it: its ids, its place in time, the groups it meets, what it leaves undefined."""
