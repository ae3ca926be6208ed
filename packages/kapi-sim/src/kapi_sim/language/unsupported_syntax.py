"""Syntax outside of the kernel language: the compiler refuses it, so the simulator does as well.

`print`, `assert`, `raise` and `breakpoint` are the simulator's own: a kernel may hold them while it is
looked into.  All problems of a kernel, and of the functions that it calls, are reported at once.
"""

from __future__ import annotations

import ast
import builtins
import enum
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.language.attributes import (
    MISSING,
    attribute_of,
    bound_names,
    dotted_path,
    has_constants,
    resolve,
    write_out_attributes,
)
from kapi_sim.language.intrinsics.atomics import AtomicRef
from kapi_sim.language.local_functions import misplaced_functions
from kapi_sim.language.named_arguments import named_arguments
from kapi_sim.language.other_systems import hint
from kapi_sim.language.outside_values import describe_value, is_kernel_value, names_dtype
from kapi_sim.short_repr import short_repr

__all__ = [
    "INSTEAD_OF_OPERATORS",
    "PATTERN_OF_MATCH",
    "PARAMETERS_OF_FUNCTION",
    "PARAMETERS_OF_KERNEL",
    "PARAMETERS_OF_LOCAL",
    "find_problems",
    "no_constant",
]

PARAMETERS_OF_KERNEL = Finding(
    "kernel-parameters", "parameters of a kernel must be plain and positional, got * or keyword-only"
)
PARAMETERS_OF_FUNCTION = Finding(
    "function-parameters", "parameters of a function that a kernel calls must be named one by one, got * or **"
)
PARAMETERS_OF_LOCAL = Finding(
    "local-function-parameters", "parameters of a local function must be plain and positional, got * or keyword-only"
)
PATTERN_OF_MATCH = Finding("match-pattern", "patterns of `match` must be constants in a kernel: write `if` for others")
_LIST = Finding("list-in-kernel", "kernels have no lists: use a tuple, a LocalAccessor or an array argument")
_STRING = Finding("text-in-kernel", "kernels have no strings: give print() constant strings and numbers one by one")
_COMPREHENSION = Finding("comprehension", "kernels have no comprehensions: write a loop")
_REFUSED: dict[type[ast.AST], Finding] = {
    ast.ListComp: _COMPREHENSION,
    ast.SetComp: _COMPREHENSION,
    ast.DictComp: _COMPREHENSION,
    ast.GeneratorExp: Finding("generator", "kernels have no generators: write a loop"),
    ast.Dict: Finding("dict-in-kernel", "kernels have no dicts: use tuples or arrays"),
    ast.Set: Finding("set-in-kernel", "kernels have no sets: use tuples or arrays"),
    ast.JoinedStr: _STRING,
    ast.Yield: Finding("yield-or-await", "kernels cannot yield or await"),
    ast.YieldFrom: Finding("yield-or-await", "kernels cannot yield or await"),
    ast.Await: Finding("yield-or-await", "kernels cannot yield or await"),
    ast.Try: Finding("try-in-kernel", "kernels have no try: a device catches no exceptions"),
    ast.TryStar: Finding("try-in-kernel", "kernels have no try: a device catches no exceptions"),
    ast.With: Finding("with-in-kernel", "kernels have no with statement: enter the context around the launch"),
    ast.AsyncWith: Finding("with-in-kernel", "kernels have no with statement: enter the context around the launch"),
    ast.AsyncFor: Finding("yield-or-await", "kernels cannot yield or await"),
    ast.AsyncFunctionDef: Finding("yield-or-await", "kernels cannot yield or await"),
    ast.Import: Finding("import-in-kernel", "a kernel cannot import: move the import out of the kernel"),
    ast.ImportFrom: Finding("import-in-kernel", "a kernel cannot import: move the import out of the kernel"),
    ast.ClassDef: Finding("class-in-kernel", "a kernel cannot define a class: define it outside"),
    ast.Nonlocal: Finding(
        "outer-variable-changed", "a local function cannot assign a variable of the kernel: return the value"
    ),
    ast.Delete: Finding("del-in-kernel", "kernels have no del: leave it out"),
}
_REFUSED |= dict.fromkeys(
    (ast.MatchSequence, ast.MatchMapping, ast.MatchClass, ast.MatchStar, ast.MatchSingleton), PATTERN_OF_MATCH
)
if sys.version_info >= (3, 12):
    _REFUSED[ast.TypeAlias] = Finding("type-in-kernel", "a kernel cannot define a type: define it outside")
