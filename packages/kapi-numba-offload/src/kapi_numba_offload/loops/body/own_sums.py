"""Sums into elements of a small array that each work-item keeps for itself, in a row of its own, in place of atomics."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kapi_numba_offload.loops.body.shared_elements import ATOMIC_METHODS
from kapi_numba_offload.loops.body.syntax_parts import attribute, length_of, plus, times, variable

__all__ = ["OwnSum", "own_sums"]

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


def own_sums(
    body: Sequence[ast.stmt], dtypes: dict[str, str], small: Iterable[str]
) -> tuple[list[ast.stmt], list[OwnSum]]:
    """A body that sums into rows of its own what it had summed atomically.

    An index beyond the array stays with the atomic operation, so that it meets what it had met.

    Parameters
    ----------
    body : sequence of ast.stmt
        With elements only, and atomic operations where several iterations may update one.
    dtypes : dict of str to str
        The name of each array's dtype.
    small : iterable of str
        The arrays that are small enough.

    Returns
    -------
    tuple
        The body, and the arrays: none of them where the body does anything else with them.
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
        return list(body), []
    writer = _OwnRows(own, dtypes)
    return writer.block([copy.deepcopy(each) for each in body]), list(own.values())


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
    """Writes updates of elements as those of the work-item's row."""

    def __init__(self, own: dict[str, OwnSum], dtypes: dict[str, str]) -> None:
        self._own, self._dtypes, self._count = own, dtypes, 0

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        found = _update(node)
        if found is None or found[0] not in self._own:
            return node
        name, method = found
        assert isinstance(node.value, ast.Call)
        (value,) = node.value.args
        assert isinstance(node.value.func, ast.Attribute)
        assert isinstance(node.value.func.value, ast.Call)
        index = node.value.func.value.args[1]
        self._count += 1
        made: list[ast.stmt] = []
        tests: list[ast.expr] = []
        place: ast.expr = ast.Constant(0)
        for axis, each in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
            at = f"kapi_index{self._count}_{axis}"
            # Unsigned indices and lengths would meet in a float.
            made.append(ast.Assign([ast.Name(at, ast.Store())], ast.Call(attribute("kapi_np", "int64"), [each], [])))
            tests.append(ast.Compare(variable(at), [ast.GtE()], [ast.Constant(0)]))
            tests.append(ast.Compare(variable(at), [ast.Lt()], [length_of(name, axis)]))
            place = plus(times(place, length_of(name, axis)) if axis else ast.Constant(0), variable(at))
        if not isinstance(value, ast.Constant):
            kept = f"kapi_added{self._count}"
            made.append(ast.Assign([ast.Name(kept, ast.Store())], value))
            node.value.args = [variable(kept)]
            value = variable(kept)
        own = self._own[name]
        row, first = own.parameters[0], variable(f"kapi_first_{name}")
        element = ast.Subscript(variable(row), ast.BinOp(first, ast.Add(), place), ast.Store())
        converted = ast.Call(attribute("kapi_np", self._dtypes[name]), [copy.deepcopy(value)], [])
        inner = ast.AugAssign(element, _OPERATORS[method](), converted)
        made.append(ast.If(ast.BoolOp(ast.And(), tests), [inner], [node]))
        return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in made]
