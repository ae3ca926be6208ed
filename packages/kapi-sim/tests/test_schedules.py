"""Several orders of one launch: outputs that differ are named, with the seed that replays them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import kapi_sim as kapi


@kapi.kernel
def last_writer(item: kapi.Item, out, fixed):
    i = item.get_id(0)
    out[0] = i
    fixed[i] = i


@kapi.kernel
def fails_after_a_later_item(item: kapi.Item, out):
    i = item.get_id(0)
    if i == 0 and out[1] == 1:
        raise ValueError("item one came first")
    out[i] = 1


def test_seed_of_the_note_replays_the_difference():
    out = np.full(1, -1.0)
    with (
        kapi.simulation(checks="none", schedules=2),
        pytest.warns(kapi.ScheduleDependenceWarning, match="`out` differ under simulation") as caught,
    ):
        kapi.call_kernel(last_writer, kapi.Range(64), out, np.zeros(64))
    text = str(caught[0].message)
    assert "`fixed`" not in text
    found = re.search(r"out\[0\] is (\S+) in program order and (\S+) under seed (\d+)", text)
    first, other, seed = float(found[1]), float(found[2]), int(found[3])
    assert out[0] == first == 63
    with kapi.simulation(checks="none", seed=seed):
        kapi.call_kernel(last_writer, kapi.Range(64), out, np.zeros(64))
    assert out[0] == other


def test_schedules_start_at_the_given_seed():
    with kapi.simulation(checks="none", seed=7, schedules=3) as report, pytest.warns(kapi.ScheduleDependenceWarning):
        kapi.call_kernel(last_writer, kapi.Range(64), np.zeros(1), np.zeros(64))
    assert report.launches[0].seeds == (7, 8, 9)
    assert all("in seed 7" in note for note in report.notes)


def test_error_in_a_later_order_names_its_seed():
    with kapi.simulation(checks="none", schedules=20), pytest.raises(ValueError, match="came first") as caught:
        kapi.call_kernel(fails_after_a_later_item, kapi.Range(2), np.zeros(2))
    note = next(note for note in caught.value.__notes__ if "replays" in note)
    seed = int(re.search(r"simulation\(seed=(\d+)\)", note)[1])
    with kapi.simulation(checks="none", seed=seed), pytest.raises(ValueError, match="came first"):
        kapi.call_kernel(fails_after_a_later_item, kapi.Range(2), np.zeros(2))


@pytest.mark.filterwarnings("ignore::kapi_sim.ScheduleDependenceWarning")
def test_several_differences_are_counted():
    @kapi.kernel
    def ticket(item: kapi.Item, counter, out):
        out[item.get_id(0)] = counter[0]
        counter[0] += 1

    with kapi.simulation(checks="none", schedules=2) as report:
        kapi.call_kernel(ticket, kapi.Range(16), np.zeros(1, np.int32), np.zeros(16, np.int32))
    assert re.search(r"and \d+ more elements differ", report.notes[0])
