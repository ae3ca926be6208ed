"""Comparison of what a statement gave in both worlds with what plain Python gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from compositions.batches import Batch, Outcome
from compositions.kinds import ITEMS
from compositions.statements import Statement, environments

__all__ = ["Difference", "Verdict", "compare", "judge"]

_GUARDED = ("index", "loop bound", "loop start", "loop step")
_OPEN = {"DtypeError": "a Python int that does not fit", "ZeroDivisionError": "an integer divided by zero"}
"""The errors that the simulator raises by numbers.md where NumPy goes on, and why."""


@dataclass
class Difference:
    """One statement on which two of the three disagree."""

    statement: Statement
    who: str
    detail: str
    item: int = 0

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


def compare(statements: Sequence[Statement]) -> Verdict:
    """Run statements as a batch in both worlds and by plain Python; kapi-cpu's one lane names who made a difference."""
    batch = Batch(statements)
    wanted = batch.run_plainly()
    simulated, device = batch.simulate(wanted), batch.run_on_device(wanted)
    verdict = judge(batch, wanted, simulated, device)
    suspects = [each for each in verdict.differences if each.who == "device"]
    if suspects:
        opinion = batch.run_in_one_lane(wanted)
        for each in suspects:
            each.detail += f"\n    {_culprit(each, batch, wanted, device, opinion)}"
    return verdict


def _culprit(difference: Difference, batch: Batch, wanted: Outcome, device: Outcome, opinion: Outcome) -> str:
    each, i = difference.statement, difference.item
    number = batch.statements.index(each)
    if number not in opinion.values:
        return "no third opinion"
    seen = opinion.values[number][i : i + 1]
    for who, outcome in (
        ("the device: typing or lowering", device),
        ("Python: what the target writes", wanted),
    ):
        if agreement(seen, outcome.values[number][i : i + 1], each.ulp, each.complex_ulp, each.least)[0]:
            return f"kapi-cpu's one lane agrees with {who}"
    return f"kapi-cpu's one lane gives a third value: {seen[0]!r}"


def judge(batch: Batch, wanted: Outcome, simulated: Outcome, device: Outcome) -> Verdict:
    """Compare three outcomes of a batch."""
    verdict = Verdict()
    for number, each in enumerate(batch.statements):
        if each.name.startswith("part of "):
            continue  # only tells whether the rest can be compared
        verdict.counts["statements"] += 1
        witnesses = batch.witnesses.get(number, [])
        found = _judged(number, each, witnesses, wanted, simulated, device, verdict.counts)
        verdict.differences += [Difference(each, *parts) for parts in found]
    return verdict


def _judged(
    number: int, each: Statement, parts: list[int], wanted: Outcome, simulated: Outcome, device: Outcome, counts: Any
) -> list[tuple[Any, ...]]:
    plain, raised = wanted.raised[number], simulated.raised.get(number, {})
    is_left_out = number not in device.values and number not in device.refused
    if is_left_out:
        counts["not run: a work-item raises before its group meets"] += 1
        return []
    in_simulator = number in simulated.refused or len(raised) == ITEMS
    if number in device.refused:
        counts["refused"] += 1
        # Python refuses what it comes to: a branch that no work-item takes refuses nothing.
        if (
            in_simulator
            or each.is_mixed
            or _is_of_bools(each, device.refused[number])
            or set(raised.values()) & {"TypeError", "AttributeError", "DtypeError"}
            # What Python raises of a literal where it comes to it, the compiler refuses.
            or ("OverflowError" in raised.values() and "[number-unfit]" in device.refused[number])
        ):
            return []
        if not _is_reached(each):
            return []
        return [("refused by the device alone", device.refused[number])]
    if number in simulated.refused:
        return [("refused by the simulator alone", simulated.refused[number])]
    if in_simulator and set(raised.values()) & {"TypeError", "AttributeError"}:
        return [("refused by the simulator alone", f"raises {sorted(set(raised.values()))}")]
    if each.consumer is not None and each.consumer.group and set(raised.values()) & set(_OPEN):
        # What one work-item's number becomes is what others of its group get.
        counts["left open: a number of the group is"] += ITEMS
        return []
    found: list[tuple[Any, ...]] = []
    items = np.arange(ITEMS)
    given = np.array([i not in plain for i in items])
    went = np.array([i not in raised for i in items])
    # Whether a result is too large may hang on the last digit of a part.
    near = _agreed(parts, wanted, simulated, each.reads_sign)
    alone = [i for i in items if went[i] and near[i] and plain.get(i, "LeftOpenError") != "LeftOpenError"]
    alone = [] if each.is_mixed else alone
    if alone:
        found.append(
            (
                "simulator",
                f"gives {simulated.values[number][alone[0]]!r} where Python raises {plain[alone[0]]}, item {alone[0]}",
            )
        )
    near |= [any(i in simulated.raised.get(part, {}) for part in parts) for i in items]
    odd = [i for i in items if not went[i] and given[i] and near[i] and raised[i] not in _OPEN]
    odd = [] if each.is_mixed else odd
    if odd:
        found.append(
            (
                "simulator",
                f"raises {raised[odd[0]]} where Python gives {wanted.values[number][odd[0]]!r}, item {odd[0]}",
            )
        )
    counts["left open: Python raises"] += int((~given).sum())
    counts["left open: Python ints that do not fit"] += sum(
        name == "DtypeError" and bool(given[i]) for i, name in raised.items()
    )
    divided = np.array([raised.get(i) == "ZeroDivisionError" for i in items])
    for who, outcome, there in (("simulator", simulated, given & went), ("device", device, given & (went | divided))):
        if number not in outcome.values:
            continue
        if each.is_mixed and who == "simulator":
            counts["left open in the simulator: the type in Python depends on values"] += ITEMS
            continue
        where = there & _agreed(parts, wanted, outcome, each.reads_sign)
        counts["left open: an inexact part differs"] += int((there & ~where).sum())
        counts["comparisons"] += int(where.sum())
        is_same = agreement(outcome.values[number], wanted.values[number], each.ulp, each.complex_ulp, each.least)
        if each.wide and wanted.values[number].dtype.kind == "c":
            wide, conditions = _wide(each)
            is_same |= _near_wide(outcome.values[number], wide, conditions)
        if each.may_become_zero:
            is_same |= outcome.values[number] == wanted.values[number]
        wrong = np.flatnonzero(where & ~is_same)
        if wrong.size:
            i = wrong[0]
            found.append(
                (
                    who,
                    f"{outcome.values[number][i]!r} for {wanted.values[number][i]!r}, item {i} ({wrong.size} items)",
                    int(i),
                )
            )
    return found


