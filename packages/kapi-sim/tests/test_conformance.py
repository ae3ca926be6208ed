"""The simulator runs the conformance suite, with all checks, with none, and in another order."""

from __future__ import annotations

import pytest

import kapi_sim
from kapi_sim.spec import INTRINSICS
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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_unchecked(case):
    with kapi_sim.simulation(checks="none"):
        case.run(Simulator())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_permuted(case):
    with kapi_sim.simulation(seed=7):
        case.run(Simulator())


def test_cases_have_unique_names():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 35


def test_cases_cover_every_intrinsic():
    covered = {key for case in CASES for key in case.covers}
    assert covered == {row.key for row in INTRINSICS}
