"""Functions of the table that no device has by itself, written in the kernel language for every back end."""
