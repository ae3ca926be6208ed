"""A whole target, the host's own processor: what every target shares is compiled and run, without device or driver."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from host_target import LACKING, HostTarget, NotOnHost, host_kernel
from llvmlite import ir

import kapi_sim
from kapi_lowering import Target
from kapi_lowering.emission import client
from kapi_sim.language import KernelOptions
from kapi_sim.testing.conformance import CASES

LEFT_OUT: Counter[str] = Counter()
ASKING = {
    *("atomics/fences", "atomics/compare-exchange-until-done", "atomics/extremes-float64", "calls/atomic-keywords"),
    *("sub-groups/predicates", "sub-groups/queries-in-two-dimensions", "sub-groups/combined-float32"),
    *("collectives/broadcast-bool", "calls/atomic-in-a-branch", "atomics/local-bins", "math/two-arguments-float32"),
    "constants/uses",
}
"""Cases that come to most of what a target is asked."""


class Host:
    """The conformance suite's back end: NumPy arrays, and kernels compiled for the host."""

    def __init__(self, optimised: bool = True, target: HostTarget = HostTarget()) -> None:  # noqa: B008  # a value
        self._optimised, self._target = optimised, target
        names = {name: getattr(kapi_sim, name) for name in kapi_sim.__all__}
        self.kapi = SimpleNamespace(**names | {"call_kernel": self.call_kernel})

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return array.copy()

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return array

    def call_kernel(self, kernel: Any, space: Any, *arguments: Any) -> None:
        has_groups = isinstance(space, kapi_sim.NdRange)
        extents = tuple(space.global_range) if has_groups else tuple(space)
        run = host_kernel(
            kernel.py_func,
            len(extents),
            arguments,
            kernel.options,
            self._optimised,
            has_groups=has_groups,
            target=self._target,
        )
        run(extents, *arguments, local=tuple(space.local_range) if has_groups else None)


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_on_the_host(case):
    """Every case in which no work-item waits for another; the others are counted by what they need."""
    try:
        case.run(Host())
    except NotOnHost as why:
        assert may_converge(case), "no word of the kernel makes work-items wait"
        for what in sorted({LACKING[part.split()[0]] for part in str(why).split("; ")}):
            LEFT_OUT[what] += 1
        LEFT_OUT["cases"] += 1


def test_cases_left_out_are_those_that_wait(capsys):
    """The cases' sources, which say by themselves whether work-items converge, name everything that the host lacks."""
    with capsys.disabled():
        print(f"\n{len(CASES) - LEFT_OUT['cases']} of {len(CASES)} cases run on the host; left out, by what they need:")
        print(*(f"  {count}: {what}" for what, count in sorted(LEFT_OUT.items()) if what != "cases"), sep="\n")
    convergent = sum(may_converge(case) for case in CASES)
    assert LEFT_OUT["cases"] <= convergent < len(CASES) / 3


def may_converge(case):
    """Whether the source of a case's kernel has a word by which work-items converge."""
    make = inspect.unwrap(case.make)
    source = inspect.getsource(case.make(kapi_sim).py_func if make.__closure__ else make)
    return any(
        word in source for word in ("barrier", "over_group", "_of_group", "group_broadcast", "sub_group", "joint_")
    )


@pytest.mark.nightly(one_in=40)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_on_the_host_without_optimisation(case):
    try:
        case.run(Host(optimised=False))
    except NotOnHost:
        pass


OF_LAUNCHES = {"code", "for_any_launch", "is_small"}
"""Properties that compilation does not ask for: those of launches, and of targets themselves."""


def methods():
    """Whatever a code generator must or may answer while it compiles."""
    named = {name for name in vars(Target) if not name.startswith("_") and name not in Target.__annotations__}
    return named - OF_LAUNCHES


def test_every_method_of_target_is_called():
    """By what all targets share, as it compiles the conformance suite: a question that nothing asks is to go."""
    asked: set[str] = set()

    class Recorded(HostTarget):
        def __getattribute__(self, name: str) -> Any:
            # What a target asks of itself does not count.
            asker = str(sys._getframe(1).f_globals.get("__name__"))
            if asker.startswith("kapi_lowering.") and asker != Target.__module__:
                asked.add(name)
            return super().__getattribute__(name)

    def prints(item, out):
        print(item.get_id(0), "is", out[0] > 0)

    targets = [Recorded(), Recorded(needs_linear_groups=True, has_shuffles=False)]
    assert targets[0].for_any_launch() is targets[0]  # the runtime's question
    for target in targets:
        host_kernel(prints, 1, [np.zeros(1)], target=target)
    # Those that ask for most first; all of them if that was not all.
    for case in sorted(CASES, key=lambda case: case.name not in ASKING):
        if asked >= methods():
            break
        for target in targets:
            try:
                case.run(Host(target=target))
            except NotOnHost:
                pass
    assert methods() - asked == set()


def test_method_that_nothing_calls_would_be_found(monkeypatch):
    monkeypatch.setattr(Target, "colour", lambda self: "red", raising=False)
    assert "colour" in methods()