def _is_of_bools(each: Statement, refusal: str) -> bool:
    """Whether it counts the bits of a Python bool, of which kernels do not."""
    return ".bit_count()" in each.name and "Python bool has no" in refusal


def _is_reached(each: Statement) -> bool:
    """Whether some work-item comes to what a condition guards; Python refuses nothing else."""
    if each.consumer is None or each.consumer.name not in _GUARDED:
        return True
    guard = next(line for line in "\n".join(each.lines).split("\n") if line.startswith("if "))
    for seen in environments():
        try:
            if eval(guard.removeprefix("if ").removesuffix(":"), seen):
                return True
        except Exception:  # what raises there does not come further
            continue
    return False


def _agreed(parts: list[int], wanted: Outcome, outcome: Outcome, reads_sign: bool) -> Any:
    """The work-items whose inexact parts are, bit by bit, the ones that plain Python has."""
    agreed = np.ones(ITEMS, bool)
    for part in parts:
        if part not in outcome.values:
            return np.zeros(ITEMS, bool)
        agreed &= agreement(outcome.values[part], wanted.values[part], 0.0, 0.0)
        agreed &= [i not in wanted.raised[part] for i in range(ITEMS)]
        if reads_sign:
            agreed &= ~np.isnan(wanted.values[part])
    return agreed


def agreement(found: Any, wanted: Any, ulp: float, complex_ulp: float, least: float = 0.0) -> Any:
    """Mask of equal elements: in value and sign of zero, within `ulp`, `least`'s for smaller ones; nan is nan."""
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
            return equal | (
                error
                <= (allowed + 1)
                * np.spacing(np.maximum(np.abs(wanted), wanted.dtype.type(least))).astype(np.longdouble)
            )
        return equal & ((np.signbit(found) == np.signbit(wanted)) | np.isnan(wanted))


_POWER_ULP = 16.0
"""Units by which a logarithm times an exponent may be wrong: a product of two complex numbers, each inexact."""


def _wide(each: Statement) -> tuple[Any, Any]:
    """The result in wider floats and its condition, for each work-item."""
    values, conditions = np.full(ITEMS, np.nan, np.clongdouble), np.ones(ITEMS)
    for i, seen in enumerate(environments()):
        try:
            values[i], conditions[i] = eval(each.wide, seen)
        except Exception:  # what raises there has no result to compare
            continue
    return values, conditions


def _near_wide(found: Any, wide: Any, conditions: Any) -> Any:
    """Mask of distances that rounding the logarithm explains; a value as near to the type's end may be beyond it."""
    with np.errstate(all="ignore"):
        ends = np.finfo(found.real.dtype)
        allowed, sizes = np.expm1(_POWER_ULP * conditions * ends.eps), np.abs(wide)
        is_near = np.abs(found.astype(np.clongdouble) - wide) <= allowed * np.maximum(sizes, ends.tiny)
        is_beyond = np.isfinite(wide) & ~np.isfinite(found) & (sizes * (1 + allowed) >= ends.max)
        return is_near | is_beyond


def _near_complex(found: Any, wanted: Any, ulp: float) -> Any:
    """Distance in units of the complex number's size; what is infinite or nan may be so in another part."""
    eps = np.finfo(wanted.real.dtype).eps
    finite = np.isfinite(wanted)
    scale = np.maximum(np.abs(wanted), np.finfo(wanted.real.dtype).tiny)
    # Of a power, one unit of its logarithm is as many of its own.
    steps = ulp * (1 + np.abs(np.log(scale)) / 8)
    return np.where(finite, np.abs(found - wanted) <= steps * eps * scale, ~np.isfinite(found))
