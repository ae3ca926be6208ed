"""The kernel language on the processor: whole as it is compiled by default, a sample in other shapes."""

from dataclasses import replace

import pytest
from cpu_backend import SHAPES, Cpu, shapes

from kapi_cpu import host_target
from kapi_sim.testing.conformance import CASES

SAMPLE = CASES[::8]


def names(cases):
    return [case.name for case in cases]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_case(case):
    case.run(Cpu())


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("case", SAMPLE, ids=names(SAMPLE))
def test_case_in_another_shape(case, shape):
    case.run(Cpu(replace(host_target(), **SHAPES[shape])))


@pytest.mark.nightly
@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_each_case_in_another_shape(case, shape):
    case.run(Cpu(replace(host_target(), **SHAPES[shape])))
