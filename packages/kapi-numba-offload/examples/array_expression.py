"""An ordinary njit function: with dpnp arrays it runs on their device, with NumPy arrays on the host."""

import dpnp
import numba
import numpy as np

import kapi_numba_offload


@numba.njit
def blend(a, b, weight):
    return a * weight + b * (1 - weight)


on_host = blend(np.arange(5.0), np.ones(5), 0.25)
on_device = blend(dpnp.arange(5.0), dpnp.ones(5), 0.25)

print(f"registered with Numba: {kapi_numba_offload.is_registered()}")
print(f"NumPy in, {type(on_host).__name__} out: {on_host}")
print(f"dpnp in, {type(on_device).__name__} out: {on_device} on {on_device.sycl_device.name}")
assert np.array_equal(on_host, on_device.asnumpy())
