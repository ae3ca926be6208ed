"""The types of a kernel's values for the types of a launch, and what numba.cuda's compiler refuses of them."""
