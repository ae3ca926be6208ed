# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""Python's functions of a whole sequence, for arrays of rank 1 and ranges."""

from __future__ import annotations

__all__ = ["FUNCTIONS"]


def sum_(values, start):
    """All values added to `start`, one after the other."""
    total = start
    for value in values:
        total = total + value
    return total


def any_(values):
    """Whether one of the values is not zero."""
    for value in values:
        if value:
            return True
    return False


def all_(values):
    """Whether none of the values is zero."""
    for value in values:
        if not value:
            return False
    return True


def min_(values):
    """The first of the smallest values."""
    found = values[0]
    for value in values:
        if value < found:
            found = value
    return found


def max_(values):
    """The first of the largest values."""
    found = values[0]
    for value in values:
        if value > found:
            found = value
    return found


FUNCTIONS = {sum: sum_, any: any_, all: all_, min: min_, max: max_}
"""By Python's function, the one in the kernel language."""
