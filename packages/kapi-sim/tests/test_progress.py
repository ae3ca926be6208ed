"""Progress of a long launch in a terminal."""

from __future__ import annotations

import io
import re
import threading
import time

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import progress

SIZE = 60_000
"""Work-items of a launch that takes longer than Python's threads have a turn, 5 ms."""


class Terminal(io.StringIO):
    """A stream that says of itself that it is a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.told = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if "kapi: `" in text:
            self.told.set()
        return super().write(text)


def use_terminal(monkeypatch) -> Terminal:
    """Make standard error a terminal, on which each launch is told of; pytest has its own until a test runs."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "AFTER", 0.0)
    monkeypatch.setattr(progress, "EVERY", 0.001)
    return stream


def count(item: kapi.Item, a):
    i = item.get_id(0)
    a[i] = a[i] + 1


def count_in_groups(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    a[i] = a[i] + 1
    kapi.group_barrier(item.get_group())


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(
    ("function", "space", "noun"),
    [
        (count, kapi.Range(SIZE), f"{SIZE} work-items"),
        (count_in_groups, kapi.NdRange(SIZE, 10), f"{SIZE // 10} work-groups"),
    ],
)
def test_terminal_shows_how_far_a_launch_is(function, space, noun, checks, monkeypatch):
    terminal = use_terminal(monkeypatch)
    kernel = kapi.kernel(function)
    with kapi.simulation(checks=checks):
        # The thread that looks has its turn within some launches; how many is the machine's matter.
        deadline = time.monotonic() + 120
        while not terminal.told.is_set() and time.monotonic() < deadline:
            kapi.call_kernel(kernel, space, np.zeros(SIZE))
    told = re.findall(r"\r\x1b\[Kkapi: `(\w+)` has run (\d+) of (\d+ [\w-]+), \d+ s", terminal.getvalue())
    assert told
    assert {(name, of) for name, _, of in told} == {(function.__name__, noun)}
    assert all(0 <= int(done) <= SIZE for _, done, _ in told)
    # At the end the line is taken back.
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_quick_launch_is_not_reported(monkeypatch):
    terminal = use_terminal(monkeypatch)
    monkeypatch.setattr(progress, "AFTER", 60.0)
    kapi.call_kernel(kapi.kernel(count), kapi.Range(1000), np.zeros(1000))
    assert terminal.getvalue() == ""


def test_launch_that_stands_still_is_not_reported_again(monkeypatch):
    terminal = use_terminal(monkeypatch)
    states = iter([1, 1, 2])
    follower = progress.Follower(lambda: ("4 of 9", next(states)))
    shown = []
    for _ in range(3):
        follower.poll()
        shown.append(terminal.getvalue().count("kapi: 4 of 9, "))
    assert shown == [1, 1, 2]


def test_rest_is_estimated_from_the_part_that_is_done(monkeypatch):
    terminal = use_terminal(monkeypatch)
    states = iter([0.0, 0.25, 0.5])
    follower = progress.Follower(lambda: ("4 of 9", object()), lambda: next(states), _start=time.monotonic() - 100)
    for _ in range(3):
        follower.poll()
    assert re.findall(r"kapi: 4 of 9, 10\d s(?:, about (\d+) s more)?", terminal.getvalue()) == ["", "300", "100"]


def test_nothing_is_followed_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert progress.follow_launch("k", "work-items", 1, lambda: (0, 0)) is None
    monkeypatch.setattr("sys.stderr", None)
    assert progress.follow_launch("k", "work-items", 1, lambda: (0, 0)) is None


def test_machine_without_threads_runs_silently(monkeypatch):
    terminal = use_terminal(monkeypatch)

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(progress, "_threads", [])
    monkeypatch.setattr("threading.Thread.start", refuse)
    kapi.call_kernel(kapi.kernel(count), kapi.Range(3), np.zeros(3))
    assert terminal.getvalue() == ""


def test_error_takes_the_line_back(monkeypatch):
    terminal = use_terminal(monkeypatch)

    def fail(item: kapi.Item, a):
        a[item.get_id(0) + 1] = 1

    with pytest.raises(kapi.OutOfBoundsError):
        kapi.call_kernel(kapi.kernel(fail), kapi.Range(2), np.zeros(2))
    assert progress._running == []
    assert terminal.getvalue() == "" or terminal.getvalue().endswith("\r\x1b[K")


def test_terminal_shows_other_work_and_the_line_is_taken_back(monkeypatch):
    terminal = use_terminal(monkeypatch)
    with progress.progress_text("compiling kernel `k`"):
        deadline = time.monotonic() + 120
        while "kapi: compiling kernel `k`, 0 s" not in terminal.getvalue() and time.monotonic() < deadline:
            time.sleep(0.001)
    assert "kapi: compiling kernel `k`, 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
