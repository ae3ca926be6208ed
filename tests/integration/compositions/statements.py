"""The statements: one operation or consumer of each pair of kinds, and a covering array of two.

They are counted, not kept: statement `n` of a level is made from `n`, so that a sample costs only itself.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from compositions.consumers import ATOMICS, CONSUMERS, GROUPS, Consumer
from compositions.kinds import (
    DTYPES,
    ITEMS,
    LITERALS,
    STRONG,
    WEAK,
    as_strong,
    inputs,
    is_literal,
    kind_of,
    prelude,
    unify,
)
from compositions.operations import OPERATIONS, POWERS, Operation
from compositions.reference import NAMESPACE

__all__ = ["LEVELS", "Statement", "count", "environments", "statement", "variables_of"]

KINDS = (*STRONG, *WEAK, *LITERALS)
LEVELS = ("operations", "consumers", "operations of results", "consumers of results", "groups", "groups of results")
_SMALL_LITERALS = {"li": ("3", "0", "2", "(-1)", "1", "7"), "lf": ("0.5", "2.0", "-1.0")}
_NAME = re.compile(r"\b[xyz]s?_(?:[?]|\w+)")


@dataclass(frozen=True)
class Statement:
    """One statement, and what is stored of it.

    Attributes
    ----------
    name : str
        What it is made of.
    lines : tuple of str
        What comes before the result.
    result : str
        The expression that is stored, or given to an atomic.
    out : str
        The dtype's code of the array that it is stored in.
    ulp, complex_ulp : float
        Allowed error of real and of complex results; 0 for what is exact.
    consumer : Consumer or None
        The last consumer, which may be a group algorithm or an atomic operation.
    parts : tuple of str
        Expressions in it that other statements may have as well.
    inexact : tuple of tuple of str
        Those of them whose value decides whether the rest can be compared, and how plain Python has each.
    plain : str
        The result as plain Python has it.
    plain_lines : tuple of str
        The lines as plain Python has them.
    is_mixed : bool
        Whether a part of it has another type in Python for other values: the simulator, which is Python, differs there.
    may_become_zero : bool
        Whether the sign of zero is not defined.
    reads_sign : bool
        Whether it shows the sign of nan, which is not defined.
    least : float
        As for operations.
    wide : str
        What gives a complex result in wider floats, and its condition, in plain Python; "" where that is not needed.
    """

    name: str
    lines: tuple[str, ...]
    result: str
    out: str
    ulp: float = 0.0
    complex_ulp: float = 0.0
    consumer: Consumer | None = None
    parts: tuple[str, ...] = ()
    inexact: tuple[tuple[str, str], ...] = ()
    plain: str = ""
    is_mixed: bool = False
    may_become_zero: bool = False
    reads_sign: bool = False
    least: float = 0.0
    wide: str = ""
    plain_lines: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lines as written."""
        return "\n".join((*self.lines, self.result))

    @property
    def variables(self) -> set[str]:
        """The variables that it reads."""
        return variables_of(self.text)


def variables_of(text: str) -> set[str]:
    """The variables that an expression reads."""
    return set(_NAME.findall(text))


@dataclass(frozen=True)
class Value:
    """An expression whose kind is known."""

    operation: Operation
    operands: tuple[str, ...]
    kind: str
    serial: int

    def spelled(self, letters: str = "xy", small: bool = False, plain: bool = False) -> str:
        """The expression."""
        return _call(self.operation, self.operands, self.serial, letters, small, plain)

    @property
    def is_mixed(self) -> bool:
        """Whether its type in Python depends on values."""
        return _is_mixed(self.operation, self.operands)


def _operand(kind: str, letter: str, serial: int, small: bool) -> str:
    if is_literal(kind):
        chosen = _SMALL_LITERALS.get(kind, LITERALS[kind]) if small else LITERALS[kind]
        text = chosen[serial % len(chosen)]
        return f"({text})" if text[0] == "-" else text
    return f"{letter}{'s' if small else ''}_{kind.replace('?', 'b1')}"


