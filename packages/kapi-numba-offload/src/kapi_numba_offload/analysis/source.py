"""Syntax of a function: parsed from its source, or decompiled from its bytecode where there is none.

Offload reads syntax rather than Numba's IR, which has lost names and lines: a loop's kernel is compiled, cached and
explained as a user function file.
"""

from __future__ import annotations

import ast
import inspect
import operator
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from kapi_numba_offload._numba_compat import ir, run_frontend
from kapi_numba_offload.analysis.syntax import indices_of
from kapi_numba_offload.libraries.entry import NOT_USER_CODE
from kapi_sim.errors import KernelCompilationError

__all__ = ["definition_from_ir", "function_definition", "parsed_function", "user_function"]


def user_function(value: Any) -> FunctionType | None:
    """The Python function of a value, if that is the user's, compiled by Numba or not; None for anything else."""
    function = getattr(value, "py_func", value)
    is_own = isinstance(function, FunctionType) and (function.__module__ or "").partition(".")[0] not in NOT_USER_CODE
    return function if is_own else None


def function_definition(function: Callable[..., Any], func_ir: Any) -> ast.FunctionDef:
    """The definition of `function`, its line numbers those of the file.

    - `function`: defined by `def` or `lambda`.
    - `func_ir`: Numba's IR of it, for a function without source.

    Raises `KernelCompilationError` if there is no source and the function has branches.
    """
    return parsed_function(function) or definition_from_ir(function, func_ir)


