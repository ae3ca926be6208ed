"""Places of a kernel to which its ways give numbers of different types: variables, choices, and returned values.

On a device, a variable has one type on all ways that meet where it is read; the simulator keeps what was assigned. The
same holds of what `a if c else b`, `and`, `or`, and a function with several `return` give. So each such place is looked
at, and two types at one place are told. A weak number stays what it is where a strong one came on another way, until an
operation takes the type of its other operand: so the results of such operations are looked at, too. A weak integer that
a strong one's type does not hold wraps on a device: that is an error.
"""

from __future__ import annotations

import ast
import itertools
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from kapi_sim.errors import DtypeError, MixedTypesWarning
from kapi_sim.instrument.loose_variables import OWN_SCOPE, LooseVariables, own_nodes, spelled_choice
from kapi_sim.language.source import Site, site_of

__all__ = ["GIVEN", "MEETS", "MeetingTypes", "choices_in", "types_given", "watch_meetings"]

MEETS = "_kapi_meets"
"""The name of `MeetingTypes` in a rewritten function."""

GIVEN = "_kapi_given"
"""The name of `types_given` in a rewritten function, and with `_types` behind it, of what it gave."""

_places = itertools.count()  # of all functions: one kernel may run several


def types_given(*values: Any) -> tuple[Any, ...]:
    """Return the types of a function's arguments: a device compiles it for each list of them."""
    return tuple(getattr(value, "dtype", value.__class__) for value in values)


class MeetingTypes:
    """The types that each place met in one launch; a call returns the value that came there."""

    __slots__ = ("_ends", "_met", "_told")

    def __init__(self) -> None:
        self._met: dict[Any, type[Any]] = {}
        self._ends: dict[Any, tuple[int, int]] = {}
        self._told: set[str] = set()

    def __call__(self, place: int, name: str, value: Any, given: tuple[Any, ...] = ()) -> Any:
        kind = value.__class__
        key = (place, given) if given else place
        met = self._met.get(key)
        if kind is int:
            ends = self._ends.get(key)
            if ends is None or not ends[0] <= value <= ends[1]:
                low, high = ends or (value, value)
                self._ends[key] = min(low, value), max(high, value)
                self._check_fit(key, name, met)
        elif met is None:
            if kind is not bool:
                self._met[key] = kind
                self._check_fit(key, name, kind)
        if met is not None and met is not kind and name not in self._told and _differ(met, kind):
            first, second = sorted((met.__name__, kind.__name__))
            self._tell(
                name,
                f"{name} is {first} on one way and {second} on another, and both meet at {_site()}\n"
                "  on a device it has one type on all ways: convert one, or start with the other",
            )
        return value

    def result_of(self, place: int, name: str, value: Any, given: tuple[Any, ...] = ()) -> Any:
        """Look at the result of an operation with what `name` says; return it."""
        kind = value.__class__
        if self._met.get(place) is not kind and issubclass(kind, np.generic):
            self._meet_result((place, given) if given else place, name, kind)
        return value

    def operand_of(self, place: int, name: str, value: Any, array: Any, given: tuple[Any, ...] = ()) -> Any:
        """Look at what an operation of an array's element with `value`, which `name` says, gives; return `value`."""
        if isinstance(value, (int, float, np.generic)) and hasattr(array, "dtype"):
            kind = np.result_type(array.dtype, value).type
            self._meet_result((place, given) if given else place, name, kind)
        return value

    def _meet_result(self, key: Any, name: str, kind: type[Any]) -> None:
        met = self._met.setdefault(key, kind)
        if met is not kind and name not in self._told:
            first, second = sorted((met.__name__, kind.__name__))
            self._tell(
                name,
                f"an operation with {name} gives {first} on one way and {second} on another, at {_site(2)}\n"
                "  a Python number takes the type that it meets; on a device the operation has one type on all ways:\n"
                "  convert the Python number",
                stacklevel=4,
            )

    def _tell(self, name: str, said: str, stacklevel: int = 3) -> None:
        self._told.add(name)
        warnings.warn(
            f"{said}\n  silence the note with warnings.filterwarnings('ignore', category=kapi_sim.MixedTypesWarning)",
            MixedTypesWarning,
            stacklevel=stacklevel,
        )

    def _check_fit(self, key: Any, name: str, strong: type[Any] | None) -> None:
        """Raise if a weak integer came to a place where the type of another way does not hold it."""
        if strong is None or key not in self._ends or not issubclass(strong, np.integer):
            return
        limits = np.iinfo(strong)
        for end in self._ends[key]:
            if not limits.min <= end <= limits.max:
                raise DtypeError(
                    f"{name} must fit {strong.__name__}, which it is on another way, got the Python integer {end}\n"
                    f"  both meet at {_site(2)}\n"
                    "  on a device it has one type on all ways: convert what is narrower",
                    code="number-unfit",
                )


