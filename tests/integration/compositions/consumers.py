"""Consumers of a value: stores, tests, indices, loops, atomics, functions, tuples, group algorithms."""

from __future__ import annotations

from dataclasses import dataclass

from device_arrays import SUB_GROUP as OF_THE_DEVICE

from compositions.kinds import DTYPES, STRONG
from kapi_sim.language import ATOMIC_DTYPES, ATOMIC_KINDS, OPERATORS
from kapi_sim.language.table.intrinsics import rows

__all__ = ["ATOMICS", "CONSUMERS", "GROUPS", "SUB_GROUP", "WORK_GROUP", "Consumer"]

WORK_GROUP = 16
SUB_GROUP = min(WORK_GROUP, OF_THE_DEVICE)  # members that one has here


@dataclass(frozen=True)
class Consumer:
    """One use of a value.

    Attributes
    ----------
    name : str
        Unique.
    result : str
        What is stored, made of "{V}", the value, and "{Z}", another one.
    lines : tuple of str
        What comes before.
    out : str
        The dtype's code of what is stored; "own" for the result's.
    ulp : float
        Allowed error, as for operations.
    group : tuple of str
        Of a group algorithm: "group" or "sub", and the algorithm, with its operator or number.
    atomic : tuple of str
        Of an atomic operation: its method, and the dtype's code.
    """

    name: str
    result: str = "{V}"
    lines: tuple[str, ...] = ()
    out: str = "own"
    ulp: float = 0.0
    group: tuple[str, ...] = ()
    atomic: tuple[str, ...] = ()


_PLAIN = (
    Consumer("value"),
    Consumer("if", "r", ("r = 1", "if {V}:", "    r = 2"), "i8"),
    Consumer("while", "k", ("k = 0", "while k < 3 and {V}:", "    k += 1"), "i8"),
    Consumer("if-else test", "(5 if {V} else 6)", (), "i8"),
    Consumer("where test", "np.where({V}, 5.5, -1)", (), "f8"),
    Consumer("assigned in a branch", "r", ("r = 0", "if c:", "    r = {V}")),
    Consumer("augmented", "r", ("r = {Z}", "r += {V}")),
    Consumer("index", "r", ("r = 0", "if 0 <= {V} < 16:", "    r = table[{V}]"), "i8"),
    Consumer("loop bound", "k", ("k = 0", "if {V} < 9:", "    for j in range({V}):", "        k += j + 1"), "i8"),
    Consumer(
        "loop start", "k", ("k = 0", "if -9 < {V} < 9:", "    for j in range({V}, 12, 3):", "        k += j"), "i8"
    ),
    Consumer("loop step", "k", ("k = 0", "if 0 < {V} < 9:", "    for j in range(0, 20, {V}):", "        k += j"), "i8"),
    Consumer("private array", "p[1]", ("p = kapi.PrivateArray(2, np.{D})", "p[1] = {V}")),
    Consumer("device function", "same({V})"),
    Consumer("function of two", "sum_of({V}, {Z})"),
    Consumer("tuple", "t[0]", ("t = ({V}, {Z})",)),
    Consumer("unpacked", "k", ("r, k = {Z}, {V}",)),
    Consumer("loop over a tuple", "r", ("r = {V}", "for e in ({V}, {V}):", "    r = e")),
    Consumer("condition of two", "(1 if {V} and i > 3 else 2)", (), "i8"),
)
_STORES = tuple(Consumer(f"store to {DTYPES[code]}", out=code) for code in STRONG)

_CODES = {DTYPES[code]: code for code in STRONG}
ATOMICS = tuple(
    Consumer(f"{method} of {dtype}", atomic=(method, _CODES[dtype]))
    for method, kinds in ATOMIC_KINDS.items()
    for dtype in ATOMIC_DTYPES
    if _CODES[dtype][0] in kinds and method not in ("load", "compare_exchange")
)

CONSUMERS = (*_PLAIN, *_STORES)
"""Those that need no other work-item."""


def _group_consumers() -> tuple[Consumer, ...]:
    made = []
    for row in rows(family="group"):
        scopes = ("sub",) if row.parameters[0][1] == "SubGroup" else ("group", "sub")
        words = [word for _, word, _ in row.parameters[1:]]
        for scope in scopes:
            if "operator" in words:
                for each in OPERATORS:
                    call = f"kapi.{row.name}({scope}, {{V}}, kapi.{each.name})"
                    ulp = 64.0 if each.name in ("plus", "multiplies") else 0.0
                    name = f"{row.name} of {scope}, {each.name}"
                    made.append(Consumer(name, call, ulp=ulp, group=(scope, row.name, each.name)))
            elif "predicate" in words:
                call = f"kapi.{row.name}({scope}, {{V}})"
                made.append(Consumer(f"{row.name} of {scope}", call, out="?", group=(scope, row.name, "")))
            else:
                given = f"(sub.get_local_id() + 3) % {SUB_GROUP}" if row.name == "select_from_group" else "3"
                call = f"kapi.{row.name}({scope}, {{V}}, {given})"
                made.append(Consumer(f"{row.name} of {scope}", call, group=(scope, row.name, "3")))
    return tuple(made)


GROUPS = _group_consumers()
"""Group algorithms, of work-groups and sub-groups."""
