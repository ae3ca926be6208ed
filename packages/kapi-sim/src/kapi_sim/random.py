"""Random numbers in kernels: ``kapi.random``.

Each function takes a seed and a counter, has no state, and gives the same number in the simulator, on every device and
on the host.

>>> import kapi_sim as kapi
>>> kapi.random.randint(2026, 0, 1, 7)
3
"""

from __future__ import annotations

from kapi_sim.language.intrinsics.random_numbers import normal, philox, randint, uniform

__all__ = ["normal", "philox", "randint", "uniform"]