def _site(depth: int = 1) -> Site:
    frame = sys._getframe(depth + 1)
    return site_of(frame.f_code, frame.f_lasti)


def _differ(one: type[Any], other: type[Any]) -> bool:
    """Whether a variable of both types is of another one on a device: a weak number takes the other's type."""
    if issubclass(one, np.generic) and issubclass(other, np.generic):
        return True
    weak, strong = (other, one) if issubclass(one, np.generic) else (one, other)
    return weak is float and issubclass(strong, (np.integer, np.bool_))


def choices_in(tree: ast.FunctionDef) -> list[ast.AST]:
    """Return the choices that are written in a function."""
    return [each for each in own_nodes(tree) if isinstance(each, (ast.IfExp, ast.BoolOp))]


def watch_meetings(tree: ast.FunctionDef, choices: list[ast.AST], loose: LooseVariables, is_kernel: bool) -> bool:
    """Have each place looked at to which the ways of a function may give different types.

    Parameters
    ----------
    tree : ast.FunctionDef
        The function, which is changed.
    choices : list of ast.AST
        Its author's choices.
    loose : LooseVariables
        Its author's variables that may be weak on one way alone.
    is_kernel : bool
        Whether it runs for one list of argument types in a launch.

    Returns
    -------
    bool
        Whether there was any.
    """
    returns = [each for each in own_nodes(tree) if isinstance(each, ast.Return) and each.value is not None]
    watcher = _Watcher(_of_several(tree), loose, choices, returns if len(returns) > 1 else [], has_types=not is_kernel)
    tree.body = [watcher.visit(statement) for statement in tree.body]
    if watcher.has_places and not is_kernel:
        given = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs]
        call = ast.Call(_name(GIVEN), [_name(each.arg) for each in given], [])
        types = ast.Assign([ast.Name(_TYPES, ast.Store())], call)
        for node in ast.walk(types):
            ast.copy_location(node, tree.body[0])
        tree.body.insert(0, types)
    return watcher.has_places


_TYPES = f"{GIVEN}_types"


def _method(name: str) -> ast.Attribute:
    return ast.Attribute(_name(MEETS), name, ast.Load())


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _of_several(tree: ast.FunctionDef) -> frozenset[str]:
    """Variables that get more than once something else than a literal."""
    count = Counter({argument.arg: 1 for argument in ast.walk(tree.args) if isinstance(argument, ast.arg)})
    for node in own_nodes(tree):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [] if isinstance(node.value, ast.Constant) else node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [] if isinstance(node.value, (ast.Constant, type(None))) else [node.target]
        elif isinstance(node, (ast.AugAssign, ast.NamedExpr)):
            targets = [node.target]
        elif isinstance(node, (ast.For, ast.comprehension)):
            targets = [node.target] if _is_counted(node.iter) else [node.target] * 2
        count.update(
            each.id
            for target in targets
            for each in ast.walk(target)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )
    return frozenset(name for name, times in count.items() if times > 1 and not name.startswith("_kapi"))


def _is_counted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("range")


