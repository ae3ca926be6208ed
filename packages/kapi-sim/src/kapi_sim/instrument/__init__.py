"""From a kernel's source to source that the simulator can run, check and interrupt."""
