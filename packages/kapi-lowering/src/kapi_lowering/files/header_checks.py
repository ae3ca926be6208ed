"""The header of a module file, part by part: each value is of its type and within what a compiled kernel can have.

Nothing here trusts the file.  What passes is safe to keep, to print, to compare and to pack arguments by.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence
from itertools import groupby
from keyword import iskeyword
from typing import Any, TypeVar

from kapi_lowering.results.failures import Failure
from kapi_lowering.results.kernel_module import MOST_NOTES
from kapi_lowering.results.packed_argument import LINEAR_ROLES, Parameter
from kapi_sim.errors import ModuleFileError
from kapi_sim.language import MAX_RANK
from kapi_sim.language.exceptions import made_exception
from kapi_sim.short_repr import short_repr

__all__ = [
    "failures",
    "layout_fields",
    "mapping",
    "notes",
    "one_of",
    "parameters",
    "sequence",
    "settings",
    "spelled_argument",
    "suited_layout",
    "text",
    "texts",
    "unfit",
]

T = TypeVar("T")

_NAME = re.compile(r"(\w+)((?:\[(?:0|[1-9][0-9]{0,5})\])*)")  # `data`, and `data[0][1]` for what tuples hold
_LONGEST_TEXT = 1 << 16
_LONGEST_NOTE = 1 << 12
_MOST = 1 << 16
"""Entries of a list: far more than a kernel of any size has."""
_ROLES = ("range", *LINEAR_ROLES, "pointer", "shape", "stride", "value", "failure")
_CODES = tuple("bBhHiIqQefd")
_KINDS = {"str": str, "int": int, "float": float, "bool": bool}
_TEXTS_OF = {"OutOfBoundsError": 1, "CollectiveMismatchError": 3, "DivisionByZeroError": 2, "OperandError": 2}
"""The number of texts of each failure of kapi's own, by the name of its class."""


def unfit(what: str, requirement: str, value: object) -> ModuleFileError:
    """Return the error for a part that is none, with as much of it as a line takes."""
    text = repr(value)
    text = text if len(text) < 100 else f"{text[:100]}..."
    return ModuleFileError(f"{what} in a module file must be {requirement}, got {text}", code="module-file-part")


def text(value: Any, what: str) -> str:
    """Return a text that is not too long."""
    if type(value) is not str or len(value) > _LONGEST_TEXT:
        raise unfit(what, f"a text of at most {_LONGEST_TEXT} characters", value)
    return value


def sequence(value: Any, what: str) -> list[Any]:
    """Return a list that is not too long."""
    if type(value) is not list or len(value) > _MOST:
        raise unfit(what, f"a list of at most {_MOST} entries", value)
    return value


def texts(value: Any, what: str) -> tuple[str, ...]:
    """Return the texts of a list; their length is limited by that of the file."""
    if any(type(each) is not str for each in sequence(value, what)):
        raise unfit(what, "a list of texts", value)
    return tuple(value)


def notes(value: Any) -> tuple[str, ...]:
    """Return the notes of a compiler: a few lines of text, without what a terminal would act upon."""
    found = texts(value, "notes")
    if len(found) > MOST_NOTES or any(len(each) > _LONGEST_NOTE or not each.isprintable() for each in found):
        raise unfit("notes", f"at most {MOST_NOTES} printable lines of at most {_LONGEST_NOTE} characters", value)
    return found


def one_of(value: Any, what: str, known: tuple[T, ...]) -> T:
    """Return a value that is among those known, type included."""
    for each in known:
        if type(value) is type(each) and value == each:
            return each
    raise unfit(what, f"one of {', '.join(map(str, known))}", value)


def mapping(value: Any, what: str, names: Collection[str]) -> dict[str, Any]:
    """Return a mapping that has just these names."""
    if type(value) is not dict or value.keys() != set(names):
        raise unfit(what, f"a mapping of {', '.join(names)}", sorted(value) if type(value) is dict else value)
    return value


def parameters(value: Any) -> tuple[Parameter, ...]:
    """Return the parameters, whose names are identifiers, or an identifier's with the indices within a tuple."""
    found, owners = [], []
    names = [each.name for each in dataclasses.fields(Parameter)]
    for each in sequence(value, "parameters"):
        entry = mapping(each, "parameter", names)
        name = text(entry["name"], "name of a parameter")
        match = _NAME.fullmatch(name)
        if match is None or not match[1].isidentifier() or iskeyword(match[1]):
            raise unfit("name of a parameter", "an identifier, with the places within a tuple", name)
        owners.append((match[1], bool(match[2])))
        found.append(
            Parameter(
                name,
                one_of(entry["kind"], "kind of a parameter", ("array", "scalar", "local")),
                text(entry["type"], "type of a parameter"),
                one_of(entry["has_strides"], "has_strides", (True, False)),
                one_of(entry["is_written"], "is_written", (True, False)),
            )
        )
    # The members of a tuple stand side by side, and no other parameter has its name.
    if len({each.name for each in found}) < len(found) or len(
        together := [owner for owner, _ in groupby(owners)]
    ) != len({name for name, _ in together}):
        raise unfit("names of parameters", "each another one", [each.name for each in found])
    return tuple(found)


