"""Every kernel of the conformance suite compiles to a valid module; no device is needed for that.

By day it is a sample. kapi-runtime's tests run all of the suite each day, on the CPU.
"""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim
from kapi_sim.testing.case import Local, Strided
from kapi_sim.testing.conformance import CASES
from kapi_spirv import SpirvTarget
from kapi_types import ArrayType, ItemType, NdItemType, typeof_argument
from kapi_types.kernel_api import tuple_of


def signature(case):
    """The types of a case's arguments, as a device's arrays would have them."""
    index_type = ItemType if len(case.space) == 1 else NdItemType
    return [index_type(len(case.space[0])), *map(_type, case.inputs())]


def _type(value):
    if isinstance(value, Strided):
        value = value.view(value.base)
    if isinstance(value, Local):
        value = kapi_sim.LocalAccessor(value.shape, value.dtype)
    if isinstance(value, tuple):
        return tuple_of(value, tuple(map(_type, value)))
    if not isinstance(value, np.ndarray):
        return typeof_argument(value)
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
    return ArrayType(typeof_argument(np.zeros((), value.dtype)[()]), value.ndim, layout)


@pytest.mark.nightly(one_in=5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_kernel_compiles(validated_compile, require_same_ir, case):
    """To a module that spirv-val accepts, with a parameter for each argument."""
    kernel = case.make(kapi_sim).py_func
    module = validated_compile(kernel, signature(case))
    assert len(module.parameters) >= sum(each is not None and not callable(each) for each in case.inputs())
    assert set(module.extensions) <= set(SpirvTarget().extensions)
    require_same_ir(module)


def dtypes(value):
    """The dtypes of what is strong in an argument."""
    if isinstance(value, Strided):
        value = value.base
    if isinstance(value, tuple):
        return {each for member in value for each in dtypes(member)}
    return {np.dtype(value.dtype)} if hasattr(value, "dtype") and not callable(value) else set()


SINGLE = [case for case in CASES if {each for value in case.inputs() for each in dtypes(value)} == {np.dtype("f4")}]


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
def test_float32_kernel_has_no_double(validated_compile, case):
    """Literals, ids and Python's numbers take the type of the other operand, so no device has to have doubles."""
    module = validated_compile(case.make(kapi_sim).py_func, signature(case))
    assert "Float64" not in module.capabilities


def test_conformance_suite_is_not_empty():
    """A suite that lost its cases tests nothing."""
    assert len(CASES) >= 35
    assert len(SINGLE) >= 2
