"""
Shadows of a landscape, by njit code
====================================

Which places does the evening sun reach? Each place looks towards the sun, step by step, until a mountain is in the way
or no mountain is higher. The function is plain Numba code. It runs where its arrays are: on an NVIDIA
GPU with CuPy's arrays, on a SYCL device with dpnp's, and on the host with NumPy's.
"""

import matplotlib.pyplot as plt
import numba
import numpy as np
import scipy.ndimage

import kapi_numba_offload


def device_arrays():
    """CuPy where there is an NVIDIA GPU, else dpnp."""
    try:
        import cupy

        cupy.cuda.runtime.getDeviceCount()
    except Exception:  # not installed, or there is no driver
        import dpnp

        return dpnp
    return cupy


@numba.njit
def find_shadows(height, light, rise, highest):
    rows, columns = height.shape
    for place in numba.prange(rows * columns):
        i, j = place // columns, place % columns
        sight = height[i, j]
        column = j
        reached = True
        while reached and column > 0 and sight < highest:
            column -= 1
            sight += rise
            reached = height[i, column] <= sight
        light[i, j] = reached


# %%
# On a device, the loop over all places is one kernel. The host computes the same for comparison.

n = 512
height = scipy.ndimage.gaussian_filter(np.random.default_rng(4).standard_normal((n, n)), 12, mode="wrap")
height *= 60 / height.max()
light = np.empty((n, n), np.bool_)
find_shadows(height, light, 0.6, height.max())

xp = device_arrays()
on_device = xp.asarray(height), xp.empty((n, n), dtype=np.bool_)
find_shadows(*on_device, 0.6, height.max())
np.testing.assert_array_equal(xp.asnumpy(on_device[1]), light)

# %%
# ``explain`` runs the function once more. It says which lines became kernels and which stayed on the host, with the
# reason.

print(kapi_numba_offload.explain(find_shadows, *on_device, 0.6, height.max()))

# %%
# The sun stands in the west.

slope = np.gradient(height, axis=1)
figure, axes = plt.subplots(figsize=(4.8, 4.8))
axes.imshow(np.where(light, 0.55 + np.clip(slope, -0.5, 0.5) / 2, 0.1), cmap="gray", vmin=0, vmax=1)
axes.contour(height, levels=6, colors="#f26419", linewidths=0.5)
axes.set_axis_off()
figure.tight_layout()
plt.show()
