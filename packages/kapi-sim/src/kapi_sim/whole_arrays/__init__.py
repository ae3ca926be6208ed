"""Algorithms over full arrays, written as kernels: one source for the simulator and for devices.

`world` is the interface to where kernels run; the other modules have an algorithm each, with its kernels. The module
`kapi_sim.algorithms` gives them the simulator, `kapi_runtime.algorithms` the devices.
"""
