"""A word of kapi's used as what it is not: Python's exceptions, in the words that the compiler has for them."""

from __future__ import annotations

import ast
import inspect
import re
from difflib import get_close_matches
from itertools import islice
from types import FrameType, ModuleType, TracebackType
from typing import Any, TypeGuard, TypeVar

import numpy as np

from kapi_sim.errors import Finding, KapiError
from kapi_sim.items.items import SimGroup, SimItem, SimNdItem, SimSubGroup
from kapi_sim.language.other_systems import hint
from kapi_sim.language.source import located_source
from kapi_sim.language.table.intrinsics import INTRINSICS, rows
from kapi_sim.tracebacks import is_users_own

__all__ = [
    "atomic_operator",
    "index_hint",
    "describe_misuse",
    "kind_of_number",
    "other_work_item",
    "spelled_kind",
]

_Expression = TypeVar("_Expression", ast.Call, ast.Subscript)
_WORDS = {each.__name__: each.__name__.removeprefix("Sim") for each in (SimItem, SimNdItem, SimGroup, SimSubGroup)}
_WORDS |= {"SimAtomicRef": "AtomicRef", "WatchedAtomicRef": "AtomicRef", "Vec": "Vec"}
_FORMS = {row.key: f"{row.key}({', '.join(name for name, *_ in row.parameters)})" for row in INTRINSICS}
_CALL = re.compile(rf"({'|'.join(_WORDS)})\.(\w+)\(\) ")
_INTERNAL = re.compile(rf"\b({'|'.join(_WORDS)})\b(?: object)?")
_OPERATOR = re.compile(r"unsupported operand type\(s\) for (\S+?):? '(\w+)' and '(\w+)'")
_BOUND = re.compile(r"\w[\w.<>]*(\(\))? (missing|takes|expected|got (an unexpected|some|multiple))\b")
_INDEXED = re.compile(
    r"'(?:numpy\.)?(\w+)' object (?:does not support item (?:assignment|deletion)|is not subscriptable)"
    r"|invalid index to scalar variable"
)
_OF_REFERENCES = {"value": "load", "get": "load", "read": "load", "set": "store", "write": "store"}
"""Other libraries' names of the methods of an AtomicRef."""
_OF_OPERATORS = {
    "+": "fetch_add",
    "-": "fetch_sub",
    "*": "fetch_mul",
    "&": "fetch_and",
    "|": "fetch_or",
    "^": "fetch_xor",
}
"""The methods that operators are in SYCL C++."""
_NUMBERS = {
    "bool": "Python bool",
    "int": "Python int",
    "float": "Python float",
    "complex": "Python complex",
    "View": "array",
    "NoneType": "None",
}
_IDS = {"Item": "item.get_id(0)", "NdItem": "nd_item.get_global_id(0)"}
_CALLED = re.compile(r"'(?:numpy\.)?(\w+)' object is not callable")
_UNSET = re.compile(r"(?:cannot access )?(?:local|free) variable '(\w+)'")
_CHANGED = "'tuple' object does not support item "


def other_work_item(owner: str, name: str) -> str:
    """Say what has the attribute that a work-item or group lacks, or what kapi has in its place; nothing if none has.

    - `owner`: ``"Item"``, ``"NdItem"`` or another class of the kernel language.
    - `name`: the attribute.
    """
    if owner == "Item" and any(row.name == name for row in rows(owner="NdItem")):
        return ": an NdItem has it, in a kernel that is launched over an NdRange"
    if owner == "NdItem" and any(row.name == name for row in rows(owner="Item")):
        its = name.replace("get_", "get_global_")
        return f": an Item has it, in a kernel that is launched over a Range. For an NdItem write {its}"
    if owner == "AtomicRef":
        meant = _OF_REFERENCES.get(name, f"fetch_{name}")
        return f": write {meant}" if any(row.name == meant for row in rows(owner=owner)) else ""
    if owner == "SubGroup":
        meant = name.replace("_linear", "")
        if any(row.name == meant for row in rows(owner=owner)):
            return f": write {meant}, since sub-groups have one dimension"
    near = get_close_matches(name, [row.name for row in rows(owner=owner)], 1)
    return hint((name,)) or (f": did you mean {near[0]}?" if near else "")


