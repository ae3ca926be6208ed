"""The functions of the table, compiled: each primitive is lowered, float32 brings no double, and modules are valid."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from numba import from_dtype

from kapi_lowering.calls import mathematics
from kapi_sim.language.table.intrinsics import rows
from kapi_types import ArrayType, ItemType
from kapi_types.kernel_typing.rules.functions import PRIMITIVES

DTYPES = {"math": ("i4", "f2", "f4", "f8"), "cmath": ("f4", "c8", "c16"), "numpy": ("?", "i4", "f2", "f4", "f8", "c8")}
MODULES = {"math": math, "cmath": cmath, "np": np}
MAKES_DOUBLES = ("float_power",)


def has_it(row, dtype):
    """Whether NumPy has the function for a dtype; Python's modules have theirs for all that they are tried with."""
    try:
        with np.errstate(all="ignore"):
            return (
                row.owner != "numpy" or getattr(np, row.name)(*[np.ones(1, dtype) for _ in row.parameters]) is not None
            )
    except TypeError:
        return False


def call(row, dtype):
    """A call of a row's function with elements of an array of `dtype`, as source."""
    arguments = ["x[i]" for *_, default in row.parameters if default is None]
    for number, (_, word, _) in enumerate(row.parameters):
        if word == "integer":
            arguments[number] = "int(x[i])"
        elif word == "float" and row.owner == "cmath":
            arguments[number] = "x[i].real"
    return f"{row.owner.replace('numpy', 'np')}.{row.name}({', '.join(arguments)})"


def kernel_of(chosen, dtype):
    """A kernel that stores what each function gives to an element of its own."""
    lines = ["def kernel(item, x, y):", "    i = item.get_id(0)"]
    for number, row in enumerate(chosen):
        is_pair = "," in row.returns or row.name in ("frexp", "modf", "divmod")
        lines.append(f"    r{number} = {call(row, dtype)}")
        lines += [f"    y[i, {2 * number + k}] = r{number}{f'[{k}]' if is_pair else ''}" for k in range(1 + is_pair)]
    namespace = dict(MODULES)
    exec("\n".join(lines), namespace)
    return namespace["kernel"]


def signature(dtype):
    element = from_dtype(np.dtype(dtype))
    return [ItemType(1), ArrayType(element, 1, "C"), ArrayType(element, 2, "C")]


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize(
    ("owner", "dtype"), [(owner, dtype) for owner, dtypes in DTYPES.items() for dtype in dtypes], ids=str
)
def test_functions_compile(validated_compile, owner, dtype):
    """All that there are for a dtype; in 32 bits without a double, and without a half where there is none."""
    chosen = [row for row in rows(owner) if row.name not in MAKES_DOUBLES and has_it(row, dtype)]
    assert len(chosen) > 20
    stored = dtype if dtype != "?" and dtype != "i4" else "f8"
    arrays = signature(dtype)[:2] + signature(stored)[2:]
    if owner == "cmath":
        arrays[2] = ArrayType(from_dtype(np.dtype("c8" if dtype == "f4" else dtype)), 2, "C")
    module = validated_compile(kernel_of(chosen, dtype), arrays)
    if dtype in ("f2", "f4", "c8"):
        assert "Float64" not in module.capabilities
    assert ("Float16" in module.capabilities) == (dtype == "f2" or (owner == "numpy" and dtype == "?"))


def test_every_primitive_is_lowered():
    """This back end has all that the front end leaves to back ends."""
    assert mathematics.PRIMITIVES == PRIMITIVES
