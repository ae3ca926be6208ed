"""The rows of the intrinsic table for random numbers, which belong to `kapi.random`.

SYCL has none in its language: oneMKL's generators for devices are the nearest.
"""

from __future__ import annotations

import numpy as np

from kapi_sim.language.table.row import Intrinsic, Parameter

__all__ = ["RANDOM_ROWS"]

_KEY: tuple[Parameter, ...] = (("seed", "integer", None), ("counter", "integer", None))
_STREAM: tuple[Parameter, ...] = (("stream", "integer", 0),)
_OF_TYPE: tuple[Parameter, ...] = (*_KEY, *_STREAM, ("dtype", "float type", np.float32))

# name, parameters, result, meaning
_ALL: tuple[tuple[str, tuple[Parameter, ...], str, str], ...] = (
    ("philox", (*_KEY, *_STREAM), "four words", "four random words of 32 bits"),
    ("uniform", _OF_TYPE, "float type", "a random number of at least 0 and below 1"),
    ("normal", _OF_TYPE, "float type", "a random number of mean 0 and standard deviation 1, normally distributed"),
    (
        "randint",
        (*_KEY, ("low", "bound", None), ("high", "bound", None), *_STREAM),
        "weak int",
        "a random integer of at least low and below high",
    ),
)

RANDOM_ROWS: tuple[Intrinsic, ...] = tuple(
    Intrinsic(name, "random", "random", "function", parameters, returns, meaning, "none", "composed")
    for name, parameters, returns, meaning in _ALL
)
