"""Records of the logger `kapi` for the first call of an offloaded function."""

from __future__ import annotations

import logging
import re

import dpnp
import numba
import pytest

import kapi_numba_offload  # noqa: F401


@numba.njit
def running_sums(a):
    for i in numba.prange(a.shape[0]):
        a[i] *= 2
    for i in range(1, a.shape[0]):
        a[i] += a[i - 1] // 2


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_first_call_logs_what_is_made_and_the_second_nothing(caplog):
    with caplog.at_level(logging.INFO, "kapi"):
        running_sums(first := dpnp.ones(40_000))
        told = [re.sub(r"line_\d+", "line_N", each) for each in caplog.messages]
        told = [re.sub(r"\d+\.\d{3} s$", "SECONDS", each) for each in told]
        assert "function `running_sums`: partitioned for a device, SECONDS" in told
        assert "loop `running_sums_line_N`: compiled for the host by Numba, SECONDS" in told
        caplog.clear()
        running_sums(dpnp.ones(40_000))
        assert caplog.messages == []
    assert float(first[-1]) == 3.0
