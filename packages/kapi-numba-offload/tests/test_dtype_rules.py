"""Dtypes by NumPy's rules and the tables of differences, against what array libraries give: every function and dtype.

Another library is a row more in `LIBRARIES`, on machines that can import it.
"""

import importlib
import importlib.util
import itertools

import numpy as np
import pytest

from kapi_numba_offload.analysis.operations import ELEMENTWISE, IN_PLACE
from kapi_numba_offload.elements.dtype_rules import CUPY, DIFFERENCES, ArrayType, DtypeRules
from kapi_numba_offload.elements.reduction_operators import FUSED_REDUCTIONS

LIBRARIES = [
    (name, differences)
    for name, differences in DIFFERENCES.items()
    if importlib.util.find_spec(name) and importlib.import_module(name).__name__ == name
]  # fmt: skip
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip
NUMBERS = [
    True, 1, -1, 300, 2**40, 2**63, 2**64, -(2**63) - 1, 1.0, 1e300, 1j, np.bool_(1), np.int8(1), np.int64(1),
    np.uint64(1), np.float16(1), np.float32(1), np.float64(1), np.complex64(1),
]  # fmt: skip

libraries = pytest.mark.parametrize(("library", "differences"), LIBRARIES, ids=[name for name, _ in LIBRARIES])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of values, which do not count


def dtype_or_refusal(function, *args):
    """The dtype of a result; None where it is refused."""
    try:
        made = function(*args)
    except (AttributeError, TypeError, ValueError, OverflowError, RuntimeError):
        return None
    return made.dtype


def is_left_to(differences, name, case):
    """Whether the rules may refuse what the library does, which then does it itself: see `CUPY`."""
    is_wide = any(type(each) is int and not 0 <= each < 128 for each in case)
    return differences is CUPY and (is_wide or name in ("arctan2", "copysign", "hypot", "nextafter"))


def differences_found(differences, name, function, rule, cases, arrays, types):
    """Results of a library's function and of the rule for operands of these dtypes or numbers, where they differ."""
    found, expected_dtypes = [], set()
    for case in cases:
        expected = dtype_or_refusal(function, *(arrays[each] if type(each) is str else each for each in case))
        result = dtype_or_refusal(rule, *(types[each] if type(each) is str else each for each in case))
        expected_dtypes.add(expected)
        if result != expected and not (result is None and is_left_to(differences, name, case)):
            found.append((case, result, expected))
    assert name in differences.refused or expected_dtypes != {None}
    return found


def operands(library, differences):
    """Arrays of a library, and their types; without elements, as no kernel is built then."""
    module, rules = importlib.import_module(library), DtypeRules(differences)
    arrays = {each: module.ones(0, dtype=each) for each in DTYPES}
    return module, rules, arrays, {each: ArrayType(np.dtype(each), 1, "device", rules) for each in DTYPES}


def has_array(case):
    return str in map(type, case)


@pytest.mark.nightly(one_in=8)
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
    function = row.apply or getattr(module, name, None)

    def rule(*given):
        return rules.elementwise(name, given)

    assert differences_found(differences, name, function, rule, cases, arrays, types) == []


@pytest.mark.nightly(one_in=3)
@libraries
@pytest.mark.parametrize("name", IN_PLACE)
def test_updates_in_place_are_refused_as_the_library_does(library, differences, name):
    """An array of every dtype, by arrays and numbers."""
    _, rules, arrays, types = operands(library, differences)

    def update(target, operand):
        rules.require_in_place(name, target, operand)
        return target

    cases = itertools.product(DTYPES, [*DTYPES, *NUMBERS])
    assert differences_found(differences, name, IN_PLACE[name], update, cases, arrays, types) == []


@pytest.mark.nightly(one_in=2)
@libraries
@pytest.mark.parametrize("words", [{}, {"axis": 0}, {"axis": (0, 1)}, {"axis": 1, "keepdims": True}], ids=str)
def test_reductions_have_the_librarys_dtypes(library, differences, words):
    """Over all elements and along axes, of every dtype."""
    module, rules, _, types = operands(library, differences)
    for name in FUSED_REDUCTIONS:
        if name in ("argmax", "argmin") and isinstance(words.get("axis"), tuple):
            continue  # a position is along one axis
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