def test_target_is_a_value():
    """It is a part of cache keys."""
    assert HostTarget() == HostTarget()
    assert hash(HostTarget()) == hash(HostTarget())
    assert HostTarget() != HostTarget(needs_linear_groups=True)


def test_numba_and_targets_are_not_in_the_helper():
    """Only llvmlite, the server and the target's own folder run there."""

    def kernel(item, out):
        out[item.get_id(0)] = 1

    host_kernel(kernel, 1, [np.zeros(1)])
    helper = client._helpers[HostTarget().emission]
    maps = Path(f"/proc/{helper._process.pid}/maps").read_text("utf-8")
    assert "llvmlite" in maps
    assert "numba" not in maps
    assert "numpy" not in maps


def test_constant_of_a_condition_is_a_float():
    """-1 of a condition as a float: LLVM's SPIR-V back end made it 1, in the IR it is right."""

    def kernel(item, values, out):
        i = item.get_id(0)
        out[i] = np.where(values[i] > 0.5, -1, 0)

    for optimised in (True, False):
        out = np.zeros(4, np.float32)
        given = [np.array([0.0, 1.0, 2.0, 0.1]), out]
        host_kernel(kernel, 1, given, optimised=optimised)((4,), *given)
        np.testing.assert_array_equal(out, [0, -1, -1, 0])


def test_float16_is_rounded_once():
    """By NumPy's own numbers: sums, conversions from float64 and integers, functions, and neighbours."""

    def kernel(item, x, y, wide, n, out):
        i = item.get_id(0)
        out[0, i] = x[i] + y[i]
        out[1, i] = x[i] * y[i]
        out[2, i] = np.float16(wide[i])
        out[3, i] = np.float16(n[i])
        out[4, i] = np.nextafter(x[i], y[i])
        out[5, i] = x[i] / y[i]
        out[6, i] = abs(x[i]) + np.float16(0.1) * 3

    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**16, (2, 4000)).astype(np.uint16)
    x, y = bits.view(np.float16)
    # Random ones, and those halfway between two of float16's.
    halfway = np.nan_to_num(x[:2000].astype(np.float64)) * (1 + 2.0**-11)
    wide = np.concatenate([rng.standard_normal(2000) * 10.0 ** rng.integers(-9, 6, 2000), halfway])
    n = rng.integers(-(2**31), 2**31, 4000, dtype=np.int32) >> rng.integers(0, 31, 4000)
    out = np.zeros((7, 4000), np.float16)
    given = [x.copy(), y.copy(), wide, n.astype(np.int32), out]
    host_kernel(kernel, 1, given)((4000,), *given)
    with np.errstate(all="ignore"):
        wanted = [x + y, x * y, wide.astype(np.float16), n.astype(np.float16), np.nextafter(x, y), x / y]
        wanted.append(np.abs(x) + np.float16(0.1) * 3)
    for found, right in zip(out, wanted, strict=True):
        np.testing.assert_array_equal(found, right)


def test_print_is_cs(capfd):
    import ctypes

    def kernel(item, out):
        i = item.get_id(0)
        print("item", i, out[i], out[i] > 2, np.float32(0.5))

    out = np.array([1.5, 2.5])
    host_kernel(kernel, 1, [out])((2,), out)
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "item 0 1.5 False 0.5\nitem 1 2.5 True 0.5\n"


def test_failures_are_recorded():
    """The first one, with its work-item and what was wrong."""

    def kernel(item, x, out):
        i = item.get_id(0)
        out[i] = x[i + 3]

    given = [np.arange(6.0), np.zeros(6)]
    found = host_kernel(kernel, 1, given, KernelOptions(debug=True))((6,), *given)
    assert found is not None
    failure, record = found
    assert failure.error == "OutOfBoundsError"
    assert record.global_id == (3, 0, 0)
    assert record.details[0] == 6


def test_fault_of_lowering_is_seen(monkeypatch):
    """The host computes what the IR says: a sum that is lowered to a difference is one."""

    def kernel(item, values, out):
        i = item.get_id(0)
        out[i] = values[i] + values[0]

    monkeypatch.setattr(ir.IRBuilder, "fadd", ir.IRBuilder.fsub)
    given = [np.array([1.0, 2.0, 3.0]), np.zeros(3)]
    run = host_kernel(kernel, 1, given)
    assert "fsub double" in run.module.optimized_llvm_ir
    run((3,), *given)
    np.testing.assert_array_equal(given[1], [0, 1, 2])


@pytest.mark.parametrize("what", ["barrier", "sub_group"])
def test_what_the_host_lacks_is_refused(what):
    def barrier(item, out):
        kapi_sim.group_barrier(item.get_group())
        out[item.get_global_id(0)] = 1

    def sub_group(item, out):
        out[item.get_global_id(0)] = item.get_sub_group().get_local_id()

    with pytest.raises(NotOnHost, match=f"{what} of work-items"):
        host_kernel({"barrier": barrier, "sub_group": sub_group}[what], 1, [np.zeros(4)], has_groups=True)
