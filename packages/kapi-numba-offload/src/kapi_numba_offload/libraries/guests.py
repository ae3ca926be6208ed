"""Libraries whose arrays are offloaded as another library's over the same memory, and given back as their own."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["GUESTS", "Guest"]


@dataclass(frozen=True, slots=True)
class Guest:
    """A library of arrays on devices that another library answers for.

    Attributes
    ----------
    host : str
        The name of that library.
    given_back : callable
        Makes the guest's array of the host's, over the same memory, by DLPack.
    is_constant : bool
        Whether its arrays never change: a function that stores into one has a copy.
    """

    host: str
    given_back: Callable[[Any], Any]
    is_constant: bool = False


def _as_torch(array: Any) -> Any:
    return importlib.import_module("torch").from_dlpack(array)


def _as_jax(array: Any) -> Any:
    return importlib.import_module("jax.dlpack").from_dlpack(array)


GUESTS = {"torch": Guest("cupy", _as_torch), "jax": Guest("cupy", _as_jax, is_constant=True)}
"""By the names that their Numba types have."""
