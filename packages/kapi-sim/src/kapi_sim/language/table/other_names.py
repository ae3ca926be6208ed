"""Functions of other array libraries that are NumPy's rows of the intrinsic table under another name."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from kapi_sim.language.table.intrinsics import rows

__all__ = ["numpy_names"]

_LIBRARY = "dpnp"
_known: dict[int, Any] = {}


def numpy_names(value: object) -> Any:
    """NumPy's function for one of dpnp's of the same name, of which the table has a row; `value` for anything else.

    dpnp is not imported for it: a program that has not imported it has none of its functions.
    """
    library = sys.modules.get(_LIBRARY)
    if library is None or not callable(value):
        return value
    if not _known and hasattr(library, "__version__"):  # which it has once it is imported
        names = [row.name for row in rows("numpy") if hasattr(library, row.name)]
        # The functions live as long as their module, so no other object comes to have their identity.
        _known.update({id(getattr(library, name)): getattr(np, name) for name in names})
    return _known.get(id(value), value)
