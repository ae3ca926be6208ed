"""The type that a kernel argument, a Python value, has in the kernel."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from kapi_sim import AddressSpace, LocalAccessor
from kapi_sim.errors import DtypeError
from kapi_sim.language.integers import require_64_bits
from kapi_sim.language.intrinsics.records import unmet_requirement
from kapi_sim.language.launchables.specialization import is_function
from kapi_types._numba_compat import from_dtype, types
from kapi_types.arrays import ArrayType, array_type
from kapi_types.kernel_api import ConstantType, tuple_of
from kapi_types.usm.usm_array import ArrayFields, array_fields, is_usm_array
from kapi_types.weak import weak_bool, weak_complex, weak_float, weak_int

__all__ = ["typeof_argument"]


def typeof_argument(value: Any) -> types.Type:
    """The type that a kernel sees for the argument `value`.

    Parameters
    ----------
    value : object
        A USM array or the fields of one, a `LocalAccessor`, a NumPy scalar (strong), a Python bool, int, float or
        complex (weak), a tuple or named tuple of these, or None or a function, of which a kernel is specialised.

    Returns
    -------
    numba.types.Type

    Raises
    ------
    DtypeError
        If `value` is nothing that a kernel can take, or an int that needs more than 64 bits.
    """
    if isinstance(value, bool):
        return weak_bool
    if isinstance(value, np.generic):
        return _strong(value.dtype)
    if isinstance(value, int):
        require_64_bits("int argument", value)
        return weak_int
    if isinstance(value, float):
        return weak_float
    if isinstance(value, complex):
        return weak_complex
    if value is None or is_function(value):
        return ConstantType(value)
    if isinstance(value, tuple):
        return tuple_of(value, tuple(typeof_argument(member) for member in value))
    if isinstance(value, LocalAccessor):
        shape = tuple(value.shape)
        return ArrayType(_strong(value.dtype), len(shape), "C", address_space=AddressSpace.LOCAL, extents=shape)
    if is_usm_array(value) or isinstance(value, ArrayFields):
        fields = value if isinstance(value, ArrayFields) else array_fields(value)
        try:
            return array_type(fields)
        except TypeError as error:
            raise DtypeError(str(error), code="argument-dtype") from error
    if isinstance(value, np.ndarray):
        raise DtypeError(
            "argument must be a USM array, got a numpy.ndarray, which no device owns; "
            "`dpnp.asarray(array)` copies it to the default device",
            code="array-on-host",
        )
    hint = ": pass its value" if isinstance(value, Enum) else ""
    raise DtypeError(
        "argument must be a USM array, LocalAccessor, NumPy scalar, bool, int, float, complex or a tuple of "
        f"these, got {type(value).__name__}{hint}",
        code="argument-type",
    )


def _strong(dtype: np.dtype[Any]) -> types.Type:
    if dtype.names is None and dtype.kind not in "biufc":
        raise DtypeError(f"dtype must be a number or bool, got {dtype}", code="argument-dtype")
    if dtype.names is not None and (unmet := unmet_requirement(dtype)):
        raise DtypeError(f"dtype {unmet}", code="argument-dtype")
    try:
        return from_dtype(dtype)
    except Exception as error:
        raise DtypeError(f"dtype must be one that kernels have, got {dtype}", code="argument-dtype") from error
