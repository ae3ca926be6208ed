"""Numba types of arrays, queues, events and kernel values, and the typing rules of the kernel language.

The types describe arrays with `__sycl_usm_array_interface__`, and those of CuPy, PyTorch and JAX in a GPU's memory; no
array library is imported here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _kapi_types_hooks import is_registered, register, unregister
    from kapi_types.arguments import typeof_argument
    from kapi_types.arrays import ArrayType, array_type
    from kapi_types.device_arrays.device_array import DeviceArrayType
    from kapi_types.kernel_api import AtomicRefType, GroupType, ItemType, NdItemType, SubGroupType
    from kapi_types.numba_signatures import parse_signature
    from kapi_types.usm.boxing import SyclObjectModel, UsmArrayModel
    from kapi_types.usm.queue_types import EventType, QueueType
    from kapi_types.usm.typeof import typeof_usm_array
    from kapi_types.usm.usm_array import ArrayFields, UsmArrayType, array_fields, is_usm_array, usm_kind
    from kapi_types.usm.views import UsmView
    from kapi_types.weak import (
        WeakBool,
        WeakComplex,
        WeakFloat,
        WeakInt,
        WideInt,
        is_weak,
        weak_bool,
        weak_complex,
        weak_float,
        weak_int,
        wide_int,
    )

__all__ = [
    "ArrayFields",
    "ArrayType",
    "AtomicRefType",
    "DeviceArrayType",
    "EventType",
    "GroupType",
    "ItemType",
    "NdItemType",
    "QueueType",
    "SubGroupType",
    "SyclObjectModel",
    "UsmArrayModel",
    "UsmArrayType",
    "UsmView",
    "WeakBool",
    "WeakComplex",
    "WeakFloat",
    "WeakInt",
    "WideInt",
    "array_fields",
    "array_type",
    "is_registered",
    "is_usm_array",
    "is_weak",
    "parse_signature",
    "register",
    "typeof_argument",
    "typeof_usm_array",
    "unregister",
    "usm_kind",
    "weak_bool",
    "weak_complex",
    "weak_float",
    "weak_int",
    "wide_int",
]

__version__ = "0.1.0"

_MODULES = (
    "_kapi_types_hooks",
    "kapi_types.arguments",
    "kapi_types.arrays",
    "kapi_types.device_arrays.device_array",
    "kapi_types.kernel_api",
    "kapi_types.numba_signatures",
    "kapi_types.usm.boxing",
    "kapi_types.usm.queue_types",
    "kapi_types.usm.typeof",
    "kapi_types.usm.usm_array",
    "kapi_types.usm.views",
    "kapi_types.weak",
)


def __getattr__(name: str) -> Any:
    # Launches read `kapi_types.usm.structures`, and Numba takes longer to import than a launch.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kapi_sim.forks import block_forks

    with block_forks():  # a child of a fork must not inherit a half-imported module
        for module in map(import_module, _MODULES):  # all of them: each registers its types with Numba
            globals().update({public: vars(module)[public] for public in __all__ if public in vars(module)})
    return globals()[name]
