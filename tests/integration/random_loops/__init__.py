"""Loops over elements written at random: none runs in Python with an array access in each iteration.

The same function, undecorated, over NumPy arrays is the judge of results. A counter on the accesses of arrays is the
judge of the rest, so that nothing depends on a clock.
"""

from __future__ import annotations

from random_loops.comparison import problems, run_many
from random_loops.writer import written

__all__ = ["problems", "run_many", "written"]
