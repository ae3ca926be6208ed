"""Random numbers in a loop's body: the numbers of `kapi.random`, for the draws of `numpy.random` and `random`.

A draw's counter is the number of the draw in its iteration, and its stream the iteration.  The seed is a number that
the loop draws from Numba's generator when it is launched.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np

import kapi_runtime
from kapi_numba_offload._numba_compat import numba_call
from kapi_numba_offload.analysis.random_functions import random_name
from kapi_numba_offload.analysis.scope import UNKNOWN, Scope
from kapi_numba_offload.analysis.syntax import (
    Part,
    expression,
    located,
    rewrite_blocks,
    rewrite_expressions,
    statements,
    variable,
)
from kapi_numba_offload.loops.body.state import NotInKernelError, unsupported_option

__all__ = ["DRAWN", "SEED", "draw_random", "drawn_seed"]

SEED = "kapi_seed"
"""The parameter of a kernel that draws."""

DRAWN: dict[str, Any] = {
    "kapi_uniform": kapi_runtime.random.uniform,
    "kapi_normal": kapi_runtime.random.normal,
    "kapi_randint": kapi_runtime.random.randint,
    "kapi_empty": np.empty,
}
"""Names in the body besides those of the source."""


def drawn_seed() -> int:
    """A seed from Numba's generator, which `np.random.seed` of an njit function sets."""
    return int(numba_call(_seed))


@numba.njit
def _seed() -> Any:
    return np.random.randint(0, 1 << 62)  # noqa: NPY002  # Numba's own generator


_UNIFORM = "kapi_uniform(kapi_seed, DRAW, STREAM, kapi_np.float64)"
_NORMAL = "kapi_normal(kapi_seed, DRAW, STREAM, kapi_np.float64)"
_EXPONENTIAL = f"-kapi_np.log1p(-{_UNIFORM})"
_INTEGER = "kapi_randint(kapi_seed, DRAW, {low}, {high}, STREAM)"

_BETWEEN = f"A + (B - A) * {_UNIFORM}"
_DRAWS: dict[str, tuple[str, dict[str, float | None]]] = {
    **dict.fromkeys((f"numpy.random.{name}" for name in ("random", "random_sample", "ranf", "sample")), (_UNIFORM, {})),
    "numpy.random.uniform": (_BETWEEN, {"low": 0.0, "high": 1.0}),
    "numpy.random.standard_normal": (_NORMAL, {}),
    "numpy.random.normal": (f"A + B * {_NORMAL}", {"loc": 0.0, "scale": 1.0}),
    "numpy.random.lognormal": (f"kapi_np.exp(A + B * {_NORMAL})", {"mean": 0.0, "sigma": 1.0}),
    "numpy.random.standard_exponential": (_EXPONENTIAL, {}),
    "numpy.random.exponential": (f"A * {_EXPONENTIAL}", {"scale": 1.0}),
    "numpy.random.randint": (_INTEGER.format(low="A", high="B"), {"low": None, "high": None}),
    "random.random": (_UNIFORM, {}),
    "random.uniform": (_BETWEEN, {"a": None, "b": None}),
    "random.gauss": (f"A + B * {_NORMAL}", {"mu": None, "sigma": None}),
    "random.normalvariate": (f"A + B * {_NORMAL}", {"mu": None, "sigma": None}),
    "random.expovariate": (f"{_EXPONENTIAL} / A", {"lambd": None}),
    "random.randint": (_INTEGER.format(low="A", high="B + 1"), {"a": None, "b": None}),
}
"""The number that is drawn, with its parameters in capitals, and their names and defaults: None where there is none."""


def draw_random(body: Sequence[ast.stmt], names: Scope, parallel: Sequence[str]) -> list[ast.stmt]:
    """The body of an iteration with draws of `kapi.random`; as it is where it draws nothing."""
    draws = _Draws(names, parallel[0])
    made = draws.block(body)
    if not draws.count:
        return list(body)
    start = "0"
    for each in parallel[1:]:  # iterations of inner loops share a stream, and have counters of their own
        start = f"({start} * {1 << 21} + {each})"
    if len(parallel) > 1:
        start = f"{start} * {1 << 21}"
    return [located(statements(f"kapi_drawn = {start}")[0], made[0]), *made]


