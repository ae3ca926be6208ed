"""The source of a function, as a tree whose lines are those of the user's file."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import or_
from types import CodeType
from typing import Any

__all__ = [
    "FUTURE_FLAGS",
    "Site",
    "is_users_own",
    "line_of",
    "located_at",
    "parse_code",
    "parse_function",
    "place_of",
    "site_of",
]

FUTURE_FLAGS = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
"""The bits of ``co_flags`` that stand for ``from __future__`` imports."""


def parse_function(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return the tree of `function`, or `None` where its source cannot be had.

    Line and column numbers are those of the file.
    """
    return parse_code(function.__code__)


def parse_code(code: CodeType) -> ast.FunctionDef | None:
    """Return the tree of the function of this code, or of what it was rewritten to; else `None`."""
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return None
    source = "".join(lines)
    # An indented definition is put below an `if`, so that its columns stay as they are.
    is_indented = source[:1] in (" ", "\t")
    try:
        tree = ast.parse(f"if 1:\n{source}" if is_indented else source)
    except SyntaxError:
        try:
            tree, is_indented = ast.parse(textwrap.dedent(source)), False
        except SyntaxError:
            return None
    ast.increment_lineno(tree, first - 1 - is_indented)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
            # A file edited since its import shows another function here.
            return node if tuple(names) == code.co_varnames[: code.co_argcount] else None
    return None


@dataclass(frozen=True, slots=True)
class Site:
    """A line of source.

    Attributes
    ----------
    file : str
        Path as the code object has it.
    line : int
        Counted from 1.
    """

    file: str
    line: int

    @property
    def text(self) -> str:
        """The line without indentation; empty where the source cannot be had."""
        return linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        name = self.file.replace("\\", "/").rpartition("/")[2]
        return f"{name}:{self.line}: `{self.text}`" if self.text else f"{name}:{self.line}"


def is_users_own(module: str) -> bool:
    """Tell whether a module of this name is neither the simulator's nor NumPy's."""
    return module.partition(".")[0] not in ("kapi_sim", "numpy") or module.startswith("kapi_sim.testing.")


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of the instruction at this offset, in bytes, of `code`."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def place_of(code: CodeType, instruction: int) -> object:
    """Return what tells the expression of an instruction from others: where it starts and ends in the source."""
    return next(islice(code.co_positions(), instruction // 2, None), instruction)


def located_at(error: Exception, code: CodeType, instruction: int) -> Exception:
    """Return `error` with a traceback that ends at this instruction of `code`, as if it had been raised there.

    What is found at the end of a phase belongs to a line that is no longer running.
    """
    line = line_of(code, instruction)
    raising = compile("\n" * (line - 1) + "raise _kapi_error", code.co_filename, "exec")
    try:
        exec(raising.replace(co_name=code.co_name), {"_kapi_error": error})
    except type(error) as raised:
        traceback = raised.__traceback__
        return raised.with_traceback(None if traceback is None else traceback.tb_next)
    return error


def site_of(code: CodeType, instruction: int) -> Site:
    """Return where in the source the instruction at this offset, in bytes, of `code` stands."""
    return Site(code.co_filename, line_of(code, instruction))
