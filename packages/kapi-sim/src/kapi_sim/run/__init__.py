"""The work-items of a launch, run group by group until they converge at a barrier or a group algorithm."""
