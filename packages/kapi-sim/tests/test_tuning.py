from __future__ import annotations

import numpy as np

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def reverse(item: kapi.NdItem, a, tile, is_ordered):
    k, n = item.get_local_id(0), item.get_local_range(0)
    tile[k] = a[item.get_global_id(0)]
    if is_ordered:
        kapi.group_barrier(item.get_group())
    a[item.get_global_id(0)] = tile[n - 1 - k]


TILES = {size: {"tile": kapi.LocalAccessor(size, np.float64)} for size in (2, 4, 3)}


def test_each_candidate_is_run_on_copies_and_the_first_is_chosen():
    a = np.arange(8.0)
    tuning = reverse.tune(kapi.Range(8), a, is_ordered=True, local_sizes=TILES)
    assert a.tolist() == list(range(8))
    assert (tuning.index_space, tuning.times, tuning.is_measured) == (kapi.NdRange(8, 2), (None,) * 3, False)
    assert tuning.refusals[:2] == ("", "")
    assert "local_range must divide" in tuning.refusals[2]
    kapi.call_kernel(reverse, tuning.index_space, a, is_ordered=True, **tuning.constants)
    assert a.tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


def test_candidate_with_a_race_is_an_error():
    with raises(kapi.DataRaceError, "data-race", line="tile[n - 1 - k]"):
        reverse.tune(kapi.Range(8), np.arange(8.0), local_sizes=TILES, constants={"is_ordered": [True, False]})


def test_candidates_are_required():
    with raises(kapi.KernelLaunchError, "tune-candidates"):
        reverse.tune(kapi.Range(8), np.arange(8.0), is_ordered=True, local_sizes={2: TILES[2]})
    with raises(kapi.KernelLaunchError, "tune-candidates"):
        reverse.tune(kapi.Range(8), np.arange(8.0), is_ordered=True, local_sizes={3: TILES[3], 5: TILES[3]})
