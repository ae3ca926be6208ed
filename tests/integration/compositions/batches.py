"""Hundreds of statements as one kernel: run by plain Python, in the simulator and on the device."""

from __future__ import annotations

import cmath
import itertools
import linecache
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import cpu_backend
import device_arrays
import numpy as np

import kapi_runtime
import kapi_sim
from compositions.consumers import SUB_GROUP, WORK_GROUP
from compositions.groups import combined
from compositions.kinds import ITEMS, inputs, prelude
from compositions.reference import compiled, converted, updated
from compositions.statements import Statement, environments
from kapi_sim.errors import KernelCompilationError
from kapi_sim.instrument import instrumented_kernel

__all__ = ["Batch", "Outcome"]

_SERIALS = itertools.count()
_POISON = 0xA5


@dataclass
class Outcome:
    """One world's results of a batch.

    Attributes
    ----------
    values : dict of int to numpy.ndarray
        What each statement stored, an element for each work-item.
    raised : dict of int to dict
        For each statement, the class of what work-items raised.
    refused : dict of int to str
        Statements that were refused before anything ran, and the words for it.
    """

    values: dict[int, Any] = field(default_factory=dict)
    raised: dict[int, dict[int, str]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)


class Batch:
    """Statements that are compiled together.

    Parameters
    ----------
    statements : sequence of Statement
        All of them group algorithms, or none.
    """

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = list(statements)
        self.has_groups = any(each.consumer and each.consumer.group for each in statements)
        self.witnesses: dict[int, list[int]] = {}
        seen: dict[str, int] = {}
        for number, each in enumerate(statements):
            for part, plain in each.inexact:
                if part not in seen:
                    seen[part] = len(self.statements)
                    shared = () if each.consumer and each.consumer.group else (part,)
                    code = _witness_code(plain)
                    made = Statement(f"part of {each.name}", (), part, code, parts=shared, plain=plain)
                    self.statements.append(made)
                self.witnesses.setdefault(number, []).append(seen[part])
        used = Counter(part for each in self.statements for part in each.parts)
        self._shared = {part: position for position, part in enumerate(used) if used[part] > 1}
        self.arrays = inputs()
        self.launched: list[tuple[Any, list[int]]] = []  # kernels that ran on the device, and their statements

    # -- plain Python

    def run_plainly(self) -> Outcome:
        """Each statement for each work-item over NumPy's scalars."""
        outcome = Outcome()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, each in enumerate(self.statements):
                self._run_one(number, each, outcome)
        return outcome

    def _run_one(self, number: int, each: Statement, outcome: Outcome) -> None:
        source = "\n".join((*each.plain_lines, f"found = {each.plain or each.result}"))
        lines = [line for line in source.split("\n") if "kapi.PrivateArray" not in line]
        is_private = len(lines) < source.count("\n") + 1
        code = compiled("\n".join(lines))
        found: list[Any] = []
        raised: dict[int, str] = {}
        for i, seen in enumerate(environments()):
            local: dict[str, Any] = {"p": _Cells(each.out)} if is_private else {}
            try:
                exec(code, seen, local)
                value = local["found"]
                if each.consumer is None or not each.consumer.group:
                    atomic = each.consumer.atomic if each.consumer else ()
                    value = (
                        updated(converted(5, each.out), atomic[0], value, each.out)
                        if atomic
                        else converted(value, each.out)
                    )
            except Exception as error:  # whatever Python raises is an outcome
                raised[i] = type(error).__name__
                value = None
            found.append(value)
        if each.consumer and each.consumer.group and not raised:
            try:
                found = combined(each.consumer.group, found, each.out)
            except Exception as error:
                raised = dict.fromkeys(range(ITEMS), type(error).__name__)
        outcome.raised[number] = raised
        values = np.zeros(ITEMS, each.out)
        if each.consumer and each.consumer.group and raised:
            raised.update((i, next(iter(raised.values()))) for i in range(ITEMS))
        for i, value in enumerate(found):
            if i not in raised:
                values[i] = value
        outcome.values[number] = values

    # -- kernels

    def _rows(self, chosen: Sequence[int]) -> dict[int, tuple[str, int]]:
        rows: dict[int, tuple[str, int]] = {}
        counts: dict[str, int] = {}
        for number in chosen:
            each = self.statements[number]
            prefix = "c" if each.consumer and each.consumer.atomic else "o"
            name = f"{prefix}_{each.out.replace('?', 'b1')}"
            rows[number] = name, counts.get(name, 0)
            counts[name] = rows[number][1] + 1
        return rows

    def written(self, chosen: Sequence[int], is_guarded: bool) -> tuple[str, list[str], dict[int, list[int]]]:
        """The kernel of some statements, its parameters, and the statements of each line."""
        rows = self._rows(chosen)
        names = sorted({name for number in chosen for name in self.statements[number].variables})
        shared = dict.fromkeys(
            part for number in chosen for part in self.statements[number].parts if part in self._shared
        )
        arrays = sorted({prelude(name)[1] for name in names})
        parameters = [*arrays, *sorted({name for name, _ in rows.values()}), "table"]
        lines = [f"def kernel(item, {', '.join(parameters)}):"]
        if self.has_groups:
            lines += ["    i = item.get_global_id(0)", "    group = item.get_group()", "    sub = item.get_sub_group()"]
        else:
            lines.append("    i = item.get_id(0)")
        lines += ["    c = i % 3 == 1", *(f"    {name} = {prelude(name)[0]}" for name in names)]
        statements_of: dict[int, list[int]] = {}
        for part in shared:
            line = f"v{self._shared[part]} = {part}"
            if is_guarded:
                failed = f"    note({-1 - self._shared[part]}, i, error)"
                lines += [f"    {each}" for each in ("try:", f"    {line}", "except Exception as error:", failed)]
            else:
                lines.append(f"    {line}")
                statements_of[len(lines)] = [number for number in chosen if part in self.statements[number].parts]
        for number in chosen:
            each, (name, row) = self.statements[number], rows[number]
            text = [*each.lines]
            if each.consumer and each.consumer.atomic:
                text.append(f"kapi.AtomicRef({name}, ({row}, i)).{each.consumer.atomic[0]}({each.result})")
            else:
                result = each.result
                if each.consumer and each.consumer.group:
                    text += _converging(each)
                    result = "r"
                text.append(f"{name}[{row}, i] = {result}")
            # Names of a statement's own, so that no variable has two types.
            text = [re.sub(r"(?<![\w.])([rktpej])(?![\w(.'])", rf"\g<1>_{number}", line) for line in text]
            for part in each.parts:
                if part in shared:
                    text = [line.replace(part, f"v{self._shared[part]}") for line in text]
            if is_guarded:
                text = [
                    "try:",
                    *(f"    {line}" for line in text),
                    "except Exception as error:",
                    f"    note({number}, i, error)",
                ]
            for line in text:
                lines.append(f"    {line}")
                statements_of[len(lines)] = [number]
        return "\n".join(lines) + "\n", parameters, statements_of

    def run_in_one_lane(self, wanted: Outcome) -> Outcome:
        """Run the kernels that ran on the device as kapi-cpu's code of one work-item after the other."""
        outcome = Outcome()
        for kernel, part in self.launched:
            _, parameters, _ = self.written(part, is_guarded=False)
            given = self._given(part, parameters, wanted)
            cpu_backend.one_lane().call(kernel, self._space(kapi_sim), *given.values())
            self._collected(outcome, part, given)
        return outcome

    def _given(self, chosen: Sequence[int], parameters: Sequence[str], wanted: Outcome) -> dict[str, Any]:
        rows = self._rows(chosen)
        given: dict[str, Any] = {}
        for name in parameters:
            if name == "table":
                given[name] = np.arange(16, dtype=np.int64) * 3
            elif name[0] == "a":
                given[name] = self.arrays[name[1:]]
            else:
                numbers = [number for number in chosen if rows[number][0] == name]
                code = name[2:].replace("b1", "?")
                if name[0] == "c":
                    given[name] = np.full((len(numbers), ITEMS), 5, code)
                elif code == "?":
                    given[name] = ~np.array([wanted.values[number] for number in numbers])
                else:
                    given[name] = np.full((len(numbers), ITEMS * np.dtype(code).itemsize), _POISON, np.uint8).view(code)
        return given

    def _function(self, source: str, world: Any, **extra: Any) -> tuple[Any, str]:
        filename = f"<batch {next(_SERIALS)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        namespace = {"np": np, "math": math, "cmath": cmath, "kapi": world, **extra}

        def same(v: Any) -> Any:
            return v

        def sum_of(v: Any, w: Any) -> Any:
            return v + w

        namespace |= {"same": world.device_func(same), "sum_of": world.device_func(sum_of)}
        exec(compile(source, filename, "exec"), namespace)
        return namespace["kernel"], filename

    def _space(self, world: Any) -> Any:
        return world.NdRange((ITEMS,), (WORK_GROUP,)) if self.has_groups else world.Range(ITEMS)

    def _decorated(self, world: Any, function: Any) -> Any:
        options = {"sub_group_size": device_arrays.SUB_GROUP} if self.has_groups else {}
        return world.kernel(**options)(function)

    def _collected(self, outcome: Outcome, chosen: Sequence[int], arrays: dict[str, Any]) -> None:
        for number, (name, row) in self._rows(chosen).items():
            outcome.values[number] = arrays[name][row]

    # -- the simulator

    def simulate(self, wanted: Outcome) -> Outcome:
        """Run in the simulator; a statement that raises does not keep others from being run."""
        outcome = Outcome()
        # Where a group converges, all work-items must come: statements that raise somewhere are not run.
        chosen = [n for n in range(len(self.statements)) if not (self.has_groups and _may_diverge(wanted.raised[n]))]
        chosen = self._checked(chosen, outcome)
        if self.has_groups:
            return self._simulated_groups(chosen, wanted, outcome)

        def note(number: int, i: int, error: BaseException) -> None:
            outcome.raised.setdefault(number, {})[i] = _name_of(error)

        source, parameters, _ = self.written(chosen, is_guarded=True)
        given = self._given(chosen, parameters, wanted)
        function, _ = self._function(source, kapi_sim, note=note, Exception=Exception)
        # A kernel has no `try`; here it stands around what the kernel has, which was checked before.
        found, instrumented_kernel.find_problems = instrumented_kernel.find_problems, lambda *_: []
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                kapi_sim.call_kernel(self._decorated(kapi_sim, function), self._space(kapi_sim), *given.values())
        finally:
            instrumented_kernel.find_problems = found
        for number in chosen:
            # What a part raises, the statement raises where it comes to the part.
            for part in self.statements[number].parts:
                raised = outcome.raised.get(-1 - self._shared[part], {}) if part in self._shared else {}
                if raised:
                    guard = _guard(self.statements[number], part)
                    raised = {i: name for i, name in raised.items() if guard is None or guard[i]}
                    outcome.raised[number] = outcome.raised.get(number, {}) | raised
        self._collected(outcome, chosen, given)
        return outcome

    def _checked(self, chosen: list[int], outcome: Outcome) -> list[int]:
        """Without the statements that the simulator's check of the source refuses."""
        source, _, statements_of = self.written(chosen, is_guarded=False)
        function, filename = self._function(source, kapi_sim)
        tree = instrumented_kernel.parse_function(function)
        for problem in instrumented_kernel.find_problems(tree, function, True):
            line = int(problem.removeprefix(filename + ":").split(":")[0])
            outcome.refused |= dict.fromkeys(statements_of.get(line, ()), problem)
        return [number for number in chosen if number not in outcome.refused]

    def _simulated_groups(self, chosen: list[int], wanted: Outcome, outcome: Outcome) -> Outcome:
        doubtful = [number for number in chosen if wanted.raised[number]]
        pending = [*([number] for number in doubtful), [n for n in chosen if not wanted.raised[n]]]
        while pending:
            part = pending.pop()
            if not part:
                continue
            source, parameters, statements_of = self.written(part, is_guarded=False)
            given = self._given(part, parameters, wanted)
            function, filename = self._function(source, kapi_sim)
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    kapi_sim.call_kernel(self._decorated(kapi_sim, function), self._space(kapi_sim), *given.values())
            except Exception as error:
                numbers = part if len(part) == 1 else _statements_that_raised(error, filename, statements_of)
                if not numbers:
                    pending += [part[: len(part) // 2], part[len(part) // 2 :]]
                    continue
                for number in numbers:
                    outcome.raised[number] = dict.fromkeys(range(ITEMS), _name_of(error))
                pending.append([each for each in part if each not in numbers])
                continue
            self._collected(outcome, part, given)
        return outcome

    # -- the device

    def run_on_device(self, wanted: Outcome) -> Outcome:
        """Run on the device, without the statements that are refused."""
        outcome = Outcome()
        chosen = [n for n in range(len(self.statements)) if not (self.has_groups and _may_diverge(wanted.raised[n]))]
        # What is to be refused goes by itself, for what is refused costs all others another compilation.
        doubtful = {n for n in chosen if len(wanted.raised[n]) == ITEMS or "TypeError" in wanted.raised[n].values()}
        pending = [sorted(doubtful), [n for n in chosen if n not in doubtful]]
        while pending:
            part = pending.pop()
            if not part:
                continue
            source, parameters, statements_of = self.written(part, is_guarded=False)
            given = self._given(part, parameters, wanted)
            function, filename = self._function(source, kapi_runtime)
            kernel = self._decorated(kapi_runtime, function)
            arrays = {name: device_arrays.asarray(value) for name, value in given.items()}
            try:
                kapi_runtime.call_kernel(kernel, self._space(kapi_runtime), *arrays.values())
            except KernelCompilationError as error:
                found = dict(_refusals(str(error), filename, statements_of))
                if not found and len(part) == 1:
                    found = {part[0]: str(error)}
                outcome.refused |= found
                if found:
                    pending.append([number for number in part if number not in found])
                else:
                    pending += [part[: len(part) // 2], part[len(part) // 2 :]]
                continue
            self._collected(
                outcome, part, {name: device_arrays.asnumpy(arrays[name]) for name in arrays if name[0] in "oc"}
            )
            self.launched.append((kernel, part))
        return outcome


_LANES = {
    "shift_group_left": f"sub.get_local_id() + 3 < {SUB_GROUP}",
    "shift_group_right": "sub.get_local_id() >= 3",
}
"""The work-items to which a shift gives a value; elsewhere the statement keeps the work-item's own."""


def _converging(each: Statement) -> list[str]:
    assert each.consumer is not None
    lines = [f"r = {each.consumer.result.replace('{V}', each.result)}"]
    guard = _LANES.get(each.consumer.group[1])
    return [*lines, *([f"if not ({guard}):", f"    r = {each.result}"] if guard else [])]


def _name_of(error: BaseException) -> str:
    """The class of what the simulator raises; of a division by zero that Python's own operator may raise, Python's."""
    return "ZeroDivisionError" if isinstance(error, ZeroDivisionError) else type(error).__name__


def _may_diverge(raised: dict[int, str]) -> bool:
    """Whether some work-items raise; what all of them refuse is to be refused."""
    return bool(raised) and set(raised.values()) != {"TypeError"}


class _Cells:
    """A private array of two elements."""

    def __init__(self, code: str) -> None:
        self._array = np.zeros(2, code)
        self._code = code

    def __setitem__(self, index: int, value: Any) -> None:
        self._array[index] = converted(value, self._code)

    def __getitem__(self, index: int) -> Any:
        return self._array[index]


def _witness_code(part: str) -> str:
    from compositions.kinds import as_strong
    from compositions.statements import kind_of_expression

    return as_strong(kind_of_expression((), part) or "f8")


def _refusals(message: str, filename: str, statements_of: dict[int, list[int]]) -> Iterator[tuple[int, str]]:
    for line in message.splitlines():
        found = re.match(rf"\s*{re.escape(filename)}:(\d+): (.*)", line)
        if found and int(found.group(1)) in statements_of:
            for number in statements_of[int(found.group(1))]:
                yield number, found.group(2)


def _statements_that_raised(error: BaseException, filename: str, statements_of: dict[int, list[int]]) -> Sequence[int]:
    """Those of the innermost line of the kernel: a part that several share is computed for all of them."""
    trace = error.__traceback__
    found: Sequence[int] = ()
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found = statements_of.get(trace.tb_lineno, found)
        trace = trace.tb_next
    return found


def _guard(each: Statement, part: str) -> list[bool] | None:
    """For each work-item whether it comes to a part that stands in a branch; None where all of them do."""
    lines = "\n".join(each.lines).split("\n")
    if part in each.result or any(part in line for line in lines if not line.startswith(" ")):
        return None
    test = next(line for line in lines if line.startswith("if ")).removeprefix("if ").removesuffix(":")
    return [bool(eval(test, seen)) for seen in environments()]
