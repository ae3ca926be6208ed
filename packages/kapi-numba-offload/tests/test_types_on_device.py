"""Types of operations on the device that the dtypes alone do not decide: memory, ranks, numbers, and what it lacks."""

import itertools

import dpnp
import numba
import numpy as np
import pytest
from dpnp.tensor import _type_utils

from kapi_numba_offload.analysis.operations import ELEMENTWISE
from kapi_numba_offload.elements.dtype_rules import DPNP, ArrayType, DtypeRules
from kapi_numba_offload.elements.expression import apply
from kapi_numba_offload.elements.operands import type_of

KINDS = ["device", "shared", "host"]


def dtype_or_refusal(function, *args):
    """The dtype of a result; None where it is refused."""
    try:
        return function(*args).dtype
    except (TypeError, ValueError, OverflowError):
        return None


def test_results_have_the_librarys_memory_kind_and_rank():
    """Of operands of two kinds and ranks; numbers have none."""
    for one, other in itertools.product(KINDS, KINDS):
        a, b = dpnp.ones((1, 1), usm_type=one), dpnp.ones(1, usm_type=other)
        for given in [(a > 0, a, b), (b > 0, 1, a), (a > 0, b, 2.0)]:
            result, expected = apply("where", [*map(type_of, given)]), dpnp.where(*given)
            assert (result.kind, result.ndim) == (expected.usm_type, expected.ndim)
        result = apply("add", [type_of(a), type_of(b)])
        assert (result.kind, result.ndim) == ((a + b).usm_type, 2)
        assert apply("sqrt", [type_of(b)]).astype("int8") == type_of(dpnp.sqrt(b).astype("int8"))


def test_numbers_on_the_device_have_the_integers_of_numba():
    """Operations of arrays without axes and of numbers, and what they are for the arrays."""
    zero_d = {each: dpnp.ones((), dtype=each) for each in ["bool", "int8", "uint8", "uint32", "int64", "float32"]}
    for name in ["add", "divide", "left_shift", "less"]:
        for case in itertools.product([*zero_d, 1, 300, np.int8(1)], repeat=2):
            if str not in map(type, case):
                continue
            given = [zero_d[each] if type(each) is str else each for each in case]
            result = dtype_or_refusal(apply, name, [*map(type_of, given)])
            assert result == dtype_or_refusal(apply, name, given), (name, case)


class Device:
    """A device as dpnp asks it for the dtypes that it has."""

    def __init__(self, *, has_fp16, has_fp64):
        self.has_aspect_fp16, self.has_aspect_fp64 = has_fp16, has_fp64


@pytest.mark.parametrize("missing", [(), ("float16",), ("float64", "complex128")], ids=str)
def test_devices_without_a_dtype_have_dpnps_answers(missing):
    """By dpnp's own search among the dtypes of its kernels, which asks the device what it has."""
    device = Device(has_fp16="float16" not in missing, has_fp64="float64" not in missing)
    rules = DtypeRules(DPNP, frozenset(missing))
    dtypes = [np.dtype(each) for each in sorted(DPNP.dtypes - set(missing))]
    for name, row in ELEMENTWISE.items():
        if name in ("where", "divide"):  # it has no such search, or one that asks a device that exists
            continue
        function = getattr(dpnp, name)
        search = [_type_utils._find_buf_dtype, _type_utils._find_buf_dtype2][row.arity - 1]
        for given in itertools.product(dtypes, repeat=row.arity):
            try:
                *_, expected = search(*given, function.result_type_resolver_fn_, device, function.acceptance_fn_)
            except (TypeError, ValueError):  # functions that bools do not have
                expected = None
            types = [ArrayType(each, 1, "device", rules) for each in given]
            assert dtype_or_refusal(rules.elementwise, name, types) == expected, (name, given)


def test_first_calls_run_nothing_of_dpnp(monkeypatch, launches):
    """Not for the dtypes of what they store or reduce: one kernel, made for what it is given."""
    a, b = dpnp.ones((1, 5), dtype="float32"), dpnp.ones((3, 5), dtype="int16")

    @numba.njit
    def f(a, b):
        c = np.exp(a / 3) + np.where(b > 1, b, 2)
        b += 1
        return c

    @numba.njit
    def g(a, b):
        return np.sum(a * b, axis=0)

    def refuse(*_, **__):
        raise AssertionError("dpnp has run an operation")

    for each in (dpnp.add, dpnp.exp):
        monkeypatch.setattr(type(each), "__call__", refuse)
    for each in ("where", "sum"):
        monkeypatch.setattr(dpnp, each, refuse)
    launches.clear()
    assert f(a, b).dtype == np.float32
    assert g(a, b).dtype == np.float32
    assert len(launches) == 2
