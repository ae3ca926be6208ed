"""Sums into elements of a small array, which each work-item keeps in a row of its own, in place of atomics."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kapi_numba_offload.analysis.control_flow import has_jump
from kapi_numba_offload.loops.body.shared_elements import ATOMIC_METHODS
from kapi_numba_offload.loops.body.syntax_parts import attribute, length_of, plus, times, variable

__all__ = ["BLOCK", "OwnBody", "OwnSum", "own_sums"]

BLOCK = 64
"""Iterations whose indices and values are computed before their updates are done."""

_SIZES = ("shape", "size", "ndim")
_COMBINED = {"fetch_add": "sum", "fetch_sub": "sum", "fetch_and": "and", "fetch_or": "or", "fetch_xor": "xor"}
_OPERATORS = {method: operator for operator, method in ATOMIC_METHODS.items()}


class OwnSum(NamedTuple):
    """An array into whose elements a loop sums, and does nothing else with it.

    Attributes
    ----------
    array : str
        The array.
    operation : str
        How what two work-items have is combined: `sum`, `and`, `or` or `xor`.
    """

    array: str
    operation: str

    @property
    def parameters(self) -> list[str]:
        """The parameters of kernels for it: all rows along one axis, the length of one, and what it starts with."""
        return [f"kapi_{word}_{self.array}" for word in ("own", "pitch", "identity")]

    @property
    def lines(self) -> list[str]:
        """The lines of a kernel that fill the row of the work-item `kapi_row`."""
        own, pitch, identity = self.parameters
        first = f"kapi_first_{self.array}"
        return [
            f"{first} = kapi_row * {pitch}",
            f"for kapi_slot in range({pitch}):",
            f"    {own}[{first} + kapi_slot] = {identity}",
        ]


class OwnBody(NamedTuple):
    """The body of a loop with rows of a work-item's own.

    Attributes
    ----------
    before : list of str
        Lines of the kernel that make what the parts share.
    first, second : list of ast.stmt
        What is done for each iteration. Where there is a second part, it is done for `BLOCK` iterations after the first
        has been, and `kapi_number` counts them: the first may become vectors then.
    own : list of OwnSum
        The arrays; none where the body is as it was.
    """

    before: list[str]
    first: list[ast.stmt]
    second: list[ast.stmt]
    own: list[OwnSum]

    @property
    def lines(self) -> list[str]:
        """All lines that come before the loop."""
        return [*self.before, *(line for each in self.own for line in each.lines)]


def own_sums(body: Sequence[ast.stmt], dtypes: Mapping[str, str], small: Iterable[str]) -> OwnBody:
    """A body that sums into rows of its own what it had summed atomically.

    An index beyond the array stays with the atomic operation, so that it meets what it had met.

    Parameters
    ----------
    body : sequence of ast.stmt
        With elements only, and atomic operations where several iterations may update one.
    dtypes : mapping of str to str
        The name of each array's dtype.
    small : iterable of str
        The arrays that are small enough; one that the body does anything else with stays as it is.
    """
    updates = [each for statement in body for node in ast.walk(statement) if (each := _update(node)) is not None]
    own: dict[str, OwnSum] = {}
    for name in small:
        operations = {_COMBINED.get(method) for array, method in updates if array == name}
        uses = sum(_uses(name, statement) for statement in body)
        if len(operations) == 1 and uses == sum(array == name for array, _ in updates):
            (operation,) = operations
            if operation is not None:
                own[name] = OwnSum(name, operation)
    if not own:
        return OwnBody([], list(body), [], [])
    at_top = sum((_update(each) or ("",))[0] in own for each in body)
    is_in_parts = at_top == sum(array in own for array, _ in updates) and not any(map(has_jump, body))
    writer = _OwnRows(own, dtypes, is_in_parts=is_in_parts)
    first = writer.block([copy.deepcopy(each) for each in body])
    return OwnBody(writer.before, first, writer.second, list(own.values()))


def _update(node: ast.AST) -> tuple[str, str] | None:
    """Array and method, if `node` is a statement that updates an element atomically."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return None
    method = node.value.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Call):
        return None
    reference = method.value
    if not isinstance(reference.func, ast.Name) or reference.func.id != "kapi_AtomicRef":
        return None
    array = reference.args[0]
    return (array.id, method.attr) if isinstance(array, ast.Name) else None


