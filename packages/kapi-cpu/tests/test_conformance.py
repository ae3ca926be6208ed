"""The kernel language on the processor, compiled by default and in other shapes: a sample by day, all at night.

kapi-runtime's tests run all of the suite each day, compiled by default.
"""

from dataclasses import replace

import pytest
from cpu_backend import SHAPES, Cpu, shapes

from kapi_cpu import host_target
from kapi_sim.testing.conformance import CASES


def names(cases):
    return [case.name for case in cases]


@pytest.mark.nightly(one_in=24)
@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_case(case):
    case.run(Cpu())


@pytest.mark.nightly(one_in=60)
@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_case_in_another_shape(case, shape):
    case.run(Cpu(replace(host_target(), **SHAPES[shape])))
