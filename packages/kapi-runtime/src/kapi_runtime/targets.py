"""What kernels are compiled for: the abilities of a device, as the compiler needs to know them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kapi_runtime._opencl import OpenclError, opencl_device
from kapi_spirv import SpirvTarget

__all__ = ["target_of"]

# No query tells of SPIR-V extensions; Intel's drivers all take this one, without which they contract nothing.
_CONTRACTION = ("SPV_INTEL_fp_fast_math_mode",)

# OpenCL's queries for the atomics that a device has on floats of a width, and what their answers' bits mean.
_FLOAT_ATOMICS = {16: 0x4233, 32: 0x4231, 64: 0x4232}
_GLOBAL_ADD, _GLOBAL_MIN_MAX, _LOCAL_ADD, _LOCAL_MIN_MAX = 1 << 1, 1 << 2, 1 << 17, 1 << 18
_ADD, _MIN_MAX = _GLOBAL_ADD | _LOCAL_ADD, _GLOBAL_MIN_MAX | _LOCAL_MIN_MAX


@lru_cache(maxsize=64)
def target_of(device: Any) -> SpirvTarget:
    """Return what to compile for to run on a device.

    Parameters
    ----------
    device : dpctl.SyclDevice
        Any device.

    Returns
    -------
    SpirvTarget
        Equal for devices of equal abilities, so that they share what is compiled.

    References
    ----------
    OpenCL extension cl_ext_float_atomics.
    """
    adds, compares = _float_atomics(device)
    return SpirvTarget(
        extensions=_CONTRACTION if "intel" in device.vendor.lower() else (),
        has_fp64=device.has_aspect_fp64,
        has_fp16=device.has_aspect_fp16,
        has_atomic64=device.has_aspect_atomic64,
        float_atomic_add=adds,
        float_atomic_min_max=compares,
        sub_group_sizes=tuple(sorted(device.sub_group_sizes)),
    )


def _float_atomics(device: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The widths that the device has atomic addition of, and atomic minimum and maximum, in all memory."""
    try:
        known = opencl_device(device)
    except OpenclError:  # Level Zero tells nothing that is as sure: compare-exchange is right everywhere
        return (), ()
    answers = {width: known.bits(query) for width, query in _FLOAT_ATOMICS.items()}
    adds = tuple(width for width, bits in answers.items() if bits & _ADD == _ADD)
    return adds, tuple(width for width, bits in answers.items() if bits & _MIN_MAX == _MIN_MAX)
