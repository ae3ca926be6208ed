"""Answers of CuPy where it is not NumPy: those of the machine's CuPy, compared with ``cupy_recorded.json``.

``python cupy_answers.py`` on a machine with an NVIDIA GPU compares, and ``--record`` writes the file, which the
stand-in for CuPy answers from, and is compared with, where there is no GPU.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kapi_numba_offload.analysis.operations import ELEMENTWISE

__all__ = ["ANSWERS", "FILE", "answer", "answers", "differing_dtypes", "missing_names"]

FILE = Path(__file__).with_name("cupy_recorded.json")
RECORDED = json.loads(FILE.read_text("utf-8"))

NAN = float("nan")
CODES = "?bhilBHILefdFD"
NUMBERS = [1, 1.0, 1j]
REDUCTIONS = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "std", "var", "cumsum", "cumprod")

ANSWERS = """
xp.ones(3).sum()
xp.sum(xp.ones(3))
xp.mean(xp.arange(4))
xp.ones(3)[0]
xp.ones((2, 3))[1]
xp.ones((2, 3))[1, 2]
xp.ones(3)[()]
xp.dot(xp.ones(3), xp.ones(3))
xp.ones(3) @ xp.ones(3)
xp.linalg.norm(xp.ones(4))
xp.sqrt(4.0)
xp.sqrt(np.float64(4))
xp.sqrt(np.ones(2))
xp.sqrt([1.0, 4.0])
np.sqrt(xp.ones(2))
np.sum(xp.ones(2))
np.asarray(xp.ones(2))
np.ones(2) + xp.ones(2)
xp.ones(2) + np.ones(2)
xp.ones(2) + np.float32(1)
xp.ones(2) + np.asarray(1)
np.float64(2) * xp.ones(2)
xp.add(xp.ones(2), np.ones(2))
xp.concatenate([xp.ones(2), np.ones(2)])
xp.concatenate([xp.ones(2), xp.zeros(1)])
xp.asarray([xp.ones(()), xp.zeros(())])
xp.asarray(xp.float32(1))
xp.where(True, xp.ones(2), 0)
xp.where(xp.ones(2) > 0, np.ones(2), xp.zeros(2))
xp.where(xp.ones(2) > 0, 1, 0)
float(xp.ones(1))
float(xp.ones(()))
float(xp.ones(2))
int(xp.ones(()))
complex(xp.ones(()))
bool(xp.ones(2))
bool(xp.ones(()))
bool(xp.zeros(0))
len(xp.ones(3))
len(xp.ones(()))
[1, 2, 3][xp.asarray(1)]
list(range(xp.asarray(2)))
list(xp.arange(2))
xp.ones(2).item()
xp.ones(()).item()
xp.arange(3).tolist()
1 in xp.arange(3)
xp.ones(2) == None
xp.arange(3)[5]
xp.arange(3)[-4]
xp.arange(3)[[0, 5]]
xp.arange(3)[xp.asarray([0, -5])]
xp.arange(3)[np.asarray([2, 0])]
xp.arange(3)[np.asarray([True, False, True])]
xp.arange(3)[xp.asarray([True, False])]
xp.arange(3)[xp.asarray([True, False, True])]
xp.arange(3)[1.0]
xp.arange(3)[xp.asarray(1)]
xp.arange(6).reshape(2, 3)[xp.asarray([0, 1]), xp.asarray([2, 0])]
stored(xp.arange(3), 5, 1)
stored(xp.arange(3), slice(0, 2), xp.ones(3))
stored(xp.arange(3), slice(0, 2), np.ones(2))
stored(xp.arange(3.0), slice(None), 2 + 1j)
stored(xp.arange(3), slice(None), 2.75)
stored(xp.arange(3), slice(None), NAN)
stored(xp.arange(3), xp.asarray([0, 7]), 9)
stored(xp.arange(3), xp.asarray([True, False, True]), 9)
stored(xp.arange(3), xp.asarray([True, False, True]), xp.asarray([7, 8]))
stored(xp.arange(3), xp.arange(3) > 5, xp.zeros(0, "int64"))
stored(xp.arange(3), xp.asarray([0, 2]), xp.asarray([7, 8]))
stored(xp.zeros(2, "int8"), 0, 300)
stored(xp.zeros(2, "uint8"), 0, -1)
stored(xp.arange(3), slice(None), [4, 5, 6])
xp.asarray([1, 2], "int8") + 200
xp.asarray([1, 2], "uint8") - 3
xp.asarray([1, 2], "uint8") * -1
xp.asarray([1, 2], "int8") < 300
xp.asarray([1, 2], "int32") + 2**40
xp.ones(2) + 2**70
xp.full(2, 300, "int8")
xp.asarray([300.0, -1.0, 2.5]).astype("uint8")
xp.asarray([NAN, 1e30]).astype("int32")
xp.asarray([300, -1]).astype("int8")
xp.asarray([1 + 2j]).astype("float64")
xp.asarray([7, -7, 0]) // 0
xp.asarray([7, -7, 0]) % 0
xp.asarray([7, -7]) // 2
xp.asarray([7, -7]) % 3
xp.asarray([7.0, -7.0, 0.0]) // 0
xp.asarray([7.0, -7.0]) % -3
xp.asarray([7.0]) % 0
xp.asarray([-(2**31)], "int32") // -1
xp.asarray([2, 3]) ** -1
xp.asarray([2, 3]) ** xp.asarray([-1, 2])
xp.asarray([2, 3]) ** 0.5
xp.asarray([1, 2]) << 64
xp.asarray([-8, 8]) >> 70
xp.abs(xp.asarray([-128], "int8"))
-xp.asarray([True])
xp.asarray([True]) - xp.asarray([True])
xp.asarray([1, 2]) / 0
inplace("+=", xp.arange(2), 1.5)
inplace("/=", xp.arange(2), 2)
inplace("+=", xp.asarray([1, 2], "int8"), 200)
inplace("+=", xp.ones(2), 1j)
inplace("+=", xp.ones(2), np.ones(2))
inplace("+=", xp.ones(2), xp.ones(3))
xp.ones(2) + xp.ones(3)
xp.argmax(xp.asarray([1.0, NAN, 2.0, NAN]))
xp.argmin(xp.asarray([1.0, NAN, 2.0, NAN]))
xp.argmax(xp.asarray([[1.0, NAN], [NAN, 3.0]]), axis=0)
xp.argmax(xp.asarray([1 + 1j, NAN + 0j, 2j]))
xp.argmax(xp.asarray([3, 3, 1]))
xp.argmax(xp.asarray([1 + 1j, 1 + 2j, 0j]))
xp.max(xp.asarray([1.0, NAN, 2.0]))
xp.min(xp.asarray([1.0, NAN, 2.0]))
xp.max(xp.asarray([1 + 1j, 1 + 2j]))
xp.nanmax(xp.asarray([1.0, NAN]))
xp.nansum(xp.asarray([1.0, NAN]))
xp.maximum(xp.asarray([1.0, NAN]), xp.asarray([NAN, 1.0]))
xp.fmax(xp.asarray([1.0, NAN]), xp.asarray([NAN, 1.0]))
xp.clip(xp.asarray([1.0, NAN, 5.0]), 2, 3)
xp.clip(xp.arange(5), None, 3)
xp.sort(xp.asarray([3.0, NAN, 1.0]))
xp.sort(xp.asarray([2 + 1j, 1 + 2j, 1 + 1j]))
xp.argsort(xp.asarray([3.0, NAN, 1.0]))
xp.argsort(xp.asarray([1, 0, 1, 0]), kind="stable")
xp.unique(xp.asarray([2.0, 1.0, 2.0]))
xp.unique(xp.asarray([NAN, 1.0, NAN]))
xp.sign(xp.asarray([NAN, -2.0]))
xp.sign(xp.asarray([1 + 1j]))
xp.floor(xp.arange(2))
xp.rint(xp.asarray([0.5, 1.5, 2.5]))
xp.round(xp.asarray([0.5, 1.5, 2.25]), 1)
xp.sum(xp.zeros(0))
xp.prod(xp.zeros(0, "int32"))
xp.any(xp.zeros(0))
xp.all(xp.zeros(0))
xp.max(xp.zeros(0))
xp.min(xp.zeros((0, 3)), axis=0)
xp.min(xp.zeros((0, 3)), axis=1)
xp.argmax(xp.zeros(0))
xp.argmin(xp.zeros((2, 0)), axis=1)
xp.mean(xp.zeros(0))
xp.median(xp.zeros(0))
xp.median(xp.asarray([3.0, 1.0, 2.0, NAN]))
xp.median(xp.asarray([3, 1, 2, 4]))
xp.percentile(xp.asarray([1.0, 2.0, 4.0]), 50)
xp.percentile(xp.asarray([1.0, 2.0, 4.0]), [25, 75])
xp.sum(xp.ones((2, 3)), axis=2)
xp.sum(xp.ones((2, 3)), axis=(0, 1), keepdims=True)
xp.sum(xp.ones(3, "int8"))
xp.sum(xp.ones(3, bool))
xp.cumsum(xp.ones(3, "int8"))
xp.std(xp.asarray([1, 2, 3]), ddof=1)
xp.isfinite(xp.linalg.solve(xp.zeros((2, 2)), xp.ones(2))).all()
xp.linalg.solve(xp.eye(2), xp.ones(2))
xp.isfinite(xp.linalg.inv(xp.zeros((2, 2)))).all()
xp.isfinite(xp.linalg.cholesky(-xp.eye(2))).all()
xp.linalg.det(xp.eye(2))
xp.matmul(xp.ones((2, 3)), xp.ones((2, 3)))
xp.matmul(xp.ones((2, 2), bool), xp.ones((2, 2), bool))
xp.ones((2, 2), "int32") @ xp.ones((2, 2), "int64")
xp.bincount(xp.asarray([0, 2, 2]))
xp.bincount(xp.asarray([-1, 2]))
xp.histogram(xp.asarray([0.0, 0.5, 1.0]), 2)
xp.histogram(xp.asarray([1, 2, 2]), bins=2)
xp.searchsorted(xp.asarray([1.0, 2.0]), 1.5)
xp.nonzero(xp.asarray([0, 1, 2]))
xp.take(xp.arange(3), xp.asarray([0, 5]))
xp.diff(xp.asarray([1, 4, 9]))
xp.interp(xp.asarray([0.5]), xp.asarray([0.0, 1.0]), xp.asarray([0.0, 2.0]))
xp.linspace(0, 1, 3)
xp.arange(3)
xp.arange(0, 1, 0.5)
xp.arange(2, dtype="float32")
xp.full(2, 7)
xp.full((), 7.0)
xp.zeros((2, 2), order="F").flags.f_contiguous
(xp.ones((2, 3)).T + 1).flags.f_contiguous
xp.ones((2, 3)).T.copy().flags.c_contiguous
xp.ones((2, 3)).T.copy().flags.f_contiguous
xp.zeros_like(xp.ones((2, 3)).T).flags.f_contiguous
xp.ones((2, 3)).T.ravel().flags.c_contiguous
xp.ones((2, 3)).T.reshape(6)
xp.sum(xp.ones((2, 3, 4)).T, axis=0).flags.c_contiguous
xp.ones((2, 3)).T.strides
xp.ones((1, 3))[:, ::2].strides
xp.arange(3)[::-1].strides
xp.broadcast_to(xp.ones(1), (2,)).strides
xp.ones(3).flags.writeable
xp.ones(3).base is None
xp.ones(3)[1:].base is None
type(xp.ones(3)).__module__
xp.float32 is np.float32
xp.newaxis
xp.pi
xp.array([1, 2], dtype="object")
xp.ones(2, dtype="longdouble")
xp.asarray(np.asarray(["a"]))
xp.isclose(xp.ones(2), 1)
xp.allclose(xp.ones(2), 1)
xp.array_equal(xp.ones(2), xp.ones(2))
xp.count_nonzero(xp.ones(2))
xp.result_type(xp.ones(2, "float32"), 1.0)
xp.ndim(xp.ones(2))
xp.shape(xp.ones(2))
xp.size(xp.ones(2))
xp.outer(xp.arange(2), xp.arange(2))
xp.trace(xp.eye(2))
xp.einsum("ij->i", xp.ones((2, 2)))
xp.meshgrid(xp.arange(2), xp.arange(1))
xp.split(xp.arange(4), 2)
xp.divmod(xp.asarray([7, -7]), 2)
xp.modf(xp.asarray([1.5]))
xp.frexp(xp.asarray([6.0]))
xp.ldexp(xp.asarray([1.0]), xp.asarray([2]))
xp.angle(xp.asarray([1j]))
xp.real(xp.asarray([1 + 2j]))
xp.asarray([1 + 2j]).imag
xp.logical_and(xp.ones(2), 0)
xp.invert(xp.asarray([True]))
xp.nan_to_num(xp.asarray([NAN]))
xp.exp(xp.asarray([1], "int8"))
xp.expm1(xp.asarray([True]))
xp.hypot(xp.asarray([3]), 4)
""".strip().split("\n")
"""Python's expressions of `xp`, which is CuPy or NumPy."""


