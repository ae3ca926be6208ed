"""Functions for njit written at random, with NumPy as their judge: the same function, undecorated, over NumPy arrays.

The writer knows the dtype and shape of each array that it names, and which arrays may be parts of the same memory: a
`prange` loop that stores to one of these reads no other, since its iterations have no order. All else may share memory
in any way. Numbers stay small and are multiples of an eighth, so that sums are exact in any order.
"""

from __future__ import annotations

from random_functions.comparison import differences, run_many
from random_functions.program import Program
from random_functions.writer import written

__all__ = ["Program", "differences", "run_many", "written"]
