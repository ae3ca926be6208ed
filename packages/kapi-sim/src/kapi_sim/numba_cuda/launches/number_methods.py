"""Methods that numba.cuda's numbers have and Python's have not: ``item`` and ``view``."""

from __future__ import annotations

import ast
import sys
from typing import Any

import numpy as np

from kapi_sim.memory.views import View
from kapi_sim.numba_cuda.values.dtypes import dtype_of

__all__ = ["with_number_methods"]

_getframe = sys._getframe


def with_number_methods(tree: ast.FunctionDef) -> dict[str, Any]:
    """Let numbers have their methods.

    Parameters
    ----------
    tree : ast.FunctionDef
        The source of a function, changed in place.

    Returns
    -------
    dict of str to object
        What the new names in the source stand for.
    """
    made = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            name = f"_kapi_number_{node.func.attr}"
            made[name] = _METHODS[node.func.attr]
            node.args.insert(0, node.func.value)
            node.func = ast.copy_location(ast.Name(name, ast.Load()), node.func)
    return made


def _item(owner: Any, *index: Any) -> Any:
    if isinstance(owner, View):
        place = index or (0,) * owner.ndim
        return owner.take_out(place if len(place) != 1 else place[0], _getframe(1))
    return owner if isinstance(owner, (int, float, complex)) and not index else owner.item(*index)


def _view(owner: Any, dtype: Any) -> Any:
    if not isinstance(owner, (int, float)):
        return owner.view(dtype)
    found = np.asarray(owner)[()].view(dtype_of(dtype, "a view of a number"))
    return found.item() if isinstance(found, np.integer) else found


_METHODS = {"item": _item, "view": _view}