def stored(array: Any, index: Any, value: Any) -> Any:
    """The array with something stored to an index."""
    array[index] = value
    return array


def inplace(operator: str, array: Any, value: Any) -> Any:
    """The array updated in place."""
    names = {"array": array, "value": value}
    exec(f"array {operator} value", names)
    return names["array"]


def answer(xp: Any, expression: str) -> str:
    """Result of an expression, or the class of the error, as text."""
    try:
        return described(eval(expression, {"xp": xp, "np": np, "NAN": NAN, "stored": stored, "inplace": inplace}))
    except Exception as error:
        return f"raises {_class_of(error)}"


def _class_of(error: Exception) -> str:
    """The name of Python's own class of an error, since libraries derive from it."""
    return next(each.__name__ for each in type(error).__mro__ if each.__module__ == "builtins")


def described(value: Any) -> str:
    """A value as text: arrays by dtype, shape and values of six digits."""
    if hasattr(value, "dtype") and hasattr(value, "strides") and not isinstance(value, np.generic):
        host = value if isinstance(value, np.ndarray) else value.get()
        numbers = " ".join(map(_digits, host.ravel().tolist()))
        return f"{'numpy ' if host is value else ''}{host.dtype.name}{list(host.shape)} {numbers}"
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(described, value))})"
    if isinstance(value, (bool, str, np.dtype, type(None))):
        return str(value)
    return f"{type(value).__name__} {_digits(value)}"


