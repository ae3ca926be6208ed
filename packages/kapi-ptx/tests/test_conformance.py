"""Every kernel of the conformance suite compiles to PTX that `ptxas` assembles; no GPU is needed for that.

By day it is a sample. kapi-runtime's tests run all of the suite each day, on the CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim
from kapi_ptx import PtxTarget, compile_kernel
from kapi_sim.language import KernelOptions
from kapi_sim.testing.case import Local, Strided
from kapi_sim.testing.conformance import CASES
from kapi_types import ArrayType, ItemType, NdItemType, typeof_argument
from kapi_types.kernel_api import tuple_of


def signature(case):
    """The types of a case's arguments, as arrays on a GPU would have them."""
    index_type = ItemType if len(case.space) == 1 else NdItemType
    return [index_type(len(case.space[0])), *map(type_of, case.inputs())]


def type_of(value):
    match value:
        case Strided():
            return type_of(value.view(value.base))
        case Local():
            return typeof_argument(kapi_sim.LocalAccessor(value.shape, value.dtype))
        case tuple():
            return tuple_of(value, tuple(map(type_of, value)))
        case np.ndarray():
            layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
            return ArrayType(typeof_argument(np.zeros((), value.dtype)[()]), value.ndim, layout)
        case _:
            return typeof_argument(value)


def compiled(case, **options):
    return compile_kernel(case.make(kapi_sim).py_func, signature(case), **options)


@pytest.mark.nightly(one_in=5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_kernel_assembles(assemble, require_same_ir, case):
    """As most launches have it: with extents of 31 bits, and nothing written to what is read."""
    module = compiled(case, target=PtxTarget(80, is_small=True, reads_apart=True))
    assert assemble([module]) == ""
    assert len(module.parameters) >= sum(each is not None and not callable(each) for each in case.inputs())
    require_same_ir(module)


@pytest.mark.nightly(one_in=60)
@pytest.mark.parametrize("sm", [75, 90, 100])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_kernel_assembles_for_other_architectures(assemble, case, sm):
    assert assemble([compiled(case, target=PtxTarget(sm))]) == ""


@pytest.mark.nightly(one_in=80)
@pytest.mark.parametrize(
    "options", [{"debug": True}, {"inline": "never"}, {"fastmath": True}, {"lineinfo": True}], ids=str
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_kernel_assembles_whatever_the_options(assemble, case, options):
    assert assemble([compiled(case, target=PtxTarget(80), options=KernelOptions(**options))]) == ""


@pytest.mark.nightly(one_in=25)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_kernel_assembles_without_optimisation(assemble, case):
    assert assemble([compiled(case, target=PtxTarget(80), optimise=False)]) == ""


def dtypes(value):
    """The dtypes of what is strong in an argument."""
    if isinstance(value, tuple):
        return {each for member in value for each in dtypes(member)}
    value = value.base if isinstance(value, Strided) else value
    return {np.dtype(value.dtype)} if hasattr(value, "dtype") and not callable(value) else set()


SINGLE = [case for case in CASES if {each for value in case.inputs() for each in dtypes(value)} == {np.dtype("f4")}]


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
def test_float32_kernel_has_no_double(case):
    """A float64 costs 64 times a float32 on most of these devices: none may come in unasked."""
    assert ".f64" not in compiled(case, target=PtxTarget(80)).ptx


def test_conformance_suite_is_not_empty():
    """A suite that lost its cases tests nothing."""
    assert len(CASES) >= 35
    assert len(SINGLE) >= 2
