"""A work-item as the simulator sees it: its ids, its clock, the groups it converges with, what it leaves undefined."""
