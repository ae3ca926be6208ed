"""Specialisation of kernels for arguments that are constants: `None`, functions, names of attributes, and members.

A constant argument becomes a free variable of a function of its own, in which it is what a value from outside is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any

import numpy as np

from kapi_sim.language.attributes import bound_names
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.launchables.closures import compile_closure
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.language.source import is_source_of, parse_function, remember_tree

__all__ = ["is_function", "specialized", "split_arguments"]

_MEMBERS = (MemoryOrder, MemoryScope, AddressSpace)


def split_arguments(
    function: Callable[..., Any], args: tuple[Any, ...]
) -> tuple[tuple[tuple[str, Any], ...], tuple[Any, ...]]:
    """Return the arguments of a launch that are constants, by parameter, and the others; defaults count.

    Parameters
    ----------
    function : function
        The kernel as written.
    args : tuple
        Those of the launch, as many as it has.
    """
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[1 : code.co_argcount]
    missing = len(names) - len(args)
    given = (*args, *defaults[len(defaults) - missing :]) if 0 < missing <= len(defaults) else args
    constants = tuple((name, value) for name, value in zip(names, given, strict=False) if _is_constant(value))
    return constants, tuple(value for value in given if not _is_constant(value)) if constants else args


def is_function(value: object) -> bool:
    """Return whether an argument is a function or a number type, such as `math.sqrt` and `np.float32`."""
    if isinstance(value, (FunctionType, BuiltinFunctionType, np.ufunc, DeviceFunction, type)):
        return True
    # What Numba has compiled for the host is written in Python, too.
    return hasattr(value, "py_func") and type(value).__module__.startswith("numba.")


def _is_constant(value: Any) -> bool:
    return value is None or isinstance(value, (str, *_MEMBERS)) or is_function(value)


def specialized(function: Callable[..., Any], constants: Mapping[str, Any]) -> FunctionType | None:
    """Return `function` without the parameters that are constants.

    Parameters
    ----------
    function : function
        The kernel as written.
    constants : mapping of str to object
        Values by parameter.

    Returns
    -------
    function or None
        None if the source cannot be had, or does not use a parameter as such a constant: ``x is None``, ``f(...)``,
        ``getattr(x, name)``, or as an argument of a call.
    """
    tree = parse_function(function)
    if tree is None or not is_source_of(tree, function):
        return None
    if not all(_is_used(tree, name, value) for name, value in constants.items()):
        return None
    known = dict(zip(reversed(_parameters(tree)), reversed(function.__defaults__ or ()), strict=False))
    arguments = tree.args
    arguments.posonlyargs = [each for each in arguments.posonlyargs if each.arg not in constants]
    arguments.args = [each for each in arguments.args if each.arg not in constants]
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    tree.decorator_list, tree.returns = [], None
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    # A parameter that is assigned stays a variable, with the constant as its first value.
    free = {f"_kapi_given_{name}" if name in bound_names(tree) else name: name for name in constants}
    first = [f"{name} = {outer}" for outer, name in free.items() if outer != name]
    tree.body = [*(_placed(text, tree.body[0]) for text in first), *tree.body]
    code = compile_closure(function, tree, free)
    cells = {outer: CellType(constants[name]) for outer, name in free.items()}
    cells.update(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    defaults = tuple(known[name] for name in _parameters(tree) if name in known)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, defaults or None, closure)
    made.__kwdefaults__, made.__annotations__ = function.__kwdefaults__, function.__annotations__
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    remember_tree(made, tree)
    return made


def _parameters(tree: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*tree.args.posonlyargs, *tree.args.args)]


def _is_used(tree: ast.FunctionDef, name: str, value: Any) -> bool:
    """Whether a kernel has a use for a parameter that is this constant."""
    return isinstance(value, _MEMBERS) or any(_uses(node, name, value) for node in ast.walk(tree))


def _uses(node: ast.AST, name: str, value: Any) -> bool:
    def is_named(part: ast.AST) -> bool:
        return isinstance(part, ast.Name) and part.id == name

    if isinstance(node, ast.Compare) and value is None:
        operands = (node.left, *node.comparators)
        is_test = isinstance(node.ops[0], (ast.Is, ast.IsNot))
        return is_test and any(map(is_named, operands)) and any(map(_is_none, operands))
    if not isinstance(node, ast.Call):
        return False
    return (callable(value) and is_named(node.func)) or any(
        is_named(each) for each in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _placed(text: str, node: ast.stmt) -> ast.stmt:
    (statement,) = ast.parse(text).body
    for part in ast.walk(statement):
        ast.copy_location(part, node)
    return statement
