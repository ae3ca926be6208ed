"""Results of group algorithms for each work-item, by plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from compositions.consumers import SUB_GROUP, WORK_GROUP
from compositions.reference import converted
from kapi_sim.language import OPERATORS
from kapi_sim.language.intrinsics.operators import identity

__all__ = ["combined"]

_ROWS = {row.name: row for row in OPERATORS}


def combined(group: tuple[str, ...], values: list[Any], out: str) -> list[Any]:
    """For each work-item what the algorithm gives it; its own value where that is undefined.

    Raises
    ------
    TypeError
        If the operator does not take values of this kind.
    """
    scope, algorithm, what = group
    size = WORK_GROUP if scope == "group" else SUB_GROUP
    made: list[Any] = []
    for first in range(0, len(values), size):
        made += _together(algorithm, what, values[first : first + size], out)
    return made


def _together(algorithm: str, what: str, values: list[Any], out: str) -> list[Any]:
    count = len(values)
    if algorithm in ("any_of_group", "all_of_group", "none_of_group"):
        tests = [bool(value) for value in values]
        if any(isinstance(value, (complex, np.complexfloating)) for value in values):
            raise TypeError("a complex number is no condition")
        return [{"any": any(tests), "all": all(tests), "none": not any(tests)}[algorithm.split("_")[0]]] * count
    if what.isdigit():
        given = [converted(value, out) for value in values]
        number = int(what)
        sources = {
            "group_broadcast": [number] * count,
            "shift_group_left": [k + number for k in range(count)],
            "shift_group_right": [k - number for k in range(count)],
            "permute_group_by_xor": [k ^ number for k in range(count)],
            "select_from_group": [(k + 3) % SUB_GROUP for k in range(count)],
        }[algorithm]
        return [given[source] if 0 <= source < count else given[k] for k, source in enumerate(sources)]
    row = _ROWS[what]
    if np.dtype(out).kind not in row.kinds:
        raise TypeError(f"{what} does not take {out}")
    operate = {
        "plus": np.add, "multiplies": np.multiply, "minimum": np.fmin, "maximum": np.fmax, "bit_and": np.bitwise_and,
        "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor, "logical_and": np.logical_and, "logical_or": np.logical_or,
    }[what]  # fmt: skip
    array = np.array([converted(value, out) for value in values])
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError("which of two is the smaller is not defined of nan")
    # float16 is combined in float32, and rounded once.
    wide = array.astype(np.float32) if array.dtype == np.float16 else array
    scanned = operate.accumulate(wide, dtype=wide.dtype).astype(array.dtype)
    if algorithm.startswith("reduce"):
        return [scanned[-1]] * count
    if algorithm.startswith("inclusive"):
        return list(scanned)
    return [identity(row, array.dtype), *scanned[:-1]]
