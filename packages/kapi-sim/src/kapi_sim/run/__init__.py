"""The work-items of a launch, run group by group until they meet at a barrier or a group algorithm."""