def layout_fields(value: Any) -> list[tuple[str, Any, str]]:
    """Return owner, role and `struct` character of each field of the packed argument."""
    found: list[tuple[str, Any, str]] = []
    for each in sequence(value, "layout"):
        if len(sequence(each, "field of the layout")) != 3:
            raise unfit("field of the layout", "owner, role and code", each)
        owner, role, code = each
        found.append(
            (text(owner, "owner of a field"), one_of(role, "role of a field", _ROLES), one_of(code, "code", _CODES))
        )
    return found


def suited_layout(
    fields: Sequence[tuple[str, Any, str]], index_space: str, ndim: int, given: Sequence[Parameter], has_failures: bool
) -> None:
    """Raise unless the fields are those that the index space, the parameters and the failures need, in their order."""
    expected: list[tuple[str, str, str]] = []
    at = 0

    def take(owner: str, role: str, codes: str, least: int, most: int) -> int:
        nonlocal at
        start = at
        while at < len(fields) and at - start < most and fields[at][:2] == (owner, role) and fields[at][2] in codes:
            expected.append(fields[at])
            at += 1
        if at - start < least:
            raise unfit("layout", f"that of its parameters, with the {role} of `{owner}` at {start}", fields[start:])
        return at - start

    if index_space == "item":
        take("range", "range", "q", ndim, ndim)
    elif ndim > 1 and any(role in LINEAR_ROLES for _, role, _ in fields):
        for role in LINEAR_ROLES:
            take(role, role, "q", ndim, ndim)
    for parameter in given:
        if parameter.kind == "scalar":
            if take(parameter.name, "value", "bBhHiIqQefd", 1, 2) == 2 and fields[at - 1][2] not in "fd":
                raise unfit("value of a complex number", "two floats", fields[at - 2 : at])
            continue
        if parameter.kind == "array":
            take(parameter.name, "pointer", "Q", 1, 1)
        rank = take(parameter.name, "shape", "q", 0, MAX_RANK)
        if parameter.has_strides:
            take(parameter.name, "stride", "q", rank, rank)
    if has_failures:
        take("failure", "failure", "Q", 1, 1)
    if at != len(fields):
        raise unfit("layout", "that of its parameters", fields[at:])


def failures(value: Any) -> tuple[Failure, ...]:
    """Return the failures of a work-item; the classes are those of the table of exceptions, and no others."""
    found = []
    for each in sequence(value, "failures"):
        if len(sequence(each, "failure")) != 4:
            raise unfit("failure", "an error, its arguments, a file and a line", each)
        error, given, filename, line = each
        text(error, "error of a failure")
        args = tuple(_argument(spelled) for spelled in sequence(given, "arguments of a failure"))
        if error in _TEXTS_OF:
            if len(args) != _TEXTS_OF[error] or any(type(arg) is not str for arg in args):
                raise unfit(f"arguments of {error}", "the texts that it has", args)
        else:
            made_exception(error, args)
        if type(line) is not int or not 0 <= line < 2**31:
            raise unfit("line of a failure", "a number of a line", line)
        found.append(Failure(error, args, text(filename, "file of a failure"), line))
    return tuple(found)


def settings(value: Any, what: str, class_: type[Any]) -> dict[str, Any]:
    """Return the values of a dataclass by name, lists as tuples; the class itself says which values it takes."""
    found = mapping(value, what, [each.name for each in dataclasses.fields(class_)])
    for name, each in found.items():
        if type(each) is list:
            for member in sequence(each, name):
                if type(member) not in (str, int):
                    raise unfit(f"{name} of {what}", "a list of texts or numbers", each)
            found[name] = tuple(each)
        elif each is not None and type(each) not in (str, int, bool):
            raise unfit(f"{name} of {what}", "a text, a number, a truth value or a list of these", each)
        field = next(field for field in dataclasses.fields(class_) if field.name == name)
        default = _KINDS[str(field.type)]() if field.default is dataclasses.MISSING else field.default
        is_right = type(found[name]) is type(default) or (default is None and type(found[name]) in (int, tuple))
        if not is_right:
            raise unfit(f"{name} of {what}", f"of the kind of {default!r}", each)
    return found


def spelled_argument(value: Any) -> list[str]:
    """Return an argument of an exception as its kind and its text: JSON has no infinite numbers.

    Raises `ModuleFileError` if it is no text, number or None.
    """
    if value is None:
        return ["None", ""]
    for name in ("bool", "str", "int", "float"):
        kind = _KINDS[name]
        if isinstance(value, kind):
            return [name, str(value) if name == "str" else repr(kind(value))]
    raise ModuleFileError(
        f"arguments of an exception must be text or numbers, got {short_repr(value)}", code="module-file-part"
    )


def _argument(spelled: Any) -> Any:
    if len(texts(spelled, "argument of a failure")) != 2:
        raise unfit("argument of a failure", "a kind and a text", spelled)
    kind, value = spelled
    text(value, "argument of a failure")
    if kind == "None":
        return None
    if kind == "bool":
        return one_of(value, "truth value", ("True", "False")) == "True"
    return _KINDS[one_of(kind, "kind of an argument", ("str", "int", "float"))](value)
