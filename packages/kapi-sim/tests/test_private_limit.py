"""Private memory has a limit, the same as on devices."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.language import MAX_PRIVATE_BYTES
from kapi_sim.testing.reports import raises

TOO_MUCH = MAX_PRIVATE_BYTES // 4 + 1


@pytest.mark.parametrize("size", [TOO_MUCH, 10**7, 10**9])
def test_private_arrays_have_a_limit(size):
    @kapi.kernel
    def large(item: kapi.Item, out):
        scratch = kapi.PrivateArray(size, np.float32)
        scratch[0] = 1
        out[item.get_id(0)] = scratch[0]

    with raises(kapi.LimitError, "private-memory-too-large", line="scratch = kapi.PrivateArray(size, np.float32)"):
        large[1](np.zeros(1))


def test_private_arrays_of_a_kernel_are_counted_together():
    """Also those of functions; one that is made again in a loop is one."""
    half = MAX_PRIVATE_BYTES // 8

    @kapi.device_func
    def other(x):
        scratch = kapi.PrivateArray(half, np.float32)
        scratch[0] = x
        return scratch[0]

    @kapi.kernel
    def both(item: kapi.Item, out, one_more):
        for i in range(3):
            scratch = kapi.PrivateArray(half, np.float32)
            scratch[0] = other(i)
            out[0] = scratch[0]
        if one_more:
            more = kapi.PrivateArray(1, np.float32)
            more[0] = 1

    both[1](np.zeros(1), False)
    with raises(kapi.LimitError, "private-memory-too-large", line="more = kapi.PrivateArray(1, np.float32)"):
        both[1](np.zeros(1), True)
