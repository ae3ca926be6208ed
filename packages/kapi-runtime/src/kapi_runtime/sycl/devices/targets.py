"""Compilation targets: the abilities of a device, as the compiler needs to know them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kapi_runtime.sycl.devices.opencl import OpenclDevice, OpenclError, opencl_device
from kapi_spirv import SpirvTarget
from kapi_spirv.target import ALIASING

__all__ = ["target_of"]

# Intel's drivers do not announce all extensions that they take. Without the first they contract nothing; the second is
# what Intel's own SYCL compiler makes of products and bitwise operations over groups, so all that SYCL serves have it.
# The CPU's takes what is said of arrays that share no memory, too; whether those of GPUs do was not tried.
_INTEL_EXTENSIONS = ("SPV_INTEL_fp_fast_math_mode", "SPV_KHR_uniform_group_instructions")

_IL_VERSION, _EXTENSIONS = 0x105B, 0x1030
_SHUFFLES = {"cl_khr_subgroup_shuffle", "cl_khr_subgroup_shuffle_relative"}

# OpenCL's queries for the atomics that a device has on floats of a width, and what their answers' bits mean.
_FLOAT_ATOMICS = {16: 0x4233, 32: 0x4231, 64: 0x4232}
_GLOBAL_ADD, _GLOBAL_MIN_MAX, _LOCAL_ADD, _LOCAL_MIN_MAX = 1 << 1, 1 << 2, 1 << 17, 1 << 18
_ADD, _MIN_MAX = _GLOBAL_ADD | _LOCAL_ADD, _GLOBAL_MIN_MAX | _LOCAL_MIN_MAX


@lru_cache(maxsize=64)
def target_of(device: Any) -> SpirvTarget:
    """Return what to compile for to run on a device.

    Returns
    -------
    SpirvTarget
        Equal for devices of equal abilities, so that they share what is compiled.

    References
    ----------
    OpenCL extensions cl_ext_float_atomics, cl_khr_subgroup_shuffle and cl_khr_subgroup_shuffle_relative.
    """
    try:
        known = opencl_device(device)
    except OpenclError:  # Level Zero tells nothing that is as sure: what is asked for here has a way without it
        known = None
    adds, compares = _float_atomics(known) if known else ((), ())
    return SpirvTarget(
        version="1.3" if known and _has_shuffles(known) else "1.2",
        extensions=_extensions(device),
        has_fp64=device.has_aspect_fp64,
        has_fp16=device.has_aspect_fp16,
        has_atomic64=device.has_aspect_atomic64,
        float_atomic_add=adds,
        float_atomic_min_max=compares,
        sub_group_sizes=tuple(sorted(device.sub_group_sizes)),
    )


def _extensions(device: Any) -> tuple[str, ...]:
    if "intel" not in device.vendor.lower():
        return ()
    return (*_INTEL_EXTENSIONS, ALIASING) if device.is_cpu else _INTEL_EXTENSIONS


def _float_atomics(known: OpenclDevice) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The widths that the device has atomic addition of, and atomic minimum and maximum, in all memory."""
    answers = {width: known.bits(query) for width, query in _FLOAT_ATOMICS.items()}
    adds = tuple(width for width, bits in answers.items() if bits & _ADD == _ADD)
    return adds, tuple(width for width, bits in answers.items() if bits & _MIN_MAX == _MIN_MAX)


def _has_shuffles(known: OpenclDevice) -> bool:
    """Whether the device takes SPIR-V 1.3 and its shuffles over sub-groups; later versions bring kernels nothing."""
    return "SPIR-V_1.3" in known.text(_IL_VERSION).split() and set(known.text(_EXTENSIONS).split()) >= _SHUFFLES
