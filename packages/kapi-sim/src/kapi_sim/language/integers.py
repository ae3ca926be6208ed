"""What is said of a Python integer, given to a kernel, that 64 bits do not hold."""

from __future__ import annotations

from kapi_sim.errors import DtypeError
from kapi_sim.shown import shown

__all__ = ["require_64_bits"]


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
    cure = "a numpy.uint64" if 0 <= value < 2**64 else "a float, or parts of it"
    raise DtypeError(
        f"{what} must fit 64 bits with a sign as a Python integer, got {shown(value)}: pass {cure}",
        code="integer-too-wide",
    )
