"""The logger `kapi`, and the variable that shows what it tells."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.log import LOGGER, launches


@kapi.kernel
def fill(item: kapi.Item, a):
    a[item.get_id(0)] = 1


PROGRAM = """
import numpy as np, kapi_sim as kapi

def fill(item: kapi.Item, a):
    pass

kapi.kernel(fill)[4](np.zeros(4))
"""


def run(**environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "KAPI_LOG"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=inherited | environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return done.stderr


def test_launches_are_logged_at_level_debug(caplog):
    with caplog.at_level(logging.DEBUG, "kapi"):
        fill[4](np.zeros(4))
    assert [record.getMessage() for record in caplog.records] == ["launch of `fill` over Range(4) in the simulator"]
    caplog.clear()
    with caplog.at_level(logging.INFO, "kapi"):
        fill[4](np.zeros(4))
    assert caplog.records == []


@pytest.mark.parametrize("logger", ["kapi", ""])
def test_level_is_known_to_the_fast_path_of_launches(caplog, logger):
    """A change of the logger's own at once, one of a logger above it when it is asked for."""
    assert not launches.are_logged
    with caplog.at_level(logging.DEBUG, logger):
        if not logger:
            launches.refresh()
        assert launches.are_logged
    launches.refresh()
    assert not launches.are_logged
    assert LOGGER is logging.getLogger("kapi")
    assert type(logging.getLogger("another")) is logging.Logger


def test_variable_shows_the_log():
    assert run() == ""
    assert run(KAPI_LOG="info") == ""
    assert run(KAPI_LOG="DEBUG").endswith(" kapi: launch of `fill` over Range(4) in the simulator\n")


def test_unknown_level_of_the_variable_is_a_warning():
    assert "KapiWarning: KAPI_LOG must be one of debug, info, warning, error, got 'loud'" in run(KAPI_LOG="loud")
