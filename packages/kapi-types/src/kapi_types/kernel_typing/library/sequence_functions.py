# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""Python's functions of an entire sequence, for arrays of rank 1 and ranges."""

from __future__ import annotations

import operator

__all__ = ["FUNCTIONS", "OF_RANGES"]


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


def least_of_range(values):
    """The smallest value, which is at one of the ends."""
    return min(values[0], values[len(values) - 1])


def greatest_of_range(values):
    """The largest value, which is at one of the ends."""
    return max(values[0], values[len(values) - 1])


def any_of_range(values):
    """Whether one of the values is not zero, which is the first or the second; the length may be beyond 64 bits."""
    value = values.start if values.start != 0 else values.step
    return value < values.stop if values.step > 0 else value > values.stop


def all_of_range(values):
    """Whether none of the values is zero."""
    return 0 not in values


def are_equal_ranges(one, other):
    """Whether two ranges have the same values in the same order."""
    count = len(one)
    if count != len(other):
        return False
    return count == 0 or (one[0] == other[0] and one[count - 1] == other[count - 1])


def are_unequal_ranges(one, other):
    """The opposite."""
    return not are_equal_ranges(one, other)


FUNCTIONS = {sum: sum_, any: any_, all: all_, min: min_, max: max_}
"""By Python's function, the one in the kernel language."""

OF_RANGES = {
    **FUNCTIONS,
    any: any_of_range,
    all: all_of_range,
    min: least_of_range,
    max: greatest_of_range,
    operator.eq: are_equal_ranges,
    operator.ne: are_unequal_ranges,
}
"""By Python's function of one or two ranges, the one in the kernel language; few go over the values."""