def _digits(number: Any) -> str:
    return f"{number:.6g}" if isinstance(number, (float, complex)) else str(number)


def answers(xp: Any) -> dict[str, str]:
    """The answer to each expression."""
    return {expression: answer(xp, expression) for expression in ANSWERS}


def missing_names(xp: Any) -> str:
    """Public functions of NumPy's that a library does not have."""
    found = []
    for module in ("", "linalg.", "fft.", "random."):
        theirs, ours = (getattr(each, module[:-1]) if module else each for each in (xp, np))
        names = [name for name in dir(ours) if callable(getattr(ours, name)) and not name.startswith("_")]
        found += [module + name for name in names if not hasattr(theirs, name)]
    return " ".join(found)


def differing_dtypes(xp: Any) -> dict[str, dict[str, str]]:
    """By function and the result's dtype or error, the operands of which NumPy's is another one.

    Operands are codes of dtypes, `?,d` for arrays of bool and float64, and the names of Python's types for numbers.
    Arrays have no elements, so that no kernel is compiled, but for reductions.
    """
    found: dict[str, dict[str, str]] = {}
    for name, operands in _operations():
        shape = (1, 2) if name in REDUCTIONS else 0
        given = [[_made(each, operand, shape) for operand in operands] for each in (xp, np)]
        theirs, ours = (_dtype_of(each, name, array) for each, array in zip((xp, np), given, strict=True))
        if theirs != ours:
            key = ",".join(each if isinstance(each, str) else type(each).__name__ for each in operands)
            row = found.setdefault(name, {})
            row[theirs] = f"{row.get(theirs, '')} {key}".strip()
    return found


