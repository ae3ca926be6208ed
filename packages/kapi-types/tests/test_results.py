"""The type that a function of the kernel language returns, found without generating code."""

import numba
import pytest
from numba import types

from kapi_types import ArrayType, weak_float, weak_int
from kapi_types.kernel_typing import ProblemsFound, return_type

VECTOR = ArrayType(types.float32, 1, "C")


@numba.njit
def doubled(x):
    return x * 2


def totals(values, start):
    s, count = start, 0
    for i in range(len(values)):
        s += doubled(values[i])
        count += 1
    return s, count


def test_weak_values_take_the_arrays_type_and_counts_stay_weak():
    """A tuple of results, through a function that Numba has compiled for the host."""
    assert return_type(totals, [VECTOR, weak_float]) == types.Tuple([types.float32, weak_int])
    assert return_type(totals, [VECTOR, types.float64]) == types.Tuple([types.float64, weak_int])


def test_every_problem_is_reported():
    """Constructs that kernels lack are reported as for a kernel."""
    with pytest.raises(ProblemsFound) as found:
        return_type(lambda values: open(values), [VECTOR])
    assert "open" in str(found.value.problems[0].text)
