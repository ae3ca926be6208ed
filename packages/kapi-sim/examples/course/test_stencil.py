"""Requirements of a submission: right in every order, and one read of global memory for each work-item."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.exercises import expect_at_most, expect_equal


def launch(kernel):
    a, c = np.arange(1.0, 9.0), np.zeros(8)
    kapi.call_kernel(kernel, kapi.NdRange(8, 8), a, c, kapi.LocalAccessor(8, a.dtype))
    expect_equal("c", c, np.convolve(a, [1, 1, 1])[:8])


@pytest.mark.kapi(orders=4)
def test_sums_are_right_in_every_order(kapi_checks, stencil):
    launch(stencil)


def test_sums_are_right_on_a_small_device(stencil):
    with kapi.simulation(profile="small-groups"):
        launch(stencil)


def test_work_items_read_one_element_of_global_memory(stencil):
    with kapi.trace() as trace:
        launch(stencil)
    expect_at_most(trace, 1, "read")
