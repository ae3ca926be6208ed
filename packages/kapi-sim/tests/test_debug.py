"""Stopping in a kernel: the user's own lines, and one work-item if asked for."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.device_func
def doubled(value):
    breakpoint()  # noqa: T100
    return value


@kapi.kernel
def stops(nd_item: kapi.NdItem, a):
    i = nd_item.get_global_id(0)
    kapi.group_barrier(nd_item.get_group())
    breakpoint()  # noqa: T100
    a[i] = doubled(i)


@kapi.kernel
def stops_in_two_dimensions(item: kapi.Item, a):
    i, j = item.get_id(0), item.get_id(1)
    breakpoint()  # noqa: T100
    a[i, j] = i


@pytest.fixture
def stopped(monkeypatch):
    """The local variables of each frame in which a breakpoint was hit."""
    frames = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: frames.append(dict(sys._getframe(1).f_locals)))
    return frames


@pytest.mark.parametrize("checks", ["all", "none"])
def test_breakpoint_stops_in_one_item(stopped, checks):
    with kapi.simulation(checks=checks), kapi.debug(item=5):
        kapi.call_kernel(stops, kapi.NdRange(8, 4), np.zeros(8))
    assert [frame.get("i", frame.get("value")) for frame in stopped] == [5, 5]
    stopped.clear()
    with kapi.simulation(checks=checks), kapi.debug(item=(3, 0)):
        kapi.call_kernel(stops_in_two_dimensions, kapi.Range(4, 2), np.zeros((4, 2)))
    assert [(frame["i"], frame["j"]) for frame in stopped] == [(3, 0)]


def test_breakpoint_stops_in_each_item_otherwise(stopped):
    kapi.call_kernel(stops_in_two_dimensions, kapi.Range(2, 2), np.zeros((2, 2)))
    assert [(frame["i"], frame["j"]) for frame in stopped] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize(
    "item",
    [
        -1,
        (1, 2, 3, 4),
        "a",
        True,
    ],
)
def test_item_is_validated(item):
    with raises(kapi.KernelLaunchError, "debug-item"), kapi.debug(item=item):
        pass


def test_item_that_no_launch_has_is_reported(stopped):
    with raises(kapi.KernelLaunchError, "debug-item-absent"), kapi.debug(item=9):
        kapi.call_kernel(stops_in_two_dimensions, kapi.Range(2, 2), np.zeros((2, 2)))
    assert stopped == []


PROGRAM = """
import numpy as np
import kapi_sim as kapi

@kapi.kernel
def reverse(nd_item: kapi.NdItem, a, tile):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = a[i]
    while k > 100:
        k = k - 1
    breakpoint()
    kapi.group_barrier(nd_item.get_group())
    a[i] = tile[3 - k] + 1

with kapi.debug(item=2):
    kapi.call_kernel(reverse, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, float))
print("ended")
"""


def test_pdb_shows_the_users_own_lines(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    commands = "p 'i is', i\nlist\nnext\nwhere\np 'tile holds', tile[0]\ncontinue\n"
    result = subprocess.run(
        [sys.executable, str(path)], input=commands, capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 0, result.stderr
    output = result.stdout
    assert "('i is', 2)" in output
    assert "tile[k] = a[i]" in output
    assert "-> kapi.group_barrier(nd_item.get_group())" in output
    assert "program.py(13)reverse()" in output or "program.py(14)reverse()" in output
    assert "_kapi" not in output
    assert "('tile holds', np.float64(0.0))" in output
    assert output.count("('i is'") == 1
    assert output.rstrip().endswith("ended")
