"""Every operation of the table with every pair of kinds, into every consumer: both worlds against NumPy.

`kinds` are what values there are, `operations` and `consumers` what is done with them, both from `kapi_sim.language`:
a new row is covered by itself. `statements` counts: at one level every operation has every pair of kinds, and every
consumer every kind; at two levels each operation's result of each kind goes to every operation and every consumer.
`batches` runs some hundred statements as one kernel, `judging` compares, `running` does so in processes of their own.
"""

from __future__ import annotations

from compositions.judging import Difference, Verdict, compare
from compositions.running import run_in_processes
from compositions.statements import LEVELS, count, statement

__all__ = ["LEVELS", "Difference", "Verdict", "compare", "count", "run_in_processes", "statement"]