def _uses(name: str, node: ast.AST) -> int:
    """How often an array is named, but for its lengths."""
    if isinstance(node, ast.Attribute) and node.attr in _SIZES and isinstance(node.value, ast.Name):
        return 0
    if isinstance(node, ast.Name):
        return int(node.id == name)
    return sum(_uses(name, each) for each in ast.iter_child_nodes(node))


class _OwnRows(ast.NodeTransformer):
    """Writes updates of elements as those of the work-item's row.

    Parameters
    ----------
    own : mapping of str to OwnSum
        The arrays.
    dtypes : mapping of str to str
        The names of their dtypes.
    is_in_parts : bool
        Whether indices and values are kept, and the updates are a part of their own.

    Attributes
    ----------
    before, second : list
        As those of `OwnBody`.
    """

    def __init__(self, own: Mapping[str, OwnSum], dtypes: Mapping[str, str], *, is_in_parts: bool) -> None:
        self._own, self._dtypes, self._is_in_parts = own, dtypes, is_in_parts
        self._count = 0
        self.before: list[str] = []
        self.second: list[ast.stmt] = []

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements, rewritten."""
        made: list[ast.stmt] = []
        for statement in statements:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        """An update in several statements."""
        found = _update(node)
        if found is None or found[0] not in self._own:
            return node
        name, method = found
        reference, (value,) = node.value.func.value, node.value.args  # type: ignore[attr-defined]
        index = reference.args[1]
        made: list[ast.stmt] = []
        tests: list[ast.expr] = []
        place: ast.expr = ast.Constant(0)
        indices: list[ast.expr] = []
        for axis, each in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
            # Unsigned indices and lengths would meet in a float.
            at = self._kept(ast.Call(attribute("kapi_np", "int64"), [each], []), "int64", made)
            indices.append(at)
            tests.append(ast.Compare(copy.deepcopy(at), [ast.GtE()], [ast.Constant(0)]))
            tests.append(ast.Compare(copy.deepcopy(at), [ast.Lt()], [length_of(name, axis)]))
            place = plus(times(place, length_of(name, axis)) if axis else ast.Constant(0), at)
        dtype = self._dtypes[name]
        added = self._kept(ast.Call(attribute("kapi_np", dtype), [value], []), dtype, made)
        row, first = self._own[name].parameters[0], variable(f"kapi_first_{name}")
        element = ast.Subscript(variable(row), ast.BinOp(first, ast.Add(), place), ast.Store())
        inner = ast.AugAssign(element, _OPERATORS[method](), added)
        reference.args[1] = ast.Tuple(indices, ast.Load()) if len(indices) > 1 else indices[0]
        node.value.args = [copy.deepcopy(added)]  # type: ignore[attr-defined]
        (self.second if self._is_in_parts else made).append(ast.If(ast.BoolOp(ast.And(), tests), [inner], [node]))
        for each in (*made, *self.second):
            ast.fix_missing_locations(ast.copy_location(each, node) if not hasattr(each, "lineno") else each)
        return made

    def _kept(self, value: ast.expr, dtype: str, made: list[ast.stmt]) -> ast.expr:
        """A variable with a value, which a statement of `made` gives it; where there are parts, by a block's array."""
        self._count += 1
        name = f"kapi_kept{self._count}"
        target: ast.expr = ast.Name(name, ast.Store())
        if self._is_in_parts:
            self.before.append(f"{name}s = kapi_PrivateArray({BLOCK}, kapi_np.{dtype})")
            element = ast.Subscript(variable(f"{name}s"), variable("kapi_number"), ast.Load())
            self.second.append(ast.Assign([target], element))
            target = ast.Subscript(variable(f"{name}s"), variable("kapi_number"), ast.Store())
        made.append(ast.Assign([target], value))
        return variable(name)