def _call(
    operation: Operation,
    kinds: Sequence[str],
    serial: int,
    letters: str = "xy",
    small: bool = False,
    plain: bool = False,
) -> str:
    is_small = small or operation.is_small
    letters = (letters + letters[0])[: operation.arity]
    is_plain = plain and not _is_decided(operation, kinds)
    form = (is_plain and operation.plain) or operation.form
    return form.format(
        *(
            _operand(kind, letter, serial + n, is_small)
            for n, (kind, letter) in enumerate(zip(kinds, letters, strict=True))
        )
    )


def _is_decided(operation: Operation, kinds: Sequence[str]) -> bool:
    """Whether it begins with a literal that decides it: of such a choice, Python compiles what it takes alone."""
    return operation.name in ("and", "or") and is_literal(kinds[0])


def _is_mixed(operation: Operation, kinds: Sequence[str]) -> bool:
    known = {_of_literal(kind) for kind in kinds}
    return operation.gives_an_operand and len(known) > 1 and not _is_decided(operation, kinds)


@cache
def environments() -> tuple[dict[str, Any], ...]:
    """The variables of each work-item."""
    arrays = {f"a{name}": array for name, array in inputs().items()}
    names = [
        f"{letter}{small}_{kind.replace('?', 'b1')}"
        for letter in "xy"
        for small in ("", "s")
        for kind in (*STRONG, *WEAK)
    ]
    made = []
    table = np.arange(16, dtype=np.int64) * 3
    for i in range(ITEMS):
        seen = {**NAMESPACE, **arrays, "i": i, "table": table, "same": lambda v: v, "sum_of": lambda v, w: v + w}
        for name in names:
            code, _ = prelude(name)
            seen[name] = eval(code, seen)
        seen["c"] = i % 3 == 1
        made.append(seen)
    return tuple(made)


_PROBED = (61, 1, 33, 122, 18, 47, 92, 3)
"""Work-items of which the kind of an expression is asked, small numbers among them."""