_PROPERTIES = frozenset(
    {"T", "dimensions", "imag", "itemsize", "leader", "nbytes", "ndim", "real", "shape", "size", "strides"}
)
"""Attributes of groups, arrays and numbers that are no methods; SYCL has some of them as methods."""
INSTEAD_OF_OPERATORS = {
    "is": "==",
    "is not": "!=",
    "@": "a loop that adds up the products of elements, or multiply outside of the kernel",
}
"""The alternatives to operators that kernels lack, in both worlds."""
_LACKING: dict[type[ast.AST], str] = {
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.MatMult: "@",
}
_MADE_BY: dict[str, Finding | None] = {
    **dict.fromkeys(("list", "sorted"), _LIST),
    "dict": Finding("dict-in-kernel", "kernels have no dicts: use tuples or arrays"),
    **dict.fromkeys(("set", "frozenset"), Finding("set-in-kernel", "kernels have no sets: use tuples or arrays")),
    **dict.fromkeys(("str", "repr", "format", "bytes", "bytearray", "chr", "input"), _STRING),
    **dict.fromkeys(("open", "eval", "exec", "compile", "globals", "locals", "setattr", "super"), None),
}
_MADE_BY["getattr"] = Finding(
    "function-unknown",
    "getattr() must be given an object and a constant name, a text or a variable from outside that holds one: write "
    "getattr(x, 'name')",
)
_FREE = ("print", "breakpoint")
"""Calls that a kernel may make in the simulator only, whatever they are given."""


def find_problems(tree: ast.FunctionDef, function: Callable[..., Any], is_kernel: bool) -> list[KernelProblem]:
    """Return what a kernel, or a function that it calls, may not contain, in the order of the lines.

    Parameters
    ----------
    tree : ast.FunctionDef
        The source as written.
    function : function
        Whose globals and closure the names are looked up in.
    is_kernel : bool
        Whether it must return nothing.
    """
    tree, _ = write_out_attributes(tree, function)
    finder = _Finder(function, bound_names(tree))
    is_starred = tree.args.vararg is not None or tree.args.kwarg is not None
    if is_kernel:
        finder.find_returns(tree)
        if is_starred or tree.args.kwonlyargs:
            finder.found.append((function.__code__.co_firstlineno, PARAMETERS_OF_KERNEL))
    elif is_starred:
        finder.found.append((function.__code__.co_firstlineno, PARAMETERS_OF_FUNCTION))
    for statement in tree.body:
        finder.visit(statement)
    lines = {line for line, _ in finder.found}
    finder.found += [each for each in misplaced_functions(tree, function) if each[0] not in lines]
    found = sorted(set(finder.found))
    return [finding.at(function.__code__.co_filename, line) for line, finding in found]