class _Watcher(ast.NodeTransformer):
    def __init__(
        self,
        names: frozenset[str],
        loose: LooseVariables,
        choices: list[ast.AST],
        returns: list[ast.Return],
        has_types: bool,
    ) -> None:
        self._names = names
        self._loose = loose
        self._choices = set(map(id, choices))
        self._returns = returns
        self._has_types = has_types
        self._returned: dict[int, int] = {}
        self._updates: set[int] = set()  # operations that always give the type that they gave before
        self._tests: set[int] = set()  # choices of which the truth alone counts
        self.has_places = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            self._mark_test(node.test)
        return node if isinstance(node, OWN_SCOPE) else super().visit(node)

    def _mark_test(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            self._tests.add(id(node))
            for each in node.values:
                self._mark_test(each)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._mark_test(node.operand)

    def _place(
        self, node: ast.expr, name: str, place: int, look: ast.expr | None = None, more: Sequence[ast.expr] = ()
    ) -> ast.expr:
        self.has_places = True
        arguments: list[ast.expr] = [ast.Constant(place), ast.Constant(name), node, *more]
        if self._has_types:
            arguments.append(_name(_TYPES))
        call = ast.Call(look or _name(MEETS), arguments, [])
        for each in (call, *ast.walk(call.func), *arguments[:2], *arguments[3:]):
            ast.copy_location(each, node)
        return call

    def _result(self, node: ast.expr, name: str) -> ast.expr:
        return self._place(node, name, next(_places), _method("result_of"))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        target = node.target
        is_element = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        loose = self._loose.of(node.value) if is_element else ""
        self.generic_visit(node)
        if loose and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            call = self._place(node.value, loose, next(_places), _method("operand_of"), [_name(target.value.id)])
            node.value = call
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        has_literal = isinstance(node.left, ast.Constant) or isinstance(node.right, ast.Constant)
        is_square = (
            isinstance(node.left, ast.Name) and isinstance(node.right, ast.Name) and node.left.id == node.right.id
        )
        loose = "" if has_literal or is_square or id(node) in self._updates else self._loose.of(node)
        self.generic_visit(node)
        return self._result(node, loose) if loose else node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or node.id not in self._names:
            return node
        return self._place(node, f"variable `{node.id}`", next(_places))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        are_literals = isinstance(node.body, ast.Constant) and isinstance(node.orelse, ast.Constant)
        if are_literals or id(node) not in self._choices:
            return node
        return self._place(node, spelled_choice(node), next(_places))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        is_test = id(node) not in self._choices or id(node) in self._tests or all(map(_is_truth, node.values))
        self.generic_visit(node)
        return node if is_test else self._place(node, spelled_choice(node), next(_places))

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        target, value = node.targets[0], node.value
        while isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if isinstance(target, ast.Name) and isinstance(value, ast.BinOp) and isinstance(value.left, ast.Name):
            if value.left.id == target.id and self._loose.is_sum(target.id):
                self._updates.add(id(value))
        self.generic_visit(node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            self._mark_test(node)
        self.generic_visit(node)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node in self._returns and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for number, part in enumerate(parts):
                place = self._returned.setdefault(number, next(_places))
                parts[number] = self._place(part, "what the function returns", place)
            if not isinstance(node.value, ast.Tuple):
                node.value = parts[0]
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        loose = next(filter(None, map(self._loose.of, node.args)), "") if len(node.args) > 1 else ""
        node.args = [self.visit(each) for each in node.args]
        for each in node.keywords:
            each.value = self.visit(each.value)
        if not isinstance(node.func, ast.Name):
            node.func = self.visit(node.func)
        return self._result(node, loose) if loose else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        # Arrays have no numbers' types.
        node.slice = self.visit(node.slice)
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) > 1 and isinstance(node.ctx, ast.Load):
            node.value = self.visit(node.value)
            is_known = isinstance(node.slice, (ast.Constant, ast.Slice))
            return node if is_known else self._place(node, "the member of the tuple", next(_places))
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.value, ast.Name):
            node.value = self.visit(node.value)
        return node


def _is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
