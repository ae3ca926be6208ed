"""Constructs of Python that Numba's front end refuses, or overlooks, before type inference."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Sequence
from types import CodeType, FunctionType

from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.language.source import parse_function
from kapi_sim.language.unsupported_syntax import (
    PARAMETERS_OF_FUNCTION,
    PARAMETERS_OF_KERNEL,
    PATTERN_OF_MATCH,
    find_problems,
)
from kapi_types.kernel_typing.problems.problems import FORMAT_IN_TEXT, first_words, without_value

__all__ = ["reported_problems", "problems_of_form", "problems_of_source"]

_OPCODES = {
    "IMPORT_NAME": Finding("import-in-kernel", "a kernel cannot import: move the import out of the kernel"),
    "STORE_GLOBAL": Finding("global-changed", "a kernel cannot assign a global variable: write to an array"),
    "DELETE_GLOBAL": Finding("global-changed", "a kernel cannot assign a global variable: write to an array"),
    "LOAD_BUILD_CLASS": Finding("class-in-kernel", "a kernel cannot define a class: define it outside"),
    "GET_YIELD_FROM_ITER": Finding("yield-or-await", "kernels cannot yield or await"),
    "GET_AWAITABLE": Finding("yield-or-await", "kernels cannot yield or await"),
    "UNPACK_EX": Finding("starred-name", "a kernel cannot assign a starred name: name each value"),
    "CONVERT_VALUE": FORMAT_IN_TEXT,
    "FORMAT_WITH_SPEC": FORMAT_IN_TEXT,
    "DICT_MERGE": Finding("call-star", "a call in a kernel cannot have **: write the arguments out"),
    "MATCH_SEQUENCE": PATTERN_OF_MATCH,
    "MATCH_MAPPING": PATTERN_OF_MATCH,
    "MATCH_CLASS": PATTERN_OF_MATCH,
}
"""Instructions of Python that Numba refuses, and the findings for them."""


_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_COROUTINE_IN_KERNEL = Finding("yield-or-await", "kernels cannot yield or await")
_REWRITTEN = Finding(
    "assert-rewritten",
    "pytest has rewritten an assert of this kernel: define the kernel outside of test modules, or put "
    "PYTEST_DONT_REWRITE into the docstring of this module",
)


def problems_of_form(function: FunctionType, is_kernel: bool = False) -> list[KernelProblem]:
    """Unsupported forms of functions that Numba overlooks: starred parameters, coroutines, `nonlocal`.

    Parameters
    ----------
    function : function
        A kernel, or a function that it calls.
    is_kernel : bool
        Whether it is launched, which gives its arguments by position.
    """
    code = function.__code__
    found = []
    is_starred = bool(code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    if is_kernel and (is_starred or code.co_kwonlyargcount):
        found.append((code.co_firstlineno, PARAMETERS_OF_KERNEL))
    elif is_starred:
        found.append((code.co_firstlineno, PARAMETERS_OF_FUNCTION))
    if code.co_flags & _COROUTINE:
        found.append((code.co_firstlineno, _COROUTINE_IN_KERNEL))
    if "@pytest_ar" in code.co_names:
        found.append((code.co_firstlineno, _REWRITTEN))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_flags & _COROUTINE:
                found.append((inner.co_firstlineno, _COROUTINE_IN_KERNEL))
            found += _assigned_outside(inner)
    return [finding.at(code.co_filename, line) for line, finding in found]


def _assigned_outside(code: CodeType) -> list[tuple[int, Finding]]:
    """Assignments of a local function to variables of the function around it."""
    finding = Finding(
        "outer-variable-changed", "a local function cannot assign a variable of the kernel: return the value"
    )
    line, found = code.co_firstlineno, []
    for instruction in dis.get_instructions(code):
        line = getattr(instruction, "line_number", None) or _line_of(instruction) or line
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in code.co_freevars:
            found.append((line, finding))
    return found


def _line_of(instruction: dis.Instruction) -> int | None:
    starts = instruction.starts_line  # a line before Python 3.13, and since then whether one begins
    return starts if isinstance(starts, int) and not isinstance(starts, bool) else None


def problems_of_source(function: FunctionType, error: Exception) -> list[KernelProblem]:
    """The problems that an error of Numba's stands for.

    Parameters
    ----------
    function : function
        The function that could not be compiled.
    error : Exception
        The exception that Numba raised.
    """
    code = function.__code__
    said = first_words(error)
    line = _line(error, code)
    opcode = re.search(r"unsupported opcode \((\w+)\)", said.text)
    known = _OPCODES.get(opcode.group(1)) if opcode else None
    unset = re.search(r"Variable '(\w+)' is not defined", said.text)
    known = without_value(unset.group(1)) if unset else known
    tree = parse_function(function)
    found = [] if tree is None else find_problems(tree, function, False)
    if found and known is None and (line == code.co_firstlineno or said.code == "numba-cannot"):
        return found
    problem = (known or said).at(code.co_filename, line)
    return [problem, *(each for each in found if each.line != line)]


def reported_problems(function: FunctionType, problems: Sequence[KernelProblem]) -> list[KernelProblem]:
    """The problems of a function, with the simulator's message for each line that has one.

    Parameters
    ----------
    function : function
        The function that could not be compiled.
    problems : sequence of KernelProblem
        Problems, some perhaps of functions that it calls.
    """
    code = function.__code__
    tree = parse_function(function)
    found = [] if tree is None else find_problems(tree, function, False)
    lines = {each.line for each in problems if each.filename == code.co_filename}
    reported = [each for each in found if each.line in lines]
    covered = {(each.filename, each.line) for each in reported}
    return [*reported, *(each for each in problems if (each.filename, each.line) not in covered)]


def _line(error: Exception, code: CodeType) -> int:
    """The line that an error is about; Numba may have it in words only."""
    in_words = re.search(r"Raised from .* \((\d+)\)", str(error))
    if in_words:
        return int(in_words.group(1))
    loc = getattr(error, "loc", None)
    if loc is not None and loc.line != code.co_firstlineno:
        return int(loc.line)
    return _line_of_cause(code) if "Multiple argument raise" in str(error) else code.co_firstlineno


def _line_of_cause(code: CodeType) -> int:
    """The line of the first `raise ... from`."""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = getattr(instruction, "line_number", None) or _line_of(instruction) or line
        if instruction.opname == "RAISE_VARARGS" and instruction.arg == 2:
            return line
    return code.co_firstlineno