def parsed_function(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The definition of a function, parsed from its source; None if it has none."""
    try:
        lines, first = inspect.getsourcelines(function.__code__)
    except (OSError, TypeError):
        return None
    text = textwrap.dedent("".join(lines))
    found = _parsed(text, function.__code__)
    if found is None:
        return None
    ast.increment_lineno(found, first - 1)
    found.decorator_list = []
    found.returns = None
    for argument in ast.walk(found.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return found


def _parsed(text: str, code: CodeType) -> ast.FunctionDef | None:
    """The definition in `text` that compiles to `code`, None if there is none."""
    tree = _parse(text)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            return node
        if isinstance(node, ast.Lambda) and _is_code_of(node, code):
            returned = ast.copy_location(ast.Return(node.body), node.body)
            definition = ast.parse("def f(): pass").body[0]
            assert isinstance(definition, ast.FunctionDef)
            definition.name, definition.args, definition.body = "lambda_", node.args, [returned]
            return ast.copy_location(definition, node)
    return None


def _parse(text: str) -> ast.Module | None:
    # The lines of a lambda may be the inner part of a statement: brackets around them make it one.
    for attempt in (text, f"({text.strip().rstrip(',')})", f"({text.strip().rstrip(',')}", text[: text.rfind(")")]):
        try:
            return ast.parse(attempt)
        except SyntaxError:
            continue
    start = text.find("lambda")
    for end in range(len(text), start, -1) if start >= 0 else ():
        try:
            return ast.parse(f"({text[start:end]})")
        except SyntaxError:
            continue
    return None


def _is_code_of(node: ast.Lambda, code: CodeType) -> bool:
    """Whether the lambda compiles to `code`, its closure made of the same names."""
    outer = ast.parse(f"def outer({', '.join(code.co_freevars)}): return None").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body[0] = ast.Return(node)
    compiled = compile(ast.fix_missing_locations(ast.Module([outer], [])), "<lambda>", "exec")
    (function,) = (each for each in compiled.co_consts if isinstance(each, CodeType))
    own = [each for each in function.co_consts if isinstance(each, CodeType)][-1]
    same = ("co_code", "co_varnames", "co_names", "co_freevars")
    constants, own_constants = (
        [each for each in one.co_consts if not isinstance(each, CodeType)] for one in (code, own)
    )
    return all(getattr(own, name) == getattr(code, name) for name in same) and own_constants == constants


_SYMBOLS = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>", operator.matmul: "@", operator.eq: "==", operator.ne: "!=",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.neg: "-", operator.pos: "+",
    operator.invert: "~", operator.not_: "not ",
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=", operator.ifloordiv: "//=",
    operator.imod: "%=", operator.ipow: "**=", operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=",
}  # fmt: skip


def definition_from_ir(function: Callable[..., Any], func_ir: Any) -> ast.FunctionDef:
    """A definition that does what the bytecode of `function` does.

    - `function`: one whose source is not to be found, as after ``exec`` or in ``python -c``.
    - `func_ir`: Numba's IR of it.

    Raises `KernelCompilationError` if the function has branches or loops.
    """
    code = function.__code__
    if func_ir is None:
        func_ir = run_frontend(function)
    if len(func_ir.blocks) != 1:
        raise KernelCompilationError(
            f"function {function.__name__} must have its source in a file to be offloaded, since it has branches or "
            f"loops, got none at {code.co_filename}:{code.co_firstlineno}: define it in a module or notebook",
            code="offload-needs-source",
        )
    (block,) = func_ir.blocks.values()
    parameters = [f"{'*' if each.kind is each.VAR_POSITIONAL else ''}{each.name}"
                  for each in inspect.signature(function).parameters.values()]  # fmt: skip
    lines = _Lines()
    for statement in block.body:
        lines.add(statement)
    body = "".join(f"    {line}\n" for line in lines.texts)
    name = function.__name__ if function.__name__.isidentifier() else "lambda_"
    definition = ast.parse(f"def {name}({', '.join(parameters)}):\n{body}").body[0]
    assert isinstance(definition, ast.FunctionDef)
    for node in ast.walk(definition):
        if isinstance(node, ast.Subscript):
            parts = indices_of(node)
            sliced = [_as_slice(each) for each in parts]
            node.slice = ast.Tuple(sliced, ast.Load()) if isinstance(node.slice, ast.Tuple) else sliced[0]
    for node in ast.walk(definition):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = code.co_firstlineno
    return ast.fix_missing_locations(definition)


def _as_slice(node: ast.expr) -> ast.expr:
    """`slice(1, None)` as it is written in an index."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "slice" or len(node.args) < 2:
        return node
    bounds = [None if isinstance(each, ast.Constant) and each.value is None else each for each in node.args]
    return ast.Slice(*bounds)


class _Lines:
    """The lines of the definition; expressions used once stand where they are used."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._values: dict[str, str] = {}

    def add(self, statement: Any) -> None:
        if isinstance(statement, ir.Assign):
            value = self._value(statement.value)
            name = statement.target.name
            if name.startswith("$") and not self._has_effect(statement.value):
                self._values[name] = value
            else:
                spelled = self._name(statement.target)
                if spelled != value:
                    self.texts.append(f"{spelled} = {value}")
        elif isinstance(statement, ir.Return):
            self.texts.append(f"return {self._name(statement.value)}")
        elif isinstance(statement, ir.SetItem):
            target, index = self._name(statement.target), self._name(statement.index)
            self.texts.append(f"{target}[{index}] = {self._name(statement.value)}")
        elif isinstance(statement, ir.StaticSetItem):
            target, index = self._name(statement.target), self._name(statement.index_var)
            self.texts.append(f"{target}[{index}] = {self._name(statement.value)}")
        elif not isinstance(statement, ir.Del):
            raise _unknown(type(statement).__name__, statement)

    def _has_effect(self, value: Any) -> bool:
        if isinstance(value, ir.Expr) and value.op == "call":
            return self._name(value.func) != "slice"  # `a[1:]` in bytecode
        return isinstance(value, ir.Expr) and value.op == "inplace_binop"

    def _name(self, variable: Any) -> str:
        known = self._values.get(variable.name)
        if known is not None:
            return known
        return str(variable.name).replace("$", "_t").replace(".", "_")

    def _value(self, value: Any) -> str:
        if isinstance(value, ir.Var):
            return self._name(value)
        if isinstance(value, ir.Arg):
            return str(value.name)
        if isinstance(value, (ir.Global, ir.FreeVar)):
            return str(value.name)
        if isinstance(value, ir.Const):
            return f"slice{value.value.start, value.value.stop, value.value.step}" if isinstance(
                value.value, slice) else repr(value.value)  # fmt: skip
        return self._expression(value)

    def _expression(self, value: Any) -> str:
        if value.op == "binop":
            return f"({self._name(value.lhs)} {_SYMBOLS[value.fn]} {self._name(value.rhs)})"
        if value.op == "inplace_binop":
            # A statement of its own; what it is assigned to afterwards is the same object.
            self.texts.append(f"{self._name(value.lhs)} {_SYMBOLS[value.fn]} {self._name(value.rhs)}")
            return self._name(value.lhs)
        if value.op == "unary":
            return f"({_SYMBOLS[value.fn]}{self._name(value.value)})"
        if value.op == "cast":
            return self._name(value.value)
        if value.op == "getattr":
            return f"{self._name(value.value)}.{value.attr}"
        if value.op == "call":
            args = [self._name(each) for each in value.args]
            args += [f"{name}={self._name(each)}" for name, each in value.kws]
            args += [f"*{self._name(value.vararg)}"] if value.vararg is not None else []
            return f"{self._name(value.func)}({', '.join(args)})"
        if value.op == "build_tuple":
            return f"({''.join(f'{self._name(each)}, ' for each in value.items)})"
        if value.op == "build_list":
            return f"[{', '.join(map(self._name, value.items))}]"
        if value.op == "getitem":
            return f"{self._name(value.value)}[{self._name(value.index)}]"
        if value.op == "static_getitem":
            index = self._name(value.index_var) if value.index_var is not None else repr(value.index)
            return f"{self._name(value.value)}[{index}]"
        raise _unknown(value.op, value)


def _unknown(what: str, where: Any) -> KernelCompilationError:
    return KernelCompilationError(
        f"a function without source must be made of expressions and assignments to be offloaded, got {what} at "
        f"{where.loc.filename}:{where.loc.line}: define it in a module or notebook",
        code="offload-needs-source",
    )
