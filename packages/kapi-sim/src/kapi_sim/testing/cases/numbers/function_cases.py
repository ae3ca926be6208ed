# mypy: disable-error-code="name-defined,no-untyped-def,no-untyped-call,untyped-decorator"
# The kernels are written as users write them.
"""Cases of the functions of the table: all of `math`, `cmath` and NumPy's, for integers, floats and complex numbers.

The kernels are written by program, one for each module and dtype, with a line for each row of the table.  What is
expected comes from the modules themselves, in double precision, of the inputs as stored.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

import kapi_sim as kapi
from kapi_sim.language.attributes import attribute_of
from kapi_sim.language.table.intrinsics import Intrinsic, rows
from kapi_sim.testing.case import Case, kernel, kernel_from_source, kernel_of_expressions, output_case

__all__ = ["CASES"]

_MODULES: dict[str, Any] = {"math": math, "cmath": cmath, "numpy": np}
_COUNT = 6
_UNIT = np.array([0.125, 0.3, 0.45, 0.6, 0.75, 0.9])
_INPUTS: dict[str, tuple[Any, Any, Any]] = {
    "i": ([1, 2, 5, 7, 12, 20], [3, 2, 4, 6, 5, 7], [2, 9, 1, 8, 6, 3]),
    "f": (_UNIT, _UNIT[::-1] * 1.5, _UNIT * 2),
    "c": (_UNIT + 0.5j, _UNIT[::-1] - 0.25j, _UNIT * 2 + 1j),
}
# OpenCL bounds neither what is composed nor lgamma.
_ULP_WITHOUT_BOUND = 64.0
_ARGUMENTS = {
    "math.acosh": "1 + x[i]",
    "cmath.rect": "x[i].real, y[i].real",
    "math.ldexp": "x[i], n[i]",
    "numpy.ldexp": "x[i], n[i]",
    "numpy.arccosh": "1 + x[i]",
    "numpy.arcsin": "x[i] / 32",
    "numpy.arccos": "x[i] / 32",
    "numpy.arctanh": "x[i] / 32",
    "numpy.where": "x[i] > y[i], x[i], y[i]",
}
_TWO = ("frexp", "modf", "divmod")
_IN_THEIR_TYPE = ("spacing", "nextafter", "ulp")


def _arguments(row: Intrinsic) -> str:
    if row.key in _ARGUMENTS:
        return _ARGUMENTS[row.key]
    if row.owner == "math" and row.parameters[0][1] == "integer":
        return ", ".join(f"int({name}[i])" for name in "nm"[: len(row.parameters)])
    return ", ".join(f"{name}[i]" for name in "xyz"[: len(row.parameters)])


def _parts(value: Any, row: Intrinsic) -> tuple[Any, Any]:
    """The parts of a result that a kernel stores: both of two, or both parts of a complex number."""
    return value if row.name in _TWO or row.name == "polar" else (np.real(value), np.imag(value))


def _reference(row: Intrinsic, given: dict[str, np.ndarray[Any, Any]]) -> tuple[Any, Any] | None:
    """The expected values, or None if the function has none for these numbers."""
    kind = given["x"].dtype.kind
    dtype = given["x"].dtype
    if row.name not in _IN_THEIR_TYPE and kind in "fc":
        wide = np.complex128 if kind == "c" else np.float64
        given = {name: array.astype(wide) if array.dtype == dtype else array for name, array in given.items()}
    module = _MODULES[str(row.owner)]
    function = attribute_of(module, row.name)
    if row.owner != "numpy" and row.name in _IN_THEIR_TYPE:
        function = {"nextafter": np.nextafter, "ulp": np.spacing}[row.name]
    scope = {"np": np, "function": function, "i": slice(None), "float": float, "int": int}
    try:
        if row.owner == "numpy":
            with np.errstate(all="ignore"):
                value = eval(f"function({_arguments(row)})", {**scope, **given})
            return _parts(value, row)
        each = []
        for i in range(_COUNT):
            scope["i"] = i
            plain = {name: array if row.name in _IN_THEIR_TYPE else array.tolist() for name, array in given.items()}
            each.append(_parts(eval(f"function({_arguments(row)})", {**scope, **plain}), row))
        return tuple(np.array(column) for column in zip(*each, strict=True))  # type: ignore[return-value]
    except TypeError:
        return None


def _is_of_floats(row: Intrinsic) -> bool:
    return row.parameters[0][1] == "float"


def _case(owner: str, dtype: str) -> Case:
    kind = "i" if np.dtype(dtype).kind in "iu" else np.dtype(dtype).kind
    given = {name: np.asarray(values, dtype) for name, values in zip("xyz", _INPUTS[kind], strict=True)}
    given |= {"n": np.array([9, 10, 11, 12, 13, 14], np.int32), "m": np.array([3, 4, 6, 2, 1, 7], np.int32)}
    found = [(row, _reference(row, given)) for row in rows(owner) if dtype != "float16" or _is_of_floats(row)]
    made = [(row, values) for row, values in found if values is not None]
    lines = ["def kernel(item: kapi.Item, x, y, z, n, m, out):", "    i = item.get_id(0)"]
    wanted: list[np.ndarray[Any, Any]] = []
    bounds: list[float] = []
    for number, (row, values) in enumerate(made):
        lines.append(f"    r{number} = {owner.replace('numpy', 'np')}.{row.name}({_arguments(row)})")
        is_pair = row.name in _TWO or row.name == "polar"
        for k, part in enumerate(("[0]", "[1]") if is_pair else (".real", ".imag")):
            shown = "" if "bool" in row.returns or np.asarray(values[0]).dtype.kind == "b" else part
            lines.append(f"    out[{len(wanted)}, i] = {f'r{number}{shown}' if shown or k == 0 else '0'}")
            wanted.append(np.asarray(values[k], np.float64))
            bounds.append(_ULP_WITHOUT_BOUND if row.ulp is None or kind == "c" else row.ulp)
    source = "\n".join(lines) + "\n"
    expected = np.array(wanted)
    precision = {"int32": "float64", "complex64": "float32"}.get(dtype, dtype)
    return Case(
        f"functions/{owner}-{dtype}",
        kernel_from_source(source, math=math, cmath=cmath, np=np),
        ((_COUNT,),),
        lambda: [*given.values(), np.zeros(expected.shape)],
        lambda inputs: {5: expected},
        ulp={5: np.array(bounds)[:, None]},
        precision=precision.replace("complex128", "float64"),
        covers=tuple(row.key for row, _ in made),
    )


@kernel
def _far_numbers(item: kapi.Item, z, r, phi, out):
    i = item.get_id(0)
    found = cmath.atan(z[i]), cmath.sqrt(z[i]), cmath.rect(r[i], phi[i])
    out[0, i], out[1, i] = found[0].real, found[0].imag
    out[2, i], out[3, i] = found[1].real, found[1].imag
    out[4, i], out[5, i] = found[2].real, found[2].imag


def _far_numbers_case() -> Case:
    """Complex numbers that are large, or so small that their parts have few bits; angles that are none."""

    def inputs() -> list[Any]:
        z = np.array([4294967291, -1e9 + 1j, 5e-324, 1e-310j, -1e-320 + 3e-320j])
        return [
            z,
            np.array([0.0, np.inf, 2.0, -np.inf, 3.0]),
            np.array([np.inf, 0.0, 0.0, 1.0, -1.0]),
            np.zeros((6, 5)),
        ]

    def expected(given: list[Any]) -> dict[int, Any]:
        z, r, phi, _ = given
        found = [[cmath.atan(each) for each in z], [cmath.sqrt(each) for each in z], list(map(cmath.rect, r, phi))]
        return {3: np.array([part for row in found for part in (np.real(row), np.imag(row))])}

    return Case("functions/far-numbers", _far_numbers, ((5,),), inputs, expected, {3: 4})


@kernel
def _infinite_parts(item: kapi.Item, z, out):
    i = item.get_id(0)
    found = np.sign(z[i]), np.tanh(z[i]), np.arctanh(z[i]), np.tan(z[i])
    out[0, i], out[1, i] = found[0].real, found[0].imag
    out[2, i], out[3, i] = found[1].real, found[1].imag
    out[4, i], out[5, i] = found[2].real, found[2].imag
    out[6, i], out[7, i] = found[3].real, found[3].imag


def _infinite_parts_case() -> Case:
    """Complex numbers with a part that is infinite or nan, by C99's Annex G."""
    inf, nan, half = math.inf, math.nan, math.pi / 2
    z = [complex(inf, nan), complex(inf, inf), complex(2, inf), complex(0, nan), complex(nan, 0)]
    signs = [1, complex(nan, nan), 1j, complex(nan, nan), complex(nan, nan)]
    tanhs = [1, 1, complex(nan, nan), complex(0, nan), complex(nan, 0)]
    arctanhs = [complex(0, nan), complex(0, half), complex(0, half), complex(0, nan), complex(nan, nan)]
    tans = [complex(nan, nan), 1j, 1j, complex(0, nan), complex(nan, 0)]
    wanted = np.array([part for row in (signs, tanhs, arctanhs, tans) for part in (np.real(row), np.imag(row))])
    return output_case("functions/infinite-parts", _infinite_parts, ((5,),), [np.array(z)], wanted)


