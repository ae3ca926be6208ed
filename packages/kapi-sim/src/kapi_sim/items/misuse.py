"""A work-item or group used as what it is not: Python's exceptions, in the words that the compiler has for them."""

from __future__ import annotations

import ast
import re
from itertools import islice
from types import TracebackType

from kapi_sim.errors import Finding, KapiError
from kapi_sim.items.items import SimGroup, SimItem, SimNdItem, SimSubGroup
from kapi_sim.language.other_systems import hint
from kapi_sim.language.source import located_source
from kapi_sim.language.table.intrinsics import INTRINSICS, rows

__all__ = ["describe_misuse", "other_work_item"]

_WORDS = {each.__name__: each.__name__.removeprefix("Sim") for each in (SimItem, SimNdItem, SimGroup, SimSubGroup)}
_FORMS = {row.key: f"{row.key}({', '.join(name for name, *_ in row.parameters)})" for row in INTRINSICS}
_CALL = re.compile(rf"({'|'.join(_WORDS)})\.(\w+)\(\) ")
_INTERNAL = re.compile(rf"\b({'|'.join(_WORDS)})\b(?: object)?")
_OPERATOR = re.compile(r"unsupported operand type\(s\) for (\S+?):? '(\w+)' and '(\w+)'")
_NUMBERS = {"int": "Python int", "float": "Python float", "complex": "Python complex", "View": "array"}


def other_work_item(owner: str, name: str) -> str:
    """Say what has the attribute that a work-item or group lacks, or what kapi has in its place; nothing if none has.

    Parameters
    ----------
    owner : str
        ``"Item"``, ``"NdItem"`` or another class of the kernel language.
    name : str
        The attribute.
    """
    if owner == "Item" and any(row.name == name for row in rows(owner="NdItem")):
        return ": an NdItem has it, in a kernel that is launched over an NdRange"
    if owner == "NdItem" and any(row.name == name for row in rows(owner="Item")):
        its = name.replace("get_", "get_global_")
        return f": an Item has it, in a kernel that is launched over a Range. For an NdItem write {its}"
    return hint((name,))


def describe_misuse(error: Exception) -> Finding | None:
    """Return what the compiler would say of an exception that a work-item or group raised; `None` of others."""
    if isinstance(error, AttributeError):
        owner = _WORDS.get(type(error.obj).__name__)
        if owner is None:
            return None
        said = f"{owner} has no {error.name!r} in a kernel{other_work_item(owner, str(error.name))}"
        return Finding("attribute-unknown", said)
    text = str(error)
    named = _INTERNAL.search(text)
    if not isinstance(error, TypeError) or isinstance(error, KapiError) or named is None:
        return None
    call = _CALL.match(text)
    if call is not None:
        key = f"{_WORDS[call[1]]}.{call[2]}"
        given = _arguments(error.__traceback__, call[2])
        said = f"{key}() does not take these arguments in a kernel: ({given}); it is {_FORMS[key]}"
        return Finding("call-arguments", said)
    owner = _WORDS[named[1]]
    if "subscriptable" in text or "item assignment" in text:
        cure = {"Item": ": write item.get_id(0)", "NdItem": ": write nd_item.get_global_id(0)"}.get(owner, "")
        return Finding("indexed-value", f"{owner} cannot be indexed{cure}")
    operator = _OPERATOR.search(text)
    if operator is not None:
        one, other = (_WORDS.get(name, _NUMBERS.get(name, name)) for name in operator.groups()[1:])
        sign = operator[1]
        said = f"operator {sign} does not have these operands: {one} {sign} {other}"
        return Finding("operator-operands", said)
    told = _INTERNAL.sub(lambda found: _WORDS[found[1]], text)
    return Finding("work-item-as-value", f"{owner} cannot be used as a value in a kernel: {told}")


def _arguments(traceback: TracebackType | None, method: str) -> str:
    """Return the arguments of the call that the innermost frame of a traceback made, as they are written."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return "..."
    code = traceback.tb_frame.f_code
    place = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), None)
    try:
        call = ast.parse(located_source(code, place), mode="eval").body
    except SyntaxError:
        return "..."
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != method:
        return "..."
    return ", ".join(ast.unparse(each) for each in (*call.args, *call.keywords))
