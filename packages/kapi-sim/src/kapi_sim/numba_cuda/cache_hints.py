"""Loads and stores that say how a GPU is to cache them: here they are loads and stores."""

from __future__ import annotations

import sys
from typing import Any

from kapi_sim.errors import DtypeError
from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.memory.views import View
from kapi_sim.numba_cuda.threads.captured_arrays import as_view

__all__ = ["ldca", "ldcg", "ldcs", "ldcv", "ldlu", "stcg", "stcs", "stwb", "stwt"]

_getframe = sys._getframe


class Load(DialectIntrinsic):
    """``cuda.ldca`` and its kin."""

    def __call__(self, array: Any, i: Any) -> Any:
        """Return an element.

        Parameters
        ----------
        array : array
            Any memory.
        i : int or tuple of int
            The element.
        """
        return _array(self, array).take_out(i, _getframe(1))


class Store(DialectIntrinsic):
    """``cuda.stcg`` and its kin."""

    def __call__(self, array: Any, i: Any, value: Any) -> None:
        """Store an element.

        Parameters
        ----------
        array : array
            Any memory.
        i : int or tuple of int
            The element.
        value : number
            What it is to be.
        """
        _array(self, array).put_in(i, value, _getframe(1))


def _array(word: DialectIntrinsic, array: Any) -> View:
    array = as_view(array)
    if not isinstance(array, View):
        raise DtypeError(
            f"first argument of cuda.{word.__name__} must be an array of the kernel's, got {array!r}", code="atomic-ref"
        )
    view: View = array
    return view


ldca, ldcg, ldcs, ldlu, ldcv = (Load(name) for name in ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"))
stcg, stcs, stwb, stwt = (Store(name) for name in ("stcg", "stcs", "stwb", "stwt"))
