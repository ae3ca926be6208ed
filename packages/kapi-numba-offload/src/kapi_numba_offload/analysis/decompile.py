"""The definition of a function without source, written from Numba's IR of its bytecode: for straight-line code only."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable
from typing import Any

from kapi_numba_offload._numba_compat import ir, run_frontend
from kapi_sim.errors import KernelCompilationError

__all__ = ["definition_from_ir"]

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

    Parameters
    ----------
    function : function
        One whose source is not to be found, as after ``exec`` or in ``python -c``.
    func_ir : numba.core.ir.FunctionIR
        Numba's IR of it.

    Raises
    ------
    KernelCompilationError
        If the function has branches or loops.
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
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
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
