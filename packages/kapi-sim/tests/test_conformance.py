"""The simulator runs the conformance suite, with all checks, with none, and in another order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kapi_sim
from kapi_sim.checks import ALL_CHECKS
from kapi_sim.language import INTRINSICS
from kapi_sim.testing import cases
from kapi_sim.testing.conformance import CASES


class Simulator:
    kapi = kapi_sim

    def to_device(self, array):
        return array.copy(order="C")

    def to_host(self, array):
        return array.copy()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case):
    case.run(Simulator())


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_unchecked(case):
    with kapi_sim.simulation(checks="none"):
        case.run(Simulator())


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_permuted(case):
    with kapi_sim.simulation(seed=7):
        case.run(Simulator())


CHECKED = [case for case in CASES if case.name.partition("/")[0] in ("atomics", "collectives", "sub-groups", "private")]


@pytest.mark.nightly(one_in=6)
@pytest.mark.parametrize("case", CHECKED, ids=lambda case: case.name)
@pytest.mark.parametrize("check", sorted(ALL_CHECKS))
def test_conformance_with_one_check(check, case):
    with kapi_sim.simulation(checks={check}):
        case.run(Simulator())


@pytest.mark.parametrize("size", [1, 3, 4, 64])
def test_conformance_of_sub_groups_of_any_size(size):
    for case in CASES:
        if case.name.startswith("sub-groups/"):
            with kapi_sim.simulation(seed=size, profile=kapi_sim.Profile(sub_group_sizes=(size,))):
                case.run(Simulator())


def test_each_kernel_of_the_cases_has_a_case():
    """One that lost its case would run no more, and nobody would hear of it."""
    unused = []
    for file in Path(cases.__path__[0]).rglob("*_cases.py"):
        text = file.read_text("utf-8")
        names = re.findall(r"^def (_\w+)", text, re.MULTILINE)
        unused += [name for name in names if len(re.findall(rf"\b{name}\b", text)) < 2]
    assert not unused


def test_cases_have_unique_names():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 35


def test_cases_cover_every_intrinsic():
    covered = {key for case in CASES for key in case.covers}
    assert covered == {row.key for row in INTRINSICS}


class WritesNothing(Simulator):
    """A back end that takes every launch and runs none."""

    class kapi:
        call_kernel = staticmethod(lambda *args: None)
        Range, NdRange, LocalAccessor = kapi_sim.Range, kapi_sim.NdRange, kapi_sim.LocalAccessor

        @staticmethod
        def kernel(function):
            return function

        @staticmethod
        def device_func(given):
            return given if callable(given) else lambda function: function


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_is_not_passed_by_writing_nothing(case):
    if case.name == "arrays/no-work-items":
        case.run(WritesNothing())
        return
    with pytest.raises(AssertionError):
        case.run(WritesNothing())
