"""Python's numbers as kernels take them: members of enumerations among them, and what 64 bits do not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.short_repr import short_repr

__all__ = ["as_plain", "require_64_bits"]

_PLAIN = (int, float, complex, bool)
_OF_THE_LANGUAGE = (MemoryOrder, MemoryScope, AddressSpace)


def as_plain(value: Any) -> Any:
    """Return a member of a user's `IntEnum`, or of another class of numbers, as the Python number that it is.

    NumPy takes such a member for an int64, and a plain integer for a number of the other operand's type. Members of
    tuples are looked at as well; what is no such number is returned as it is.
    """
    if isinstance(value, tuple):
        members = tuple(map(as_plain, value))
        if all(made is given for made, given in zip(members, value, strict=True)):
            return value
        return type(value)(*members) if hasattr(value, "_fields") else members
    if type(value) in _PLAIN or isinstance(value, (np.generic, *_OF_THE_LANGUAGE)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return complex(value) if isinstance(value, complex) else value


def require_64_bits(what: str, value: int) -> None:
    """Raise unless a Python integer fits 64 bits with a sign.

    Parameters
    ----------
    what : str
        What it is, such as the name of an argument, for the message.
    value : int

    Raises
    ------
    DtypeError
        If it does not fit.
    """
    if -(2**63) <= value < 2**63:
        return
    hint = "a numpy.uint64" if 0 <= value < 2**64 else "a float, or parts of it"
    raise DtypeError(
        f"{what} must fit 64 bits with a sign as a Python integer, got {short_repr(value)}: pass {hint}",
        code="integer-too-wide",
    )
