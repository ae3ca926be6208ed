"""Comparison of what a statement gave in both worlds with what plain Python gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compositions.batches import Batch, Outcome
from compositions.kinds import ITEMS
from compositions.statements import Statement

__all__ = ["Difference", "Verdict", "judge"]

_OPEN = {"DtypeError": "a Python int that does not fit", "ZeroDivisionError": "an integer divided by zero"}
"""What the simulator raises by numbers.md where NumPy goes on, and why."""


@dataclass
class Difference:
    """One statement on which two of the three disagree."""

    statement: Statement
    who: str
    detail: str

    def __str__(self) -> str:
        text = self.statement.text.replace("\n", "; ")
        return f"{self.who}: {self.statement.name}\n    {text}\n    {self.detail}"


@dataclass
class Verdict:
    """Counts of what was compared, and the differences."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: Verdict) -> None:
        """Take another one's counts and differences."""
        self.counts += other.counts
        self.differences += other.differences


def judge(batch: Batch, wanted: Outcome, simulated: Outcome, device: Outcome) -> Verdict:
    """Compare three outcomes of a batch."""
    verdict = Verdict()
    for number, each in enumerate(batch.statements):
        verdict.counts["statements"] += 1
        parts = batch.witnesses.get(number, [])
        found = _judged(number, each, parts, wanted, simulated, device, verdict.counts)
        verdict.differences += [Difference(each, who, detail) for who, detail in found]
    return verdict


def _judged(
    number: int, each: Statement, parts: list[int], wanted: Outcome, simulated: Outcome, device: Outcome, counts: Any
) -> list[tuple[str, str]]:
    plain, raised = wanted.raised[number], simulated.raised.get(number, {})
    is_left_out = number not in device.values and number not in device.refused
    if is_left_out:
        counts["not run: a work-item raises before its group meets"] += 1
        return []
    in_simulator = number in simulated.refused or len(raised) == ITEMS
    if number in device.refused:
        counts["refused"] += 1
        if in_simulator:
            return []
        return [("refused by the device alone", device.refused[number])]
    if number in simulated.refused:
        return [("refused by the simulator alone", simulated.refused[number])]
    if in_simulator and set(raised.values()) & {"TypeError", "AttributeError"}:
        return [("refused by the simulator alone", f"raises {sorted(set(raised.values()))}")]
    found: list[tuple[str, str]] = []
    items = np.arange(ITEMS)
    given = np.array([i not in plain for i in items])
    went = np.array([i not in raised for i in items])
    alone = [i for i in items if went[i] and not given[i] and plain[i] != "undefined"]
    if alone:
        found.append(("simulator", f"gives {simulated.values[number][alone[0]]!r} where Python raises {plain[alone[0]]}, item {alone[0]}"))
    odd = [i for i in items if not went[i] and given[i] and raised[i] not in _OPEN]
    if odd:
        found.append(("simulator", f"raises {raised[odd[0]]} where Python gives {wanted.values[number][odd[0]]!r}, item {odd[0]}"))
    counts["left open: Python raises"] += int((~given).sum())
    counts["left open: Python ints that do not fit"] += sum(name == "DtypeError" and given[i] for i, name in raised.items())
    divided = np.array([raised.get(i) == "ZeroDivisionError" for i in items])
    for who, outcome, there in (("simulator", simulated, given & went), ("device", device, given & (went | divided))):
        if number not in outcome.values:
            continue
        where = there & _agreed(parts, wanted, outcome)
        counts["left open: an inexact part differs"] += int((there & ~where).sum())
        counts["comparisons"] += int(where.sum())
        is_same = agreement(outcome.values[number], wanted.values[number], each.ulp, each.complex_ulp)
        wrong = np.flatnonzero(where & ~is_same)
        if wrong.size:
            i = wrong[0]
            found.append((who, f"{outcome.values[number][i]!r} for {wanted.values[number][i]!r}, item {i} ({wrong.size} items)"))
    return found


def _agreed(parts: list[int], wanted: Outcome, outcome: Outcome) -> Any:
    """The work-items whose inexact parts are, bit by bit, the ones that plain Python has."""
    agreed = np.ones(ITEMS, bool)
    for part in parts:
        if part not in outcome.values:
            return np.zeros(ITEMS, bool)
        agreed &= agreement(outcome.values[part], wanted.values[part], 0.0, 0.0)
        agreed &= [i not in wanted.raised[part] for i in range(ITEMS)]
    return agreed


def agreement(found: Any, wanted: Any, ulp: float, complex_ulp: float) -> Any:
    """Where two arrays agree: in value and in the sign of zero, within `ulp`; nan is nan."""
    with np.errstate(all="ignore"):
        if wanted.dtype.kind == "c":
            exact = agreement(found.real, wanted.real, 0, 0) & agreement(found.imag, wanted.imag, 0, 0)
            return exact | _near_complex(found, wanted, complex_ulp or ulp) if complex_ulp or ulp else exact
        equal = (found == wanted) | ((found != found) & (wanted != wanted))
        if wanted.dtype.kind != "f":
            return equal
        allowed = max(ulp, complex_ulp) if ulp or complex_ulp else 0.0
        if allowed:
            # Half a unit for the reference's own rounding, and as much again for a function in a narrower type.
            error = np.abs(found.astype(np.longdouble) - wanted.astype(np.longdouble))
            return equal | (error <= (allowed + 1) * np.spacing(np.abs(wanted)).astype(np.longdouble))
        return equal & ((np.signbit(found) == np.signbit(wanted)) | np.isnan(wanted))


def _near_complex(found: Any, wanted: Any, ulp: float) -> Any:
    """Distance in units of the whole number's size; what is infinite or nan may be so in another part."""
    eps = np.finfo(wanted.real.dtype).eps
    finite = np.isfinite(wanted)
    scale = np.maximum(np.abs(wanted), np.finfo(wanted.real.dtype).tiny)
    return np.where(finite, np.abs(found - wanted) <= ulp * eps * scale, ~np.isfinite(found))
