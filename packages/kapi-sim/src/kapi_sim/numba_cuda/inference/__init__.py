"""What numba.cuda's compiler would refuse of a kernel: its types, followed through the source for the types of a launch."""