def atomic_operator(operand: str, sign: str) -> str:
    """Say which method of an AtomicRef an operator stands for in other languages; nothing for other operands.

    - `operand`: what the operator's first operand is.
    """
    meant = _OF_OPERATORS.get(sign.removesuffix("=")) if operand == "AtomicRef" else None
    return f": write {meant}(...)" if meant else ""


def index_hint(kind: str) -> str:
    """Say what to write in place of an index that is no integer; nothing for kinds that have no integer.

    - `kind`: what the index is, as messages name it: ``"Item"``, ``"Python float"``.
    """
    if kind in _IDS:
        return f"write {_IDS[kind]}"
    if kind in ("method", "function"):
        return "call it: write parentheses and its arguments after its name"
    is_float = "float" in kind and "array" not in kind
    return "divide with //, or convert it with int(...)" if is_float else ""


def kind_of_number(value: object) -> str:
    """Return what messages call a number of Python's or NumPy's, or a tuple; empty for other values."""
    if isinstance(value, np.generic):
        return str(value.dtype)
    if isinstance(value, bool):
        return "Python bool"
    base = next((each for each in type(value).__mro__ if each in (int, float, complex, tuple, range, slice)), None)
    return "" if base is None else _NUMBERS.get(base.__name__, base.__name__)


def spelled_kind(name: str) -> str:
    """Return what messages call the values of a class that Python's own message names."""
    return _WORDS.get(name, _NUMBERS.get(name, name))


def describe_misuse(error: Exception) -> Finding | None:
    """Return what the compiler would say of an exception that a word of kapi's raised; `None` of others."""
    if isinstance(error, AttributeError):
        owner = _WORDS.get(type(error.obj).__name__) or (kind_of_number(error.obj) if _is_in_users(error) else "")
        if not owner:
            return None
        said = f"{owner} has no {error.name!r} in a kernel{other_work_item(owner, str(error.name))}"
        return Finding("attribute-unknown", said)
    text = str(error)
    if type(error) in (TypeError, IndexError):
        number = _indexed_number(text)
        if number:
            said = f"{number} cannot be indexed: pass an array{_for_name(error)}"
            return Finding("indexed-value", said) if _is_in_users(error) else None
    called = _CALLED.match(text) if type(error) is TypeError and _is_in_users(error) else None
    if called is not None:
        said = f"{spelled_kind(called[1])} cannot be called, since it is not a function"
        return Finding("called-value", said)
    unset = _UNSET.match(text) if isinstance(error, NameError) else None
    if unset is not None and _is_in_users(error):
        return Finding("variable-unset", f"variable {unset[1]!r} has no value here: assign it on every path before")
    if text.startswith(_CHANGED) and type(error) is TypeError and _is_in_users(error):
        return Finding("tuple-changed", "a tuple cannot be changed: make a new one, or use kapi.PrivateArray")
    named = _INTERNAL.search(text)
    if not isinstance(error, TypeError) or isinstance(error, KapiError):
        return None
    operator = _OPERATOR.search(text)
    if named is None or (named[1].endswith("AtomicRef") and operator is None):
        return _misbound(error) if _BOUND.match(text) else None
    call = _CALL.match(text)
    if call is not None:
        key = f"{_WORDS[call[1]]}.{call[2]}"
        given = _arguments(error.__traceback__, call[2])
        said = f"{key}() does not take these arguments in a kernel: ({given}); it is {_FORMS[key]}"
        return Finding("call-arguments", said)
    owner = _WORDS[named[1]]
    if "item assignment" in text and owner == "Vec":
        return Finding("tuple-changed", "a Vec cannot be changed: make a new one, or use kapi.PrivateArray")
    if "subscriptable" in text or "item assignment" in text:
        hint = f": write {_IDS[owner]}" if owner in _IDS else ""
        return Finding("indexed-value", f"{owner} cannot be indexed{hint}")
    if operator is not None:
        one, other = (spelled_kind(name) for name in operator.groups()[1:])
        sign = operator[1]
        said = f"operator {sign} does not have these operands: {one} {sign} {other}{atomic_operator(one, sign)}"
        return Finding("operator-operands", said)
    where = _INTERNAL.sub(lambda found: _WORDS[found[1]], text)
    return Finding("work-item-as-value", f"{owner} cannot be used as a value in a kernel: {where}")


