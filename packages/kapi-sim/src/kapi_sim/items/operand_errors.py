"""Python's exceptions of operators and functions that refuse their operands, as errors of kapi's with a code."""

from __future__ import annotations

import ast
import dis
import re
from itertools import islice
from types import TracebackType

from kapi_sim.errors import (
    DivisionByZeroError,
    Finding,
    KapiError,
    KernelCompilationError,
    OperandError,
    OutOfBoundsError,
)
from kapi_sim.items.misused_intrinsics import spelled_kind
from kapi_sim.language.source import located_source
from kapi_sim.tracebacks import is_users_own

__all__ = ["error_of_operation"]

_COMPUTING = ("numpy", "kapi_sim.numbers", "kapi_sim.memory")
"""Modules that carry out what a kernel's operators and functions say."""
_RAISES = frozenset(dis.opmap[name] for name in ("RAISE_VARARGS", "RERAISE"))
_OPERANDS = re.compile(r"(?:unsupported operand type\(s\) for|.* not supported between instances of)")
_KIND = re.compile(r"'(?:numpy\.)?(\w+)'(?! not supported)")
_NONE = re.compile(r"'NoneType' object has no attribute '(\w+)'")
_IN_FLOATS = "guard it, or convert an operand to a NumPy float, which gives inf or nan"
_CODES = {
    "exponent of **": "negative-exponent",
    "Integers to negative": "negative-exponent",
    "negative shift count": "negative-shift",
    "range() arg 3": "step-of-zero",
}
_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


def error_of_operation(error: Exception) -> KapiError | None:
    """Return what kapi says of an exception that an operator or function raised.

    Returns None for errors of kapi's, for what the kernel raises itself, and for what no operation raises.
    """
    traceback = None if isinstance(error, KapiError) else _of_computation(error.__traceback__)
    if traceback is None:
        return None
    text, source = str(error), _source(traceback)
    where = f", in `{source}`" if source else ""
    if isinstance(error, ZeroDivisionError):
        said = text if text.startswith("divisor of") else f"{text}{where}: {_IN_FLOATS}"
        return DivisionByZeroError(said, code="division-by-zero")
    if isinstance(error, OverflowError):
        return OperandError(f"{error.args[-1]}{where}: {_IN_FLOATS}", code="float-out-of-range")
    kind = text.partition(" ")[0]
    if isinstance(error, IndexError) and text.endswith("index out of range") and kind in ("tuple", "range"):
        return OutOfBoundsError(f"index of a {kind} is out of its range{where}", code="index-out-of-bounds")
    if isinstance(error, ValueError):
        if "values to unpack" in text:
            return KernelCompilationError(f"a tuple has another number of members: {text}", code="unpacking")
        code = next((code for begin, code in _CODES.items() if text.startswith(begin)), "operand-value")
        return OperandError(text if code == "negative-exponent" else f"{text}{where}", code=code)
    none = _NONE.match(text)
    if none is not None:
        return KernelCompilationError(f"None has no {none[1]!r} in a kernel", code="attribute-unknown")
    if isinstance(error, TypeError):
        finding = _refusal(text, source)
        return KernelCompilationError(finding.text, code=finding.code)
    return None


def _refusal(text: str, source: str) -> Finding:
    """Describe an operation that does not take such operands; the compiler refuses it."""
    try:
        node: ast.AST | None = ast.parse(source, mode="eval").body
    except SyntaxError:
        node = None
    where = f", in `{source}`" if source else ""
    if isinstance(node, (ast.BinOp, ast.UnaryOp)) and type(node.op) in _SIGNS:
        sign = _SIGNS[type(node.op)]
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _SIGNS:
        sign = _SIGNS[type(node.ops[0])]
    elif isinstance(node, ast.Compare):
        return Finding("in-array", f"operator in must have a tuple on its right{where}: {text}")
    elif isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        given = ", ".join(map(ast.unparse, (*node.args, *node.keywords)))
        said = f"{function}() does not take these arguments in a kernel: ({given})"
        return Finding("call-arguments", said if text.startswith("'") else f"{said}: {text}")
    else:
        return Finding("operator-operands", f"operation does not have these operands{where}: {text}")
    kinds = _KIND.findall(text) if _OPERANDS.match(text) else []
    if len(kinds) == 2:
        shown = f"{spelled_kind(kinds[0])} {sign} {spelled_kind(kinds[1])}"
        return Finding("operator-operands", f"operator {sign} does not have these operands: {shown}")
    which = "this operand" if isinstance(node, ast.UnaryOp) else "these operands"
    return Finding("operator-operands", f"operator {sign} does not have {which}{where}")


def _of_computation(traceback: TracebackType | None) -> TracebackType | None:
    """The user's last frame of a traceback that ends in a computation, not in a `raise` of the user's."""
    users = last = None
    while traceback is not None:
        last = traceback
        if is_users_own(traceback.tb_frame.f_globals.get("__name__") or ""):
            users = traceback
        traceback = traceback.tb_next
    if users is None or last is None:
        return None
    if users is last:
        return None if last.tb_frame.f_code.co_code[last.tb_lasti] in _RAISES else users
    module = last.tb_frame.f_globals.get("__name__") or ""
    return users if any(module == each or module.startswith(f"{each}.") for each in _COMPUTING) else None


def _source(traceback: TracebackType) -> str:
    code = traceback.tb_frame.f_code
    position = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), None)
    return located_source(code, position).strip()