def _made(xp: Any, operand: Any, shape: Any) -> Any:
    return xp.ones(shape, operand) if isinstance(operand, str) else operand


def _dtype_of(xp: Any, name: str, given: list[Any]) -> str:
    function = getattr(xp, name, None)
    if function is None:
        return "absent"
    try:
        return str(np.dtype(function(*given).dtype.name).char)
    except Exception as error:
        return _class_of(error)


def _operations() -> Iterator[tuple[str, tuple[Any, ...]]]:
    for name, row in ELEMENTWISE.items():
        first, second = list(CODES), [*CODES, *NUMBERS]
        if row.arity == 1:
            yield from ((name, (code,)) for code in first)
        elif row.arity == 2:
            yield from ((name, pair) for pair in itertools.product(first, second))
            yield from ((name, (number, code)) for number in NUMBERS for code in first)
    for name in REDUCTIONS:
        yield from ((name, (code,)) for code in CODES)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--record", help="write the answers there")
    given = parser.parse_args()
    cupy = importlib.import_module("cupy")

    warnings.simplefilter("ignore")
    runtime = cupy.cuda.runtime
    name = runtime.getDeviceProperties(0)["name"].decode()
    with np.errstate(all="ignore"):
        found = {
            "recorded_on": f"CuPy {cupy.__version__}, NumPy {np.__version__}, {name}",
            "missing": missing_names(cupy),
            "dtypes": differing_dtypes(cupy),
            "answers": answers(cupy),
        }
    if given.record:
        Path(given.record).write_text(json.dumps(found, indent=0) + "\n", "utf-8")
    wrong = [
        f"{part} {key}: {mine.get(key)} is recorded as {theirs.get(key)}"
        for part in ("dtypes", "answers")
        for mine, theirs in [(found[part], RECORDED[part])]
        for key in sorted({*mine, *theirs})
        if mine.get(key) != theirs.get(key)
    ]
    wrong += ["missing"] if found["missing"] != RECORDED["missing"] else []
    print(json.dumps({"check": "answers that stand-ins give", "passed": not wrong, "found": wrong[:20], "seconds": 0}))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
