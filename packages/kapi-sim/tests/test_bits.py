"""Bits of integers on the host: what their types decide, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

KINDS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("kind", KINDS)
def test_results_have_the_type_of_the_argument(kind):
    for made in (kapi.clz(kind(1)), kapi.ctz(kind(1)), kapi.popcount(kind(1)), kapi.rotate(kind(1), -1)):
        assert type(made) is kind
    assert type(kapi.mul_hi(kind(1), 1)) is kind
    assert kapi.rotate(kind(1), -1) == np.iinfo(kind).min or kapi.rotate(kind(1), -1) == np.iinfo(kind).max // 2 + 1


def test_python_integers_are_64_bits_wide():
    assert (kapi.clz(0), kapi.ctz(0), kapi.popcount(-1), kapi.rotate(1, 63)) == (64, 64, 64, -(2**63))
    assert kapi.mul_hi(-(2**63), 2) == -1


def test_factors_have_their_common_type():
    assert type(kapi.mul_hi(np.int32(5), np.uint8(3))) is np.int32
    assert type(kapi.mul_hi(np.int32(5), np.uint32(3))) is np.int64


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: kapi.clz(1.0), "bits-of-integer"),
        (lambda: kapi.popcount(True), "bits-of-integer"),
        (lambda: kapi.ctz(2**63), "integer-too-wide"),
        (lambda: kapi.rotate(np.int8(1), 0.5), "bits-of-integer"),
        (lambda: kapi.mul_hi(np.int64(1), np.uint64(1)), "bits-of-integer"),
        (lambda: kapi.mul_hi(np.int8(1), 300), "number-unfit"),
        (lambda: kapi.mul_hi(np.int8(1), None), "bits-of-integer"),
    ],
)
def test_what_is_no_integer_is_refused(call, code):
    with raises(kapi.DtypeError, code):
        call()
