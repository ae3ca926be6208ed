"""Dtypes by NumPy's rules and the tables of differences, against what array libraries give: every function and dtype.

Another library is a row more in `LIBRARIES`, on machines that can import it.
"""

import importlib
import importlib.util
import itertools

import dpnp
import numba
import numpy as np
import pytest
from dpnp.tensor import _type_utils

from kapi_numba_offload.analysis.operations import ELEMENTWISE, IN_PLACE
from kapi_numba_offload.elements.dtype_rules import DPNP, ArrayType, DtypeRules
from kapi_numba_offload.elements.expression import apply
from kapi_numba_offload.elements.operands import type_of
from kapi_numba_offload.elements.reductions import FUSED_REDUCTIONS

LIBRARIES = [
    (name, differences)
    for name, differences in {"dpnp": DPNP}.items()
    if importlib.util.find_spec(name)
]  # fmt: skip
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
NUMBERS = [
    True, 1, -1, 300, 2**40, 2**63, 2**64, -(2**63) - 1, 1.0, 1e300, 1j, np.bool_(1), np.int8(1), np.int64(1),
    np.uint64(1), np.float16(1), np.float32(1), np.float64(1), np.complex64(1),
]  # fmt: skip
KINDS = ["device", "shared", "host"]

libraries = pytest.mark.parametrize(("library", "differences"), LIBRARIES, ids=[name for name, _ in LIBRARIES])


pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of values, which do not count


def dtype_or_refusal(function, *args):
    """The dtype of a result; None where it is refused."""
    try:
        return function(*args).dtype
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None


def differences_found(function, rule, cases, arrays, types):
    """What a library's function and the rule give for operands of these dtypes or numbers, where they differ."""
    found = []
    for case in cases:
        expected = dtype_or_refusal(function, *(arrays[each] if type(each) is str else each for each in case))
        result = dtype_or_refusal(rule, *(types[each] if type(each) is str else each for each in case))
        if result != expected:
            found.append((case, result, expected))
    return found


def operands(library, differences, length=0):
    """Arrays of a library, and their types; without elements, as no kernel is built then."""
    module, rules = importlib.import_module(library), DtypeRules(differences)
    arrays = {each: module.ones(length, dtype=each) for each in DTYPES}
    return module, rules, arrays, {each: ArrayType(np.dtype(each), 1, "device", rules) for each in DTYPES}


def has_array(case):
    return str in map(type, case)


@libraries
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_dtypes_are_the_librarys(library, differences, name):
    """All dtypes, pairs of them, and pairs with numbers; what the library refuses the rule refuses."""
    module, rules, arrays, types = operands(library, differences)
    row = ELEMENTWISE[name]
    each = [*DTYPES, *NUMBERS]
    first = ["bool", "int32", "float32", True]
    cases = [each[:14], [each, each], [first, each, each]][row.arity - 1]
    cases = [(one,) for one in cases] if row.arity == 1 else filter(has_array, itertools.product(*cases))
    function = row.apply or getattr(module, name)
    assert differences_found(function, lambda *given: rules.elementwise(name, given), cases, arrays, types) == []


@libraries
@pytest.mark.parametrize("name", IN_PLACE)
def test_updates_in_place_are_refused_as_the_library_does(library, differences, name):
    """An array of every dtype, by arrays and numbers."""
    _, rules, arrays, types = operands(library, differences)

    def update(target, operand):
        rules.require_in_place(name, target, operand)
        return target

    cases = itertools.product(DTYPES, [*DTYPES, *NUMBERS])
    assert differences_found(IN_PLACE[name], update, cases, arrays, types) == []


@libraries
@pytest.mark.parametrize("words", [{}, {"axis": 0}, {"axis": (0, 1)}, {"axis": 1, "keepdims": True}], ids=str)
def test_reductions_have_the_librarys_dtypes(library, differences, words):
    """Whole and along axes, of every dtype."""
    module, rules, _, types = operands(library, differences)
    for name in FUSED_REDUCTIONS:
        for dtype in DTYPES:
            array = module.ones((1, 1), dtype=dtype)
            expected = getattr(module, name)(array, **words).dtype
            assert rules.reduction(name, types[dtype]).dtype == expected, (name, dtype)


@libraries
def test_conversions_are_the_librarys(library, differences):
    """To the dtypes that it has; others are refused."""
    _, _, arrays, types = operands(library, differences)
    for dtype in [*DTYPES, float, "f4", "longdouble", "clongdouble", "object", "S3", "datetime64[s]", ">f8"]:
        result, expected = (dtype_or_refusal(each["bool"].astype, dtype) for each in (types, arrays))
        assert result == expected, dtype


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


def test_numbers_on_the_device_have_numbas_integers():
    """Operations of arrays without axes and of numbers, beside what they are for the arrays."""
    zero_d = {each: dpnp.ones((), dtype=each) for each in ["bool", "int8", "uint8", "uint32", "int64", "float32"]}
    for name in ["add", "multiply", "divide", "power", "left_shift", "less", "maximum"]:
        for case in filter(has_array, itertools.product([*zero_d, 1, 300, np.int8(1)], repeat=2)):
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
    dtypes = [np.dtype(each) for each in DTYPES if each not in missing]
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