class _Draws(ast.NodeTransformer):
    """Rewrites the draws of a body, and counts them."""

    def __init__(self, names: Scope, stream: str) -> None:
        self._names, self._stream, self.count = names, stream, 0
        self._number, self._before = 0, list[ast.stmt]()  # of the statement: the numbers besides rows, and their loops

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, rows of numbers drawn before those that have them."""
        made: list[ast.stmt] = []
        for node in body:
            if self.has_draws(node):
                if isinstance(node, ast.FunctionDef):
                    raise NotInKernelError("random numbers in a function that could not be written out", node)
                if isinstance(node, ast.While) and self.has_draws(node.test):
                    raise NotInKernelError("random numbers in the condition of a while loop", node)
                rewrite_blocks(node, self.block)
                self._number, self._before = 0, []
                rewrite_expressions(node, self.visit)
                if self._number:
                    self._put(f"kapi_drawn = kapi_drawn + {self._number}", node)
                made += self._before
            made.append(node)
        return made

    def has_draws(self, node: ast.AST) -> bool:
        """Whether a call in a part of the body draws."""
        return any(isinstance(each, ast.Call) and self._name(each) is not None for each in ast.walk(node))

    def _name(self, call: ast.Call) -> str | None:
        value = self._names.value(call.func)
        return None if value is UNKNOWN else random_name(value)

    def _drawn(self, call: ast.Call) -> tuple[str, dict[str, Part], ast.expr | None] | None:
        """The number that a call draws, and how many of them if it says so; None for other calls."""
        name = self._name(call)
        if name is None:
            return None
        given, words = list(call.args), {str(each.arg): each.value for each in call.keywords}
        size: ast.expr | None = words.pop("size", None)
        if name in ("numpy.random.rand", "numpy.random.randn"):
            if len(given) > 1 or words:
                raise NotInKernelError(f"`{ast.unparse(call)}`, which draws no row", call)
            size, given = (given[0] if given else None), []
            name = "numpy.random.random" if name == "numpy.random.rand" else "numpy.random.standard_normal"
        if name not in _DRAWS:
            raise NotInKernelError(f"`{ast.unparse(call)}`, whose distribution kernels lack", call)
        text, defaults = _DRAWS[name]
        if name == "numpy.random.randint" and len(given) + ("high" in words) < 2:
            text, defaults = _INTEGER.format(low="0", high="A"), {"low": None}
        if name.startswith("numpy.") and len(given) == len(defaults) + 1:
            size = given.pop()
        if len(given) > len(defaults) or not words.keys() <= defaults.keys() or isinstance(size, ast.Tuple):
            raise unsupported_option(call)
        values = {**defaults, **dict(zip(defaults, given, strict=False)), **words}
        holes: dict[str, Part] = {"STREAM": self._stream}
        for letter, value in zip("AB", values.values(), strict=False):
            if value is None:
                raise NotInKernelError(f"`{ast.unparse(call)}` without an argument that it needs", call)
            holes[letter] = value
        self.count += 1
        return text, holes, None if isinstance(size, ast.Constant) and size.value is None else size

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        found = self._drawn(node)
        if found is None:
            return node
        text, holes, size = found
        if size is None:
            self._number += 1
            return located(expression(_counted(text, self._number), **holes), node)
        row = variable(f"kapi_row{self.count}")
        counter = f"kapi_place{self.count}"
        self._put("ROW = kapi_empty(SIZE)", node, ROW=row.id, SIZE=size)
        body = f"kapi_drawn = kapi_drawn + 1\n    ROW[PLACE] = {_counted(text, 1)}"
        self._put(f"for PLACE in range(SIZE):\n    {body}", node, **holes, ROW=row.id, PLACE=counter, SIZE=size)
        return located(row, node)

    def _put(self, text: str, where: ast.AST, **holes: Part) -> None:
        """Put statements of a text before the statement."""
        self._before += [located(each, where) for each in statements(text, **holes)]

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; a draw in an expression that has a scope of its own is refused."""
        if isinstance(node, _SCOPES) and self.has_draws(node):
            raise NotInKernelError("random numbers in a comprehension", node)
        return super().visit(node)


_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def _counted(text: str, number: int) -> str:
    """A number that is drawn, by the counter of so many draws before."""
    return text.replace("DRAW", f"kapi_drawn - {number}")
