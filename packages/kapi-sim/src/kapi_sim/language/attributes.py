"""Resolution of the names in a function's source, without running the function."""

from __future__ import annotations

import ast
import builtins
import enum
import inspect
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from kapi_sim.language.launchables.device_function import DeviceFunction

__all__ = [
    "MISSING",
    "attribute_of",
    "bound_names",
    "called_function",
    "dotted_path",
    "has_constants",
    "resolve",
    "write_out_attributes",
    "write_out_lists",
]

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<not defined>"})()
"""Stands for an object that a name does not lead to."""


def _fma(x: float, y: float, z: float) -> float:
    """Return ``x * y + z``, rounded once, which Python has since 3.13.

    Examples
    --------
    >>> _fma(0.1, 10, -1), 0.1 * 10 - 1
    (5.551115123125783e-17, 0.0)
    """
    x, y, z = float(x), float(y), float(z)
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return x * y + z
    if not math.isfinite(z):
        return z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_BACKPORTS: dict[tuple[str, str], Callable[..., Any]] = {("math", "fma"): _fma}
"""The functions that kernels have on every Python, by module and name, though an older one's module lacks them."""


def called_function(value: object) -> Callable[..., Any] | None:
    """Return the Python function that a kernel runs when it calls `value`; `None` if it runs none.

    A function that is not decorated is one like a device function, as it is for the compiler.  What
    kapi, NumPy and the standard library define is not the user's, and runs as it is.
    """
    if isinstance(value, DeviceFunction):
        function: Callable[..., Any] = value.py_func
        return function
    if not isinstance(value, FunctionType):
        return None
    package = (value.__module__ or "").partition(".")[0]
    is_foreign = package in ("kapi_sim", "numpy", "dpnp") or package in sys.stdlib_module_names - {"__main__"}
    return None if is_foreign and not (value.__module__ or "").startswith("kapi_sim.testing.") else value


def dotted_path(node: ast.AST) -> tuple[str, ...] | None:
    """Return ``("kapi", "group_barrier")`` for ``kapi.group_barrier``, `None` for other expressions."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else None


def has_constants(owner: object) -> bool:
    """Return whether a kernel may take attributes of `owner` as constants.

    That is so of modules, of classes and of objects that hold settings: a plain class, a dataclass, a namespace.
    Numbers, tuples, enumerations and arrays have attributes of their own in a kernel.
    """
    if isinstance(owner, (ModuleType, SimpleNamespace)):
        return True
    class_ = owner if isinstance(owner, type) else type(owner)
    if issubclass(class_, (enum.Enum, tuple, np.generic, np.ndarray, BaseException)):
        return False
    package = (class_.__module__ or "").partition(".")[0]
    if package in ("kapi_sim", "kapi_types", "kapi_runtime", "numpy", "numba", "dpnp", "dpctl"):
        return (class_.__module__ or "").startswith("kapi_sim.testing.")
    is_foreign = package in sys.stdlib_module_names - {"__main__"}
    return not is_foreign and not hasattr(class_, "__sycl_usm_array_interface__")


def attribute_of(owner: object, name: str) -> Any:
    """Return the constant that a kernel takes as ``owner.name``, `MISSING` if there is none.

    No code of the user's runs: what a property or a method would give is no constant.
    """
    if isinstance(owner, ModuleType):
        return getattr(owner, name, _BACKPORTS.get((owner.__name__, name), MISSING))
    if isinstance(owner, type) and issubclass(owner, enum.Enum):
        return owner.__members__.get(name, MISSING)
    if isinstance(owner, enum.Enum) and not isinstance(owner, int) and name == "value":
        return owner.value
    if not has_constants(owner):
        return MISSING
    found = inspect.getattr_static(owner, name, MISSING)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(owner, type):
        return MISSING if _computes(found) else found
    if isinstance(found, MemberDescriptorType):  # of a class with slots
        return getattr(owner, name, MISSING)
    if found is getattr(owner, "__dict__", {}).get(name, MISSING):
        return found
    return MISSING if _computes(found) or isinstance(found, (FunctionType, DeviceFunction)) else found


def _computes(found: object) -> bool:
    """Whether what a class holds is no value, but gives one when it is asked for."""
    return not isinstance(found, (FunctionType, DeviceFunction)) and hasattr(type(found), "__get__")


def resolve(function: Callable[..., Any], path: tuple[str, ...]) -> Any:
    """Return what `path` means in the closure, globals or builtins of `function`, else `MISSING`."""
    name, *attributes = path
    code = function.__code__
    value = MISSING
    if name in code.co_freevars and function.__closure__ is not None:
        try:
            value = function.__closure__[code.co_freevars.index(name)].cell_contents
        except ValueError:
            return MISSING
    elif name in function.__globals__:
        value = function.__globals__[name]
    else:
        value = getattr(builtins, name, MISSING)
    for attribute in attributes:
        value = attribute_of(value, attribute)
    return value


class _WrittenOut(ast.NodeTransformer):
    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._local: set[str] = set()
        self.texts: list[tuple[tuple[str, ...], str]] = []

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == "getattr") or node.keywords or len(node.args) != 2:
            return node
        owner, named = node.args
        name = named.value if isinstance(named, ast.Constant) else None
        if isinstance(named, ast.Name) and named.id not in self._local:
            name = resolve(self._function, (named.id,))
        if not (isinstance(name, str) and name.isidentifier()):
            return node
        if isinstance(named, ast.Name):
            self.texts.append(((named.id,), name))
        return ast.copy_location(ast.Attribute(owner, name, ast.Load()), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inner(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inner(node)

    def _inner(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        outer, self._local = self._local, self._local | bound_names(node)
        self.generic_visit(node)
        self._local = outer
        return node


def write_out_attributes(
    tree: ast.FunctionDef, function: Callable[..., Any]
) -> tuple[ast.FunctionDef, list[tuple[tuple[str, ...], str]]]:
    """Return `tree` with each ``getattr(x, "name")`` written as ``x.name``, and the paths of names that gave a text."""
    written = _WrittenOut(function)
    if resolve(function, ("getattr",)) is getattr and "getattr" not in bound_names(tree):
        tree = written.visit(tree)
    return tree, written.texts


def write_out_lists(tree: ast.FunctionDef) -> ast.FunctionDef:
    """Return `tree` with the lists that Python's compiler makes tuples of: ``for x in [1, 2]``, ``x in [1, 2]``."""
    written: ast.FunctionDef = _Listed().visit(tree)
    return written


def bound_names(function: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Return the names that are local to `function`: its parameters and all that its body binds."""
    arguments = function.args
    names = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    pending: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    foreign: set[str] = set()
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                names.add(node.id)
            continue
        if isinstance(node, ast.Constant):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            foreign |= set(node.names)
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
            names.add(node.name)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif not isinstance(node, ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return names - foreign


class _Listed(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = _as_tuple(node.iter)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if isinstance(node.ops[-1], (ast.In, ast.NotIn)):
            node.comparators[-1] = _as_tuple(node.comparators[-1])
        return self.generic_visit(node)


def _as_tuple(node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.List) or any(isinstance(each, ast.Starred) for each in node.elts):
        return node
    return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)
