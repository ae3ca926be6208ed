"""The kernel language on the processor: whole as it is compiled by default, a sample in other shapes."""

from dataclasses import replace

import pytest
from cpu_backend import Cpu

from kapi_cpu import host_target
from kapi_sim.testing.conformance import CASES

SAMPLE = CASES[::8]
SSE = "+sse4.2,+ssse3,+popcnt,+cx16"
AVX2 = f"{SSE},+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt"
SHAPES = {
    "scalar": {"lanes": 1},
    "4": {"lanes": 4},
    "32": {"lanes": 32},
    "sse4.2": {"cpu": "x86-64-v2", "features": SSE},
    "avx2": {"cpu": "x86-64-v3", "features": AVX2},
}


def names(cases):
    return [case.name for case in cases]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_case(case):
    case.run(Cpu())


def shapes():
    """Those that this processor can run."""
    has = host_target().features.split(",")
    return [
        name
        for name, changes in SHAPES.items()
        if all(each in has for each in changes.get("features", "").split(",") if each)
    ]


@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("case", SAMPLE, ids=names(SAMPLE))
def test_case_in_another_shape(case, shape):
    case.run(Cpu(replace(host_target(), **SHAPES[shape])))


@pytest.mark.nightly
@pytest.mark.parametrize("shape", shapes())
@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_each_case_in_another_shape(case, shape):
    case.run(Cpu(replace(host_target(), **SHAPES[shape])))
