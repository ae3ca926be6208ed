"""Overlap of the arrays of one launch, by their addresses."""

import itertools

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.errors import DtypeError
from kapi_sim.language.array_memory import is_between, may_share, span
from kapi_sim.language.usm_protocol import protocol_fields
from kapi_sim.testing.reports import raises


def test_is_between_is_true_of_columns_and_never_of_views_that_share_a_byte():
    """Against NumPy's exact search, over views of one matrix."""
    random = np.random.default_rng(3)
    base = np.zeros((7, 9, 4))
    views = [
        base[tuple(slice(*sorted(random.integers(0, n + 1, 2)), random.integers(1, 3)) for n in base.shape)]
        for _ in range(60)
    ]
    views += [each[::-1, :, ::-1] for each in views[:20]] + [base[:, k, 1:3] for k in range(4)] + [base[1, :, :2]]
    passed = 0
    for one, other in itertools.permutations([each for each in views if each.size], 2):
        if one.ndim != other.ndim:
            continue
        fields = []
        for each in (one, other):
            strides = tuple(stride // each.itemsize for stride in each.strides)
            pointer = each.__array_interface__["data"][0]
            low, high = span(pointer, each.shape, strides, each.ndim, each.itemsize)
            fields += [low, high, each.shape, strides, each.itemsize]
        if is_between(*fields, one.ndim):
            assert not np.shares_memory(one, other)
            passed += may_share(*fields[:2], *fields[5:7])
    assert passed > 100
    first, second = base[:, 1, 0], base[:, 2, 0]
    assert is_between(0, 6 * 288 + 8, first.shape, (36,), 8, 32, 6 * 288 + 40, second.shape, (36,), 8, 1)


class Exporter:
    """An object that tells what it likes."""

    def __init__(self, interface):
        self.__sycl_usm_array_interface__ = interface


ADDRESS = 1 << 20
ARRAY = {"typestr": "<f8", "data": (ADDRESS, False), "shape": (4,), "strides": None, "version": 1, "syclobj": None}


@pytest.mark.parametrize(
    "interface",
    [
        None,
        [1],
        {},
        *(
            {key: value for key, value in ARRAY.items() if key != left_out}
            for left_out in ("typestr", "data", "shape", "syclobj")
        ),
        *(
            {**ARRAY, key: value}
            for key, value in [
                *(("shape", each) for each in ((-3,), (4.0,), "4", None, (2**62,), 4)),
                *(("strides", each) for each in ((1, 2), (), "x", (0.5,), 3)),
                *(("offset", each) for each in ("1", 0.5, 2**62)),
                *(("data", (each, False)) for each in (-8, 2**70, "x", None)),
                *(("data", each) for each in (None, 5, (ADDRESS,))),
                *(("typestr", each) for each in (None, "zz", "__import__('os')", 8)),
            ]
        ),
    ],
    ids=repr,
)
def test_description_of_no_array_is_refused(interface):
    with raises(DtypeError, "usm-array-interface", words=False):  # many are NumPy's and Python's
        protocol_fields(Exporter(interface))

    @kapi.kernel
    def first(item: kapi.Item, a):
        a[0] = 1

    with raises(DtypeError, "usm-array-interface", words=False) as raised:
        first[1](Exporter(interface))
    assert raised.value.message.startswith("argument `a`: ")


def test_array_between_elements_is_refused():
    with raises(DtypeError, "array-misaligned"):
        protocol_fields(Exporter({**ARRAY, "data": (ADDRESS + 3, False)}))


@pytest.mark.parametrize("shape", [(0,), (4, 0), [4], (), (2, 2)])
def test_description_of_an_array_is_taken(shape):
    """One without elements may be anywhere."""
    assert protocol_fields(Exporter({**ARRAY, "shape": shape})).shape == tuple(shape)
    assert protocol_fields(Exporter({**ARRAY, "data": (0, False), "shape": (0,)})).span == (0, 0)
