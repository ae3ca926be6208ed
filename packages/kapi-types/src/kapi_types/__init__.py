"""What Numba knows of USM arrays and kernel values, and the typing rules of the kernel language.

The types describe any array with `__sycl_usm_array_interface__`; neither dpctl nor dpnp is imported here.
"""

from __future__ import annotations

from kapi_types.arguments import typeof_argument
from kapi_types.kernel_api import GroupType, ItemType, NdItemType
from kapi_types.usm_array import UsmArrayFields, UsmArrayType, array_fields, array_type, is_usm_array
from kapi_types.weak import WeakBool, WeakFloat, WeakInt, is_weak, weak_bool, weak_float, weak_int

__all__ = [
    "GroupType",
    "ItemType",
    "NdItemType",
    "UsmArrayFields",
    "UsmArrayType",
    "WeakBool",
    "WeakFloat",
    "WeakInt",
    "array_fields",
    "array_type",
    "is_usm_array",
    "is_weak",
    "typeof_argument",
    "weak_bool",
    "weak_float",
    "weak_int",
]

__version__ = "0.1.0"