def _is_in_users(error: Exception) -> bool:
    """Whether the program's own code raised an exception, and no library that it calls."""
    return _is_users(_innermost(error.__traceback__, ast.Call)[0])


def _is_users(frame: FrameType | None) -> TypeGuard[FrameType]:
    return frame is not None and is_users_own(frame.f_globals.get("__name__") or "")


def _for_name(error: Exception) -> str:
    """Say which variable was indexed, where it has a name."""
    _, indexed = _innermost(error.__traceback__, ast.Subscript)
    return f" for `{indexed.value.id}`" if indexed is not None and isinstance(indexed.value, ast.Name) else ""


def _indexed_number(text: str) -> str:
    """Return the kind of number that Python says cannot be indexed; empty if it says something else."""
    match = _INDEXED.match(text)
    if match is None:
        return ""
    name = match[1] or "generic"
    kind = getattr(np, name, None)
    if isinstance(kind, type) and issubclass(kind, np.generic):
        return "a NumPy number" if name == "generic" else name
    return _NUMBERS.get(name, "Python bool" if name == "bool" else "") if name != "View" else ""


def _misbound(error: TypeError) -> Finding | None:
    """Return what is said of a call whose arguments the function does not have; `None` if the user made none here."""
    frame, call = _innermost(error.__traceback__, ast.Call)
    if not _is_users(frame):
        return None
    if call is None:
        where = "" if "__call__" in str(error) else f": {_INTERNAL.sub(lambda found: _WORDS[found[1]], str(error))}"
        return Finding("call-arguments", f"a function does not take its arguments in a kernel{where}")
    written, given = ast.unparse(call.func), ", ".join(map(ast.unparse, (*call.args, *call.keywords)))
    form = _form(call.func, frame)
    said = f"{written}() does not take these arguments in a kernel: ({given})"
    return Finding("call-arguments", f"{said}; it is {written}{form}" if form else said)


def _form(function: ast.expr, frame: FrameType) -> str:
    """Return the parameters of a function that a kernel calls, as a call has them; empty if they are not known."""
    name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
    path = ast.unparse(function).split(".")
    value: Any = frame.f_locals.get(path[0], frame.f_globals.get(path[0]))
    module = ""
    for part in path[1:]:
        module = value.__name__.rpartition(".")[2] if isinstance(value, ModuleType) else ""
        value = getattr(value, part, None) if isinstance(value, ModuleType) else None
    keys = (f"{module}.{name}", name) if module or len(path) == 1 else (f"AtomicRef.{name}",)
    for row in INTRINSICS:
        if row.key in keys:
            given = (
                n if default is None else f"{n}={getattr(default, '__name__', default)}"
                for n, _, default in row.parameters
            )
            return f"({', '.join(given)})"
    written = getattr(value, "py_func", None)
    return str(inspect.signature(written)) if inspect.isfunction(written) else ""


def _innermost(traceback: TracebackType | None, kind: type[_Expression]) -> tuple[FrameType | None, _Expression | None]:
    """Return the innermost frame of a traceback, and the call or subscript that it was in, if that is on one line.

    What computes numbers in place of Python's own functions is not looked into.
    """
    while traceback is not None and traceback.tb_next is not None:
        below = str(traceback.tb_next.tb_frame.f_globals.get("__name__"))
        if below.startswith("kapi_sim.numbers."):
            break
        traceback = traceback.tb_next
    if traceback is None:
        return None, None
    code = traceback.tb_frame.f_code
    location = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), None)
    try:
        found = ast.parse(located_source(code, location).strip(), mode="eval").body
    except SyntaxError:
        found = None
    return traceback.tb_frame, found if isinstance(found, kind) else None


def _arguments(traceback: TracebackType | None, method: str) -> str:
    """Return the arguments of the call that the innermost frame of a traceback made, as they are written."""
    call = _innermost(traceback, ast.Call)[1]
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != method:
        return "..."
    return ", ".join(ast.unparse(each) for each in (*call.args, *call.keywords))
