"""Cases of work-items and their groups: ids, barriers, and algorithms of groups."""