def kind_of_expression(lines: Iterable[str], result: str, probes: int = 8) -> str | None:
    """The one kind that holds what an expression gives; None where it gives nothing."""
    source = "\n".join((*lines, f"found = {result}"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, "<statement>", "exec")
    kinds = set()
    # Each path through a statement is probed: an early end would miss the other.
    for i in (*_PROBED[:probes], *((4, 7) if probes > 2 else ())):
        local: dict[str, Any] = {}
        try:
            exec(code, environments()[i], local)
        except (TypeError, ValueError, ArithmeticError, AttributeError, IndexError):
            continue
        kinds.add(kind_of(local["found"]))
    if not kinds or "tuple" in kinds:
        return None
    return unify(kinds)


# -- one operation ---------------------------------------------------------------------------------------


@cache
def _single() -> tuple[tuple[Operation, tuple[str, ...]], ...]:
    made: list[tuple[Operation, tuple[str, ...]]] = []
    for operation in OPERATIONS:
        if operation.arity == 1:
            made += [(operation, (kind,)) for kind in KINDS]
        elif operation.arity == 2:
            made += [(operation, (left, right)) for left in KINDS for right in KINDS]
        else:
            made += [
                (operation, (left, right, KINDS[(n + m) % len(KINDS)]))
                for n, left in enumerate(KINDS)
                for m, right in enumerate(KINDS)
            ]
    return tuple(made)


_VALUE_DEPENDENT = {"and", "or", "if-else", "min", "max", "tuple", "**", "pow"}


@cache
def values() -> tuple[Value, ...]:
    """A value for each kind that each operation gives, with pairs of kinds taken in turn."""
    found: dict[tuple[str, str], list[tuple[Operation, tuple[str, ...]]]] = {}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for operation, kinds in _single():
            text = _call(operation, kinds, 0, small=True, plain=True)
            kind = kind_of_expression((), text, 8 if operation.name in _VALUE_DEPENDENT else 1)
            # Of a choice that a literal decides, the kind is another one for other literals.
            if kind is not None and not all(map(is_literal, kinds)) and not _is_decided(operation, kinds):
                found.setdefault((operation.name, kind), []).append((operation, kinds))
    made = []
    for number, ((_, kind), combinations) in enumerate(found.items()):
        operation, kinds = combinations[number * 7919 % len(combinations)]
        made.append(Value(operation, kinds, kind, number))
    return tuple(made)


def _class(kind: str) -> str:
    return (
        "integer"
        if kind in ("?", "wb", "wi") or kind[0] in "iu"
        else "complex"
        if kind[0] == "c" or kind == "wc"
        else "float"
    )


@cache
def _by_class() -> dict[str, tuple[Value, ...]]:
    classes: dict[str, list[Value]] = {}
    for value in values():
        classes.setdefault(_class(value.kind), []).append(value)
    return {name: tuple(found) for name, found in classes.items()}


# -- counting --------------------------------------------------------------------------------------------


@cache
def _pairs() -> tuple[tuple[Operation, tuple[Value, ...]], ...]:
    """For each operation, values such that each is each of its operands once.

    They come in blocks of some values by some operations, since what a kernel computes twice is compiled once for it.
    """
    made: list[tuple[Operation, tuple[Value, ...]]] = []
    for name in ("integer", "float", "complex"):
        group = sorted(_by_class()[name], key=lambda value: (value.kind, value.serial))
        for first in range(0, len(group), _VALUES):
            for round_, number in enumerate(range(0, len(OPERATIONS), _OPERATIONS)):
                for operation in OPERATIONS[number : number + _OPERATIONS]:
                    for n in range(first, min(first + _VALUES, len(group))):
                        indices = (n + position * (1 + round_ * _VALUES) for position in range(operation.arity))
                        made.append((operation, tuple(group[position % len(group)] for position in indices)))
    return tuple(made)


_VALUES, _OPERATIONS = 16, 19
"""Of a block, which makes some 300 statements."""


def count(level: str) -> int:
    """The number of statements of a level."""
    sizes = {
        "operations": lambda: len(_single()),
        "consumers": lambda: len(KINDS) * len((*CONSUMERS, *ATOMICS)),
        "operations of results": lambda: len(_pairs()),
        "consumers of results": lambda: len(values()) * (len(CONSUMERS) + 2),
        "groups": lambda: len(KINDS) * len(GROUPS),
        "groups of results": lambda: len(values()) * 2,
    }
    return sizes[level]()


def statement(level: str, number: int) -> Statement:
    """One statement of a level."""
    if level == "operations":
        operation, kinds = _single()[number]
        text, plain = _call(operation, kinds, number), _call(operation, kinds, number, plain=True)
        # A result that is stored at once is converted to the one type in both worlds.
        return _stored(f"{operation.name} of {', '.join(kinds)}", text, plain, operation)
    if level == "operations of results":
        return _of_results(number)
    if level in ("consumers", "groups"):
        every = GROUPS if level == "groups" else (*CONSUMERS, *ATOMICS)
        kind, consumer = KINDS[number // len(every)], every[number % len(every)]
        value = _operand(kind, "x", number, level == "groups")
        return _consumed(f"{consumer.name} of {kind}", consumer, (value, value), kind, number, None)
    if level == "groups of results":
        value, consumer = values()[number // 2], GROUPS[number * 31 % len(GROUPS)]
    else:
        per = len(CONSUMERS) + 2
        value, position = values()[number // per], number % per
        # Atomics alternate: all of them have operands of all kinds.
        consumer = (
            CONSUMERS[position] if position < len(CONSUMERS) else ATOMICS[(number // per * 2 + position) % len(ATOMICS)]
        )
    text = value.spelled(small=level == "groups of results")
    plain = value.spelled(small=level == "groups of results", plain=True)
    name = f"{consumer.name} of {value.operation.name} of {', '.join(value.operands)}"
    return _consumed(name, consumer, (text, plain), value.kind, number, value)


def _stored(
    name: str,
    text: str,
    plain: str,
    operation: Operation,
    parts: tuple[tuple[str, ...], tuple[tuple[str, str], ...]] = ((), ()),
    is_mixed: bool = False,
    wide: str = "",
) -> Statement:
    out = as_strong(kind_of_expression((), plain) or "f8")
    ulp, of_complex = operation.ulp, operation.complex_ulp
    return Statement(
        name,
        (),
        text,
        out,
        ulp,
        of_complex,
        None,
        *parts,
        plain,
        is_mixed,
        operation.may_become_zero,
        operation.reads_sign,
        operation.least,
        wide,
    )


def _is_inexact(value: Value) -> bool:
    is_complex = any(_class(kind) == "complex" or kind == "lc" for kind in (*value.operands, value.kind))
    return bool(value.operation.ulp or value.operation.may_become_zero or (is_complex and value.operation.complex_ulp))


def _of_results(number: int) -> Statement:
    operation, parts = _pairs()[number]
    given, plain, shared, inexact = [], [], [], []
    for position, value in enumerate(parts):
        letters = "xy" if position % 2 == 0 else "yx"
        texts = [value.spelled(letters, plain=each) for each in (False, True)]
        shared.append(texts[0])
        if _is_inexact(value) or operation.reads_sign:
            inexact.append((texts[0], texts[1]))
        if operation.is_small and _class(value.kind) == "integer":
            texts = [f"({text} % 9)" for text in texts]
        given.append(texts[0])
        plain.append(texts[1])
    name = f"{operation.name} of " + ", ".join(f"({v.operation.name} of {', '.join(v.operands)})" for v in parts)
    is_mixed = any(value.is_mixed for value in parts) or _is_mixed(operation, [value.kind for value in parts])
    form = operation.plain or operation.form
    wide = f"wide_power({plain[0]}, {plain[1]})" if operation.name in POWERS else ""
    return _stored(
        name,
        operation.form.format(*given),
        form.format(*plain),
        operation,
        (tuple(shared), tuple(inexact)),
        is_mixed,
        wide,
    )


def _consumed(
    name: str, consumer: Consumer, texts: tuple[str, str], kind: str, serial: int, value: Value | None
) -> Statement:
    text, plain = texts
    other = _operand(KINDS[serial * 13 % (len(STRONG) + len(WEAK))], "y", serial, False)
    names = {"{V}": text, "{Z}": other, "{D}": DTYPES[as_strong(_of_literal(kind))]}

    def filled(template: str) -> str:
        for position, given in names.items():
            template = template.replace(position, given)
        return template

    lines = tuple(map(filled, consumer.lines))
    plain_lines = tuple(line.replace(text, plain) for line in lines)
    result = text if consumer.group or consumer.atomic else filled(consumer.result)
    out = consumer.out
    if consumer.atomic:
        out = consumer.atomic[1]
    elif consumer.group:
        out = as_strong(_of_literal(kind)) if out == "own" else out
    elif out == "own":
        found = (
            as_strong(_of_literal(kind))
            if consumer.name == "private array"
            else kind_of_expression(plain_lines, result.replace(text, plain))
        )
        out = as_strong(found or "f8")
    is_own = consumer.name == "value" and value is not None
    ulp, of_complex = (value.operation.ulp, value.operation.complex_ulp) if is_own else (consumer.ulp, consumer.ulp)
    is_mixed = value is not None and value.is_mixed
    may_end = is_own and value is not None and value.operation.may_become_zero
    parts: tuple[str, ...] = () if value is None or is_own else (text,)
    inexact = tuple((part, plain) for part in parts) if value is not None and _is_inexact(value) else ()
    if value is not None and inexact and consumer.group:
        # What a work-item gets comes from others: each of them is as inexact.
        inexact = ()
        ulp, of_complex = max(ulp, value.operation.ulp), max(ulp, value.operation.complex_ulp)
        may_end = value.operation.may_become_zero
    # Of two zeros in a group, either is the smaller.
    may_end = may_end or bool(consumer.group and consumer.group[2] in ("minimum", "maximum"))
    stored = result.replace(text, plain)
    least = value.operation.least if value is not None and (is_own or consumer.group) else 0.0
    return Statement(
        name,
        lines,
        result,
        out,
        ulp,
        of_complex,
        consumer,
        parts,
        inexact,
        stored,
        is_mixed,
        may_end,
        False,
        least,
        plain_lines=plain_lines,
    )


def _of_literal(kind: str) -> str:
    return f"w{kind[1]}" if is_literal(kind) else kind