class _Finder(ast.NodeVisitor):
    def __init__(self, function: Callable[..., Any], local: set[str]) -> None:
        self._function = function
        self._local = local
        self._local_functions: set[str] = set()
        self._global: dict[str, ast.Global] = {}
        self.found: list[tuple[int, Finding]] = []

    def _add(self, node: ast.AST, code: str, text: str) -> None:
        self._describe(node, Finding(code, text))

    def _describe(self, node: ast.AST, finding: Finding) -> None:
        self.found.append((getattr(node, "lineno", 0), finding))

    def find_returns(self, tree: ast.FunctionDef) -> None:
        pending: list[ast.AST] = list(tree.body)
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):
                continue
            if isinstance(node, ast.Return) and not (
                node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
            ):
                self._add(node, "return-value", "a kernel cannot return a value: write it to an array")
            pending.extend(ast.iter_child_nodes(node))

    def visit(self, node: ast.AST) -> None:
        finding = _REFUSED.get(type(node))
        if finding is not None and not (isinstance(node, ast.MatchSingleton) and node.value is None):
            self._describe(node, finding)
            # What such a construct holds is no mistake of its own, but a block's statements may be.
            for statement in (*getattr(node, "body", ()), *getattr(node, "finalbody", ())):
                if isinstance(statement, ast.stmt) and not isinstance(node, ast.ClassDef):
                    self.visit(statement)
            return
        super().visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self._global |= dict.fromkeys(node.names, node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """The simulator's own: its text may be anything."""

    def visit_Assert(self, node: ast.Assert) -> None:
        self.visit(node.test)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._local_functions.add(node.name)
        self._local_function(node, node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._local_function(node, [node.body])

    def _local_function(self, node: ast.FunctionDef | ast.Lambda, body: list[Any]) -> None:
        if node.args.vararg is not None or node.args.kwarg is not None or node.args.kwonlyargs:
            self._describe(node, PARAMETERS_OF_LOCAL)
        if getattr(node, "type_params", []):  # since Python 3.12
            self._add(
                node, "type-parameters", "a local function in a kernel cannot have type parameters: leave them out"
            )
        for default in node.args.defaults:
            self.visit(default)
        outer, self._local = self._local, self._local | bound_names(node)
        for part in body:
            self.visit(part)
        self._local = outer

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._named(node, (node.id,))
        elif node.id in self._global:
            declared = self._global[node.id]
            self._add(declared, "global-changed", "a kernel cannot assign a global variable: write to an array")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.visit(node.value)
            return
        path = dotted_path(node)
        if path is None or path[0] in self._local:
            self.visit(node.value)
        else:
            self._named(node, path)

    def _named(self, node: ast.expr, path: tuple[str, ...]) -> None:
        """Check what is taken from outside: the constant that a path of names leads to."""
        name, *attributes = path
        if name in self._local:
            return
        value = resolve(self._function, (name,))
        if value is MISSING:
            if name not in self._function.__code__.co_freevars:  # a variable that is not set yet
                self._add(node, "name-undefined", f"name {name!r} is not defined{hint(path)}")
            return
        rest = list(attributes)
        for attribute in attributes:
            if isinstance(value, type) and issubclass(value, enum.Enum):
                if attribute not in value.__members__:
                    self._add(node, "no-enum-member", f"{value.__name__} has no {attribute!r} in a kernel")
                return
            if not has_constants(value):
                break  # a number, a tuple or a type, which has attributes of its own
            rest.pop(0)
            owner, value = value, attribute_of(value, attribute)
            spelled = owner.__name__ if hasattr(owner, "__name__") else type(owner).__name__
            if value is MISSING and isinstance(owner, ModuleType):
                meant = hint((*spelled.split("."), attribute, *rest))
                self._add(node, "module-attribute", f"module {spelled} has no {attribute!r} in a kernel{meant}")
                return
            if value is MISSING:
                self._describe(node, no_constant(spelled, attribute))
                return
            name = f"{spelled}.{attribute}"
        if not is_kernel_value(value):
            found = describe_value(value)
            is_kernel = found.code == "kernel-in-kernel"  # the program's own, whatever its name is elsewhere
            meant = "" if is_kernel else hint((*name.split("."), *rest)) or hint(path)
            said = found.text.partition(":")[0] if meant else found.text
            self._add(node, found.code, f"{name} {said}{meant}")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_List(self, node: ast.List) -> None:
        if isinstance(node.ctx, ast.Load):
            self._describe(node, _LIST)
        else:
            self.generic_visit(node)

    def visit_Starred(self, node: ast.Starred) -> None:
        if isinstance(node.ctx, ast.Store):
            self._add(node, "starred-name", "a kernel cannot assign a starred name: name each value")
        else:
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and names_dtype(node.value):
            self._add(
                node,
                "dtype-as-text",
                f"dtype must be a NumPy type in a kernel, got a string: write np.{node.value}",
            )
        elif isinstance(node.value, (str, bytes)):
            self._describe(node, _STRING)
        elif node.value is Ellipsis:
            self._add(node, "ellipsis", f"constant Ellipsis {describe_value(...).text}")
        elif type(node.value) is int and not -(2**63) <= node.value < 2**64:
            self._add(node, "integer-too-wide", f"a constant must fit 64 bits, got {short_repr(node.value)}")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        kind = self._enumeration(node.value)
        if kind is not None:
            self._add(node, "outside-text", f"members of {kind.__name__} have no texts in a kernel: write their names")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            if isinstance(part, ast.Constant) and part.value is None:
                self._add(node, "index-type", "index must be made of integers, got None")
            elif not _is_text(part):  # the name of a field; where it is none, that is told with the array
                self.visit(part)

    def visit_Compare(self, node: ast.Compare) -> None:
        is_of_none = any(
            isinstance(each, ast.Constant) and each.value is None for each in (node.left, *node.comparators)
        )
        for operation in node.ops:
            if not (is_of_none and isinstance(operation, (ast.Is, ast.IsNot))):
                self._operator(node, operation)
        self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp) -> None:
        """Look at what Python compiles: of branches that a literal decides, one."""
        branches: list[Any] = [node.body, node.orelse]
        if isinstance(node.test, ast.Constant):
            del branches[bool(node.test.value)]
        self.visit(node.test)
        for each in branches:
            for part in each if isinstance(each, list) else [each]:
                self.visit(part)

    visit_IfExp = visit_If

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._operator(node, node.op)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._operator(node, node.op)
        self.generic_visit(node)

    def _operator(self, node: ast.AST, operation: ast.AST) -> None:
        sign = _LACKING.get(type(operation))
        if sign is not None:
            hint = f"; write {INSTEAD_OF_OPERATORS[sign]}" if sign in INSTEAD_OF_OPERATORS else ""
            self._add(node, "operator-unknown", f"kernels do not have operator {sign}{hint}")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name and name not in self._local and hasattr(builtins, name):
            if resolve(self._function, (name,)) is getattr(builtins, name):
                if name in _FREE:
                    return
                if name in _MADE_BY:
                    unknown = Finding("function-unknown", f"{name} is not a function that kernels can call")
                    self._describe(node, _MADE_BY[name] or unknown)
                    return
                self._builtin(node, name)
        if self._is_number_of_text(node):
            return
        path = dotted_path(node.func) if node.keywords else None
        named = named_arguments(node, resolve(self._function, path)) if path and path[0] not in self._local else None
        if named is not None:
            self._describe(node, named)
        if name in self._local_functions and any(isinstance(each, ast.Starred) for each in node.args):
            self._add(
                node,
                "local-function-call",
                f"{name}(), a local function, must be given its arguments one by one, got *",
            )
        kind = self._enumeration(node.func)
        if kind is not None:
            self._add(
                node,
                "call-arguments",
                f"{kind.__name__}() cannot be called in a kernel: compare numbers with its members",
            )
        if isinstance(node.func, ast.Attribute) and node.func.attr in _PROPERTIES and not (node.args or node.keywords):
            owner = dotted_path(node.func.value)
            if owner is None or owner[0] in self._local or resolve(self._function, owner) is MISSING:
                self._add(
                    node,
                    "called-value",
                    f"{node.func.attr} is a property: write `{ast.unparse(node.func)}` without parentheses",
                )
                return
        before = len(self.found)
        self.visit(node.func)
        if len(self.found) > before:
            return  # what it is given matters no more
        takes_field = resolve(self._function, dotted_path(node.func) or ("",)) is AtomicRef
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if not (takes_field and _is_text(argument)):
                self.visit(argument)

    def _enumeration(self, node: ast.expr) -> type[enum.Enum] | None:
        """The enumeration that an expression names; None if it names none."""
        path = dotted_path(node)
        found = resolve(self._function, path) if path is not None and path[0] not in self._local else None
        return found if isinstance(found, type) and issubclass(found, enum.Enum) else None

    def _builtin(self, node: ast.Call, name: str) -> None:
        """Check how a function of Python's own is called."""
        named = named_arguments(node, getattr(builtins, name), name)
        if named is not None:
            self._describe(node, named)
        if name == "pow" and len(node.args) > 2:
            self._add(
                node,
                "call-arguments",
                "pow() takes two arguments in a kernel, got three: write a loop",
            )

    def _is_number_of_text(self, node: ast.Call) -> bool:
        """Whether this is `float("inf")` or the like, which is a constant; `numpy.float32()` is a problem."""
        path = dotted_path(node.func)
        if len(node.args) > 1 or node.keywords or path is None or path[0] in self._local:
            return False
        made = resolve(self._function, path)
        if not node.args:
            if isinstance(made, type) and issubclass(made, np.generic):
                self._add(
                    node,
                    "call-arguments",
                    f"numpy.{made.__name__}() does not take these arguments in a kernel: ()",
                )
            return False
        text = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        if not isinstance(text, str) or not (
            isinstance(made, type) and (made is float or issubclass(made, np.floating))
        ):
            return False
        try:
            made(text)
        except ValueError:
            self._add(node, "number-text", f"{made.__name__}({text!r}) must be given the text of a number in a kernel")
        return True


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def no_constant(owner: str, attribute: str) -> Finding:
    """Describe an attribute that no kernel can take."""
    return Finding(
        "computed-attribute",
        f"{owner}.{attribute} is not a constant, so a kernel cannot read it. A property or method is Python code: "
        "take its value outside of the kernel",
    )
