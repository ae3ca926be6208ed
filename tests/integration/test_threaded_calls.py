"""Calls from several threads on one queue give what they give alone, with what is compiled before them or by them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "threaded_calls.py"


def assert_right(what, state, threads, calls, environment):
    run = [sys.executable, "-X", "faulthandler", str(SCRIPT), what, state, str(threads), str(calls)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=3000, env=environment)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """No kernel is in the cache."""
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path))


def test_calls_of_several_threads_are_right(cold):
    """The first calls, each of which several threads make at once, and some more."""
    assert_right("offload", "cold", 6, 40, None)


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["offload", "dpnp"])
def test_a_hundred_thousand_calls_of_threads_are_right(what):
    """Of compiled functions, and of plain dpnp: what is wrong in both is not ours."""
    assert_right(what, "warm", 8, 12_500, None)


@pytest.mark.nightly
@pytest.mark.parametrize("process", range(50))
def test_first_calls_of_threads_are_right(process, cold):
    """In fresh processes with an empty cache: 100,000 calls in all."""
    assert_right("offload", "cold", 8, 250, None)