@kernel
def _weak_parts(item: kapi.Item, out):
    i = item.get_id(0)
    out[0, i], out[1, i] = math.modf(i - 2)
    fraction, integer = math.modf(i * -0.75)
    out[2, i] = fraction
    out[3, i] = integer


def _weak_parts_case() -> Case:
    def expected(given: list[Any]) -> dict[int, Any]:
        parts = [math.modf(i - 2) + math.modf(i * -0.75) for i in range(5)]
        return {0: np.array(parts).T}

    return Case("functions/parts-of-weak-numbers", _weak_parts, ((5,),), lambda: [np.zeros((4, 5))], expected)


def _weak_operand_case() -> Case:
    """Python's numbers with strong ones have their type before a function is computed."""
    lines = ("math.fmod(x[i], 0.1)", "math.fmod(n, x[i])", "math.remainder(x[i], 0.3)", "math.ulp(float(x[i]))")
    x = np.array([7.0, 0.5, 12.25, 3.0], np.float32)

    def expected(given: list[Any]) -> dict[int, Any]:
        x, n = given[0], np.float32(given[1])
        remainders = [math.remainder(each, np.float32(0.3)) for each in x]
        ulps = [math.ulp(each) for each in x]
        return {2: np.array([np.fmod(x, np.float32(0.1)), np.fmod(n, x), remainders, ulps], np.float64)}

    return Case(
        "functions/math-weak-operands",
        kernel_of_expressions("def kernel(item: kapi.Item, x, n, out):\n    i = item.get_id(0)", lines, math=math),
        ((4,),),
        lambda: [x.copy(), 100, np.zeros((4, 4))],
        expected,
    )


CASES: tuple[Case, ...] = (
    _weak_operand_case(),
    *(_case("math", dtype) for dtype in ("float16", "float32", "float64")),
    _far_numbers_case(),
    _infinite_parts_case(),
    _weak_parts_case(),
    *(_case("cmath", dtype) for dtype in ("float32", "complex64", "complex128")),
    *(_case("numpy", dtype) for dtype in ("int32", "float32", "float64", "complex64")),
)
