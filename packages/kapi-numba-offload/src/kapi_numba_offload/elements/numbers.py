"""Operations of numbers, which have Numba's types for integers: 64 bits. Those of arrays have the array library's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from kapi_numba_offload._numba_compat import as_dtype, from_dtype
from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.elements.dtype_rules import ArrayType
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_types import weak_bool, weak_int
from kapi_types.kernel_typing import numba_loop

__all__ = ["NumberOperation", "is_array", "is_narrow", "with_numba_integers"]

_OF_PYTHON = {bool: weak_bool, int: weak_int}


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether elements are integers of fewer than 64 bits, or bools: Numba computes with them in another type."""
    return dtype.kind in "biu" and dtype.itemsize < 8


def with_numba_integers(name: str, operands: Sequence[Any]) -> Sequence[Any]:
    """The operands of an operation, those that are integers converted to the type that Numba computes it in.

    - `name`: a key of `ELEMENTWISE`.
    - `operands`: numbers, and arrays or their types. Where one of them has axes, all stay as they are.
    """
    given = tuple([_type_of(each) for each in operands])
    wide = None if None in given else _wide(name, given)
    if wide is None or all(each in (int, wide) for each in given):
        return operands
    return [each.astype(wide) if is_array(each) else wide.type(each) for each in operands]


def is_array(value: object) -> bool:
    """Whether `value` is a device array or the type of one."""
    return isinstance(value, ArrayType) or is_device_array(value)


def _type_of(value: Any) -> Any:
    """The dtype of a number of NumPy's or of an array without axes, a class of Python's; None for anything else."""
    if type(value) in _OF_PYTHON:
        return type(value)
    is_number = isinstance(value, np.generic) or (is_array(value) and value.ndim == 0)
    return value.dtype if is_number and value.dtype.kind in "biu" else None


@lru_cache(maxsize=1024)
def _wide(name: str, given: tuple[Any, ...]) -> np.dtype[Any] | None:
    function = ELEMENTWISE[name].apply
    types = [_OF_PYTHON[each] if isinstance(each, type) else from_dtype(each) for each in given]
    loop = None if function is None else numba_loop(function, types)
    return None if loop is None else np.dtype(as_dtype(loop.result))


class NumberOperation:
    """An operator of two numbers, or of one, on the host.

    - `name`: a key of `ELEMENTWISE` that has an operator of Python's.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._apply: Any = ELEMENTWISE[name].apply

    def __call__(self, *operands: Any) -> Any:
        """The result."""
        if all(type(each) in (int, float) for each in operands):
            return self._apply(*operands)
        with np.errstate(over="ignore"):  # integers wrap, as on the device
            return self._apply(*with_numba_integers(self._name, operands))
