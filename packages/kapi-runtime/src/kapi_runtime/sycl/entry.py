"""The SYCL platform, as it is known before dpctl is imported."""

from __future__ import annotations

from typing import Any

from kapi_runtime.platform import dlpack
from kapi_runtime.platform.entry_points import PlatformEntry
from kapi_sim.language.usm_protocol import is_usm_array

__all__ = ["ENTRY"]


def _is_array(value: Any) -> bool:
    return is_usm_array(value) or dlpack.known_device_kind(value) == dlpack.ONEAPI


ENTRY = PlatformEntry(
    "sycl",
    "SYCL",
    "kapi_runtime.sycl.platform:SyclPlatform",
    'pip install "kapi-runtime[sycl]"',
    ("dpctl", "kapi_spirv"),
    _is_array,
    rank=10,
    extras={"gpu": "sycl", "intel": "opencl-cpu", "level_zero": "sycl", "opencl": "opencl-cpu", "sycl": "sycl"},
    libraries=frozenset(("dpctl", "dpnp")),
    queue_protocol="_get_capsule",
    at_import="kapi_runtime.sycl.devices.drivers",
)
