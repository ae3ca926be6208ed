"""The source of a function, as a tree whose lines are those of the user's file."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from operator import or_
from types import CodeType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from kapi_sim.tracebacks import file_name

__all__ = [
    "ADDED_ITEM",
    "FUTURE_FLAGS",
    "SourceLocation",
    "harmless_reason",
    "is_source_of",
    "line_of",
    "located_at",
    "located_source",
    "parse_code",
    "parse_function",
    "expression_span",
    "remember_source",
    "remember_tree",
    "source_location",
]

FUTURE_FLAGS = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
"""The bits of ``co_flags`` that stand for ``from __future__`` imports."""

ADDED_ITEM = "_kapi_item"
"""The work-item, as a parameter of a kernel that is written without one."""

_HARMLESS = re.compile(r"#\s*kapi: harmless, *(\S.*)")

_LOADERS = ("_frozen_importlib", "_frozen_importlib_external", "zipimport")
"""The modules of Python's own loaders, which compile a file as it is."""


def parse_function(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return the tree of `function`, or `None` where its source cannot be had.

    Line and column numbers are those of the file.
    """
    return parse_code(function.__code__)


_remembered: WeakKeyDictionary[CodeType, list[str]] = WeakKeyDictionary()


def remember_source(function: Callable[..., Any]) -> None:
    """Keep the lines of a function's file as they are now, when it is made: the file may be edited afterwards."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if lines:
        _remembered[code] = lines  # one list for all functions of the file


_trees: WeakKeyDictionary[CodeType, ast.FunctionDef] = WeakKeyDictionary()


def remember_tree(function: Callable[..., Any], tree: ast.FunctionDef) -> None:
    """Keep the tree that a function was made of, for one that no file has."""
    _trees[function.__code__] = copy.deepcopy(tree)


def _lines_of(code: CodeType) -> tuple[list[str], int]:
    """The lines of a function, and the number of the first; OSError or TypeError where they cannot be had."""
    lines = _remembered.get(code)
    if lines is None:
        return inspect.getsourcelines(code)
    return inspect.getblock(lines[code.co_firstlineno - 1 :]), code.co_firstlineno


def is_source_of(tree: ast.FunctionDef, function: Callable[..., Any]) -> bool:
    """Return whether a tree compiles to the function's code, wherever in its file it stands.

    What is rewritten as it is imported, as pytest does with asserts, has no source that does: it passes.
    """
    code = function.__code__
    loader = getattr(function.__globals__.get("__spec__"), "loader", None) or function.__globals__.get("__loader__")
    if loader is not None and type(loader).__module__.partition(".")[0] not in _LOADERS:
        return True
    names = {name for name in _names(code) if isinstance(function.__globals__.get(name), ModuleType)}
    # How a method of a global is called depends on whether the file imports the global: most are guessed right.
    return any(_is_made_of(tree, code, imported) for imported in (names, set())) or _is_made_of(
        tree, code, _imported(code)
    )


def _is_made_of(tree: ast.FunctionDef, code: CodeType, imported: set[str]) -> bool:
    """Whether a function's tree, in a module that imports these names, compiles to this code."""
    given = tree.args
    args = ast.arguments(
        posonlyargs=[ast.arg(arg=each.arg) for each in given.posonlyargs],
        args=[ast.arg(arg=each.arg) for each in given.args],
        vararg=given.vararg and ast.arg(arg=given.vararg.arg),
        kwonlyargs=[ast.arg(arg=each.arg) for each in given.kwonlyargs],
        kw_defaults=[None for _ in given.kwonlyargs],
        kwarg=given.kwarg and ast.arg(arg=given.kwarg.arg),
        defaults=[],
    )
    free = [ast.arg(arg=name) for name in code.co_freevars]
    scope = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    body = ast.FunctionDef(name=tree.name, args=args, body=tree.body, decorator_list=[])
    own = [] if tree.name in code.co_freevars else [ast.Global(names=[tree.name])]
    around = ast.FunctionDef(name="_kapi_around", args=scope, body=[*own, body], decorator_list=[])
    for each in (body, around):
        setattr(each, "type_params", [])  # noqa: B010  # a field of its own since Python 3.12
        ast.copy_location(each, tree)
    imports: list[ast.stmt] = [ast.Import(names=[ast.alias(name=name)]) for name in sorted(imported)]
    for statement in imports:
        ast.copy_location(statement, tree)
    module = ast.fix_missing_locations(ast.Module(body=[*imports, around], type_ignores=[]))
    try:
        flags = code.co_flags & FUTURE_FLAGS
        made = compile(module, code.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    inner = next(each for each in made.co_consts if isinstance(each, CodeType))
    return any(_is_same(each, code) for each in inner.co_consts if isinstance(each, CodeType))


def _imported(code: CodeType) -> set[str]:
    """The names that the file of a function imports for all of its functions."""
    try:
        lines = _remembered.get(code) or linecache.getlines(code.co_filename)
        pending: list[ast.AST] = [ast.parse("".join(lines))]
    except (SyntaxError, ValueError):
        return set()
    names = set()
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return names & _names(code)


def _names(code: CodeType) -> set[str]:
    """All names in a code and in the codes within it; a variable counts that has the name of something imported."""
    own = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return own.union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _is_same(made: CodeType, given: CodeType) -> bool:
    """Whether two codes do the same; where they stand does not count, nor a private name's class."""
    if made.co_code != given.co_code or len(made.co_consts) != len(given.co_consts):
        return False
    for names in ("co_names", "co_varnames", "co_freevars", "co_cellvars"):
        if list(map(_unmangled, getattr(made, names))) != list(map(_unmangled, getattr(given, names))):
            return False
    return all(
        _is_same(one, other)
        if isinstance(one, CodeType) and isinstance(other, CodeType)
        else type(one) is type(other) and _spelled(one) == _spelled(other)
        for one, other in zip(made.co_consts, given.co_consts, strict=True)
    )


def _spelled(constant: object) -> object:
    # The order of a set's members is each object's own.
    return sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)


def _unmangled(name: str) -> str:
    return re.sub(r"^_[^_]\w*?(?=__)", "", name)


def parse_code(code: CodeType) -> ast.FunctionDef | None:
    """Return the tree of the function of this code, or of what it was rewritten to; else `None`."""
    if code in _trees:
        return copy.deepcopy(_trees[code])
    try:
        lines, first = _lines_of(code)
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
            # A file edited since its import shows another function here; a work-item may have been added to it.
            given = [name for name in code.co_varnames[: code.co_argcount] if name != ADDED_ITEM]
            node.decorator_list = []  # they ran when the function was defined, and are no code of a work-item
            return node if names == given else None
    return None


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A location in the source: a line of a file.

    Attributes
    ----------
    filename : str
        Path as the code object has it.
    line : int
        Counted from 1.
    """

    filename: str
    line: int

    @property
    def source(self) -> str:
        """The line without indentation; empty where the source cannot be had."""
        return linecache.getline(self.filename, self.line).strip()

    @property
    def short(self) -> str:
        """File and line as they are spelled: ``kernels.py:12``, in a notebook ``Cell In[3], line 12``."""
        name = file_name(self.filename)
        return f"{name}, line {self.line}" if name.startswith("Cell ") else f"{name}:{self.line}"

    def __str__(self) -> str:
        return f"{self.short}: `{self.source}`" if self.source else self.short


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of the instruction at this offset, in bytes, of `code`."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def expression_span(code: CodeType, instruction: int) -> object:
    """Return the first and last line and column of an instruction's expression, which no other expression has."""
    return next(islice(code.co_positions(), instruction // 2, None), instruction)


def located_source(code: CodeType, span: tuple[int | None, int | None, int | None, int | None] | None) -> str:
    """Return the text of an expression; empty where it is not on one line, or the source cannot be had.

    Parameters
    ----------
    code : CodeType
        Of the function.
    span : tuple or None
        First and last line, first and last column, as `co_positions` has them.
    """
    if span is None or span[0] is None or span[0] != span[1]:
        return ""
    # Columns are counted in bytes.
    return _line_of_source(code, span[0]).encode()[span[2] : span[3]].decode()


def _line_of_source(code: CodeType, line: int) -> str:
    """Return one line of the file of a function; empty if it cannot be had."""
    lines = _remembered.get(code) or linecache.getlines(code.co_filename)
    return lines[line - 1] if len(lines) >= line > 0 else ""


_RAISE = len("raise ")


def located_at(error: Exception, code: CodeType, instruction: int) -> Exception:
    """Return `error` with a traceback that ends at this instruction of `code`, as if it had been raised there.

    What is found at the end of a phase belongs to a line that is no longer running.
    """
    line = line_of(code, instruction)
    # Lines of code are counted from its first one, and pytest shows what stands between the two.
    first = min(code.co_firstlineno, line)
    name, text = "_kapi_error", "\n" * (line - first) + "raise _kapi_error"
    location = next(islice(code.co_positions(), instruction // 2, None), None)
    written = _line_of_source(code, line)
    start, end = len(written) - len(written.lstrip()), len(written.rstrip())
    if location is not None and location[0] == location[1] == line:
        columns = location[2] or 0, location[3] or 0
        if columns[1] - columns[0] > _RAISE:
            start, end = columns
    if start > 0 and end - start > _RAISE and line > first:
        # Python underlines the columns of what raised: those of the instruction; of a short one the line, unmarked.
        name = "_" * (end - start - _RAISE)
        text = "\n" * (line - first - 1) + f"if 1:\n{' ' * start}raise {name}"
    raising = compile(text, code.co_filename, "exec")
    try:
        exec(raising.replace(co_name=code.co_name, co_firstlineno=first), {name: error})
    except type(error) as raised:
        traceback = raised.__traceback__
        return raised.with_traceback(None if traceback is None else traceback.tb_next)
    return error


def harmless_reason(code: CodeType, instruction: int) -> str:
    """Return why the author calls a race here harmless, in a comment at the line or above; empty if none does.

    ``flag[0] = 1  # kapi: harmless, all store the same flag`` gives one.
    """
    line = line_of(code, instruction)
    above = _line_of_source(code, line - 1).strip()
    for text in (_line_of_source(code, line), above if above.startswith("#") else ""):
        found = _HARMLESS.search(text)
        if found is not None:
            return found.group(1).strip()
    return ""


def source_location(code: CodeType, instruction: int) -> SourceLocation:
    """Return the source location of the instruction at this offset, in bytes, of `code`."""
    return SourceLocation(code.co_filename, line_of(code, instruction))
