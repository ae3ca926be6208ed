"""The choice of `tune`: by times that the tests give, since none of them may depend on a clock."""

from __future__ import annotations

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.kernels import tuning
from kapi_runtime.launch.preparation import Prepared
from kapi_sim.testing.reports import raises


@kapi.kernel
def scale(item: kapi.NdItem, a, factor, tile):
    i = item.get_global_id(0)
    tile[item.get_local_id(0)] = a[i]
    kapi.group_barrier(item.get_group())
    a[i] = tile[item.get_local_id(0)] * factor


@kapi.kernel
def raised(item: kapi.Item, a, exponent):
    i = item.get_id(0)
    p = a[i]
    for _ in range(exponent):
        p = p * a[i]
    a[i] = p


TILES = {size: {"tile": kapi.LocalAccessor(size, np.float64)} for size in (2, 4, 8)}


@pytest.fixture
def times(monkeypatch, tmp_path):
    """Times by work-group size or exponent; the kernels run. What was run is noted."""
    told, ran = {}, []
    real = Prepared.time

    def time(self):
        real(self)
        ran.append(self)
        local = self.space.local_range[0] if isinstance(self.space, kapi.NdRange) else self.arguments.given[1]
        return told[local]

    monkeypatch.setattr(Prepared, "time", time)
    monkeypatch.setattr(tuning, "_kept", {})
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path / "kapi"))
    told["ran"] = ran
    return told


@pytest.fixture(params=["cpu", "sycl"])
def asarray(request):
    return np.array if request.param == "cpu" else dpnp.array


def test_fastest_candidate_is_chosen_and_the_arguments_stay_as_they_are(times, asarray):
    a = asarray(np.arange(16.0))
    times |= {2: 300.0, 4: 100.0, 8: 200.0}
    found = scale.tune(kapi.Range(16), a, 3.0, local_sizes=TILES)
    assert kapi.memory.asnumpy(a).tolist() == list(range(16))
    assert (found.index_space, found.times, found.is_measured) == (kapi.NdRange(16, 4), (300.0, 100.0, 200.0), True)
    kapi.call_kernel(scale, found.index_space, a, 3.0, **found.constants)
    assert kapi.memory.asnumpy(a).tolist() == [3.0 * i for i in range(16)]
    lines = str(found).splitlines()
    assert [("chosen" in line, "0.1 us" in line) for line in lines[1:]] == [
        (False, False),
        (True, True),
        (False, False),
    ]


def test_each_time_is_of_arguments_as_they_were_given(times, monkeypatch):
    seen = []

    def time(self):
        copy = self.arguments.given[0]
        seen.append(copy.tolist())
        self.submit([])[0].wait()
        assert copy.tolist() != [2.0] * 4
        return 1.0

    monkeypatch.setattr(Prepared, "time", time)
    raised.tune(kapi.Range(4), np.full(4, 2.0), constants={"exponent": [3, 5]})
    assert len(seen) > 4
    assert all(values == [2.0] * 4 for values in seen)


def test_choice_is_found_again_in_the_process_and_on_disk_and_renewed_when_asked(times):
    a = np.arange(16.0)
    times |= {2: 1.0, 4: 2.0, 8: 3.0}

    def tune(array=a, **more):
        return scale.tune(kapi.Range(array.size), array, 3.0, local_sizes=TILES, **more)

    tune()
    count = len(times["ran"])
    again = tune()
    tuning._kept.clear()
    from_disk = tune()
    assert len(times["ran"]) == count
    assert [each.is_measured for each in (again, from_disk)] == [False, False]
    assert again.times == from_disk.times == (1.0, 2.0, 3.0)
    times[8] = 0.5
    assert tune().index_space == kapi.NdRange(16, 2)
    renewed = tune(renew=True)
    assert (renewed.is_measured, renewed.index_space) == (True, kapi.NdRange(16, 8))
    assert tune().index_space == kapi.NdRange(16, 8)
    assert tune(np.arange(32.0)).is_measured
    assert tune(np.arange(16.0, dtype=np.float32)).is_measured


@pytest.mark.parametrize("text", ["", "{}", '{"times": [1.0], "refusals": [""]}', '{"times": "x", "refusals": 3}'])
def test_broken_file_of_the_cache_is_measured_anew(times, text):
    a = np.arange(16.0)
    times |= {2: 1.0, 4: 2.0, 8: 3.0}
    scale.tune(kapi.Range(16), a, 3.0, local_sizes=TILES)
    (key,) = tuning._kept
    tuning._kept.clear()
    kapi.cache.store_text(f"{key}.tuning", text)
    assert scale.tune(kapi.Range(16), a, 3.0, local_sizes=TILES).is_measured


def test_candidates_that_cannot_be_launched_are_reported_and_skipped(times):
    times |= {4: 1.0}
    tiles = {size: {"tile": kapi.LocalAccessor(size, np.float64)} for size in (3, 4, 1 << 20)}
    found = scale.tune(kapi.Range(1 << 20), np.zeros(1 << 20), 1.0, local_sizes=tiles)
    assert found.index_space == kapi.NdRange(1 << 20, 4)
    assert found.times == (None, 1.0, None)
    assert "local_range must divide" in found.refusals[0]
    with raises(kapi.KernelLaunchError, "tune-candidates"):
        scale.tune(kapi.Range(16), np.zeros(16), 1.0, local_sizes={n: {"tile": TILES[2]["tile"]} for n in (3, 5)})


def test_constants_of_a_range_launch_are_tuned(times):
    times |= {1: 5.0, 2: 4.0}
    a = np.full(3, 3.0)
    found = raised.tune(kapi.Range(3), a, constants={"exponent": [1, 2]})
    assert (found.index_space, found.constants) == (kapi.Range(3), {"exponent": 2})


def test_tuning_needs_candidates_and_known_names(times):
    with raises(kapi.KernelLaunchError, "tune-candidates"):
        raised.tune(kapi.Range(3), np.zeros(3), constants={"exponent": [1]})
    with raises(kapi.KernelLaunchError, "argument-unknown"):
        raised.tune(kapi.Range(3), np.zeros(3), constants={"power": [1, 2]})


def test_tuning_is_refused_while_a_graph_records(times):
    with kapi.graph(), raises(kapi.KernelLaunchError, "graph-host-wait"):
        raised.tune(kapi.Range(3), np.zeros(3), constants={"exponent": [1, 2]})


def test_time_of_a_launch_is_that_of_its_work():
    prepared = raised.prepared(kapi.Range(1 << 16), (np.zeros(1 << 16), 3))
    assert prepared.time() > 0
    assert raised.prepared(kapi.Range(0), (np.zeros(0), 3)).time() == 0
