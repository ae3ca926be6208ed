"""Cost of passing arrays to an njit function on the host, in microseconds a call: dpnp's, others', NumPy's."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable

import dpnp
import numba
import numpy as np

import kapi_numba_offload
import kapi_types

__all__ = ["host_call_costs"]

_CALLS = 2000


class ProtocolArray:
    """An array of another library: nothing but the protocol and the USM kind."""

    def __init__(self, array: np.ndarray, usm_type: str) -> None:
        self.array = array
        self.usm_type = usm_type
        self.interface = {
            "data": (array.__array_interface__["data"][0], False),
            "shape": array.shape,
            "strides": None,
            "typestr": array.dtype.str,
            "version": 1,
            "syclobj": None,
        }

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, object]:
        return self.interface


@numba.njit
def _pass_one(a):
    return None


@numba.njit
def _pass_three(a, b, c):
    return None


def host_call_costs(rounds: int) -> dict[str, tuple[float, float]]:
    """Median and fastest batch of each candidate, in microseconds a call, timed in turn."""
    kapi_numba_offload.unregister()
    kapi_types.register()
    candidates: dict[str, Callable[[], object]] = {}
    for name, make in {
        "NumPy": lambda: np.ones((4, 4)),
        "dpnp, device": lambda: dpnp.ones((4, 4), usm_type="device"),
        "dpnp, shared (waits)": lambda: dpnp.ones((4, 4), usm_type="shared"),
        "by the protocol": lambda: ProtocolArray(np.ones((4, 4)), "device"),
    }.items():
        arrays = [make() for _ in range(3)]
        candidates[f"{name}, 1 array"] = lambda arrays=arrays: _pass_one(arrays[0])
        candidates[f"{name}, 3 arrays"] = lambda arrays=arrays: _pass_three(*arrays)
    for call in candidates.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            times[name].append(timeit.timeit(call, number=_CALLS) / _CALLS * 1e6)
    kapi_numba_offload.register()
    return {name: (statistics.median(each), min(each)) for name, each in times.items()}


if __name__ == "__main__":
    for name, (median, fastest) in host_call_costs(20).items():
        print(f"{name:<32} {median:6.2f} {fastest:6.2f}")
