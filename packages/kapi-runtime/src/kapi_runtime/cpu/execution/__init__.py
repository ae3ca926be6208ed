"""The execution of a launch: its work-groups split over threads."""
