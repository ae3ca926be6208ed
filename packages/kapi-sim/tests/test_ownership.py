"""Large launches are proved to have no race; what cannot be proved ends as in a run that records each access."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import kapi_sim as kapi
import kapi_sim.launch
from kapi_sim import numba_cuda as cuda

MANY, BLOCK = 256, 64


@pytest.fixture(autouse=True)
def small_launches_are_large(monkeypatch):
    monkeypatch.setattr(kapi_sim.launch, "_LEAST_PROVED", 2)


@pytest.fixture
def proofs(monkeypatch):
    """Whether each proof of the test succeeded."""
    outcomes = []
    prove = kapi_sim.launch._is_proved

    def noted(*args):
        outcomes.append(prove(*args))
        return outcomes[-1]

    monkeypatch.setattr(kapi_sim.launch, "_is_proved", noted)
    return outcomes


def outcome(launch, make):
    """Whatever a user can see of a launch."""
    args = make()
    error = None
    with kapi.simulation() as report, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            launch(*args)
        except Exception as raised:
            error = type(raised), str(raised), getattr(raised, "__notes__", None)
    tracked = [each.elements_tracked for each in report.launches]
    return [each.tobytes() for each in args], error, report.notes, tracked, [str(each.message) for each in caught]


def same_with_owners(launch, make, monkeypatch):
    """Compare a launch that is to be proved with one whose accesses are recorded; return what came of them."""
    proved = outcome(launch, make)
    with monkeypatch.context() as patch:
        patch.setattr(kapi_sim.launch, "_LEAST_PROVED", 10**9)
        recorded = outcome(launch, make)
    assert proved == recorded
    return proved


@kapi.kernel
def added(item: kapi.Item, a, b, c):
    i = item.get_id(0)
    c[i] = a[i] + b[i]


@kapi.kernel
def smoothed(item: kapi.NdItem, a, b):
    i, j = item.get_global_id(0), item.get_global_id(1)
    total = a[i, j]
    if j > 0:
        total += a[i, j - 1]
    b[i, j] = total
    b[i, j] *= 2


@kapi.kernel
def halved(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    while a[i] > 1:
        a[i] //= 2


@kapi.kernel
def through_rows(item: kapi.Item, a, b):
    i = item.get_id(0)
    row = a[i]
    for j in range(row.shape[0]):
        row[j] = b[j] + i


@cuda.jit
def counted(a, b, total):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[i] + 1
        total[i] += cuda.threadIdx.x


SPACE = kapi.NdRange(MANY, BLOCK)
RIGHT = {
    "range": (added[kapi.Range(MANY)], lambda: [np.arange(float(MANY)), np.ones(MANY), np.zeros(MANY)]),
    "in place": (added[kapi.Range(MANY)], lambda: [a := np.arange(float(MANY)), np.ones(MANY), a]),
    "negative strides": (added[kapi.Range(MANY)], lambda: [np.arange(MANY * 2.0)[::-2], np.ones(MANY), np.zeros(MANY)]),
    "broadcast": (added[kapi.Range(MANY)], lambda: [np.broadcast_to(2.0, MANY), np.ones(MANY), np.zeros(MANY)]),
    "interleaved": (added[kapi.Range(MANY)], lambda: interleaved()),
    "matrix": (smoothed[kapi.NdRange((16, 16), (8, 8))], lambda: [np.ones((16, 16)), np.zeros((16, 16)).T]),
    "while": (halved[SPACE], lambda: [np.arange(1, MANY + 1)]),
    "rows": (through_rows[kapi.Range(MANY)], lambda: [np.zeros((MANY, 3)), np.arange(3.0)]),
    "cuda": (counted[4, 64], lambda: [np.arange(MANY - 5), np.zeros(MANY, np.int16), np.zeros(MANY, np.float32)]),
}


def interleaved():
    """Two views of one buffer whose elements alternate."""
    both = np.arange(MANY * 2.0)
    return [both[::2], np.ones(MANY), both[1::2]]


@pytest.mark.parametrize("name", RIGHT)
def test_right_launch_is_proved(name, proofs, monkeypatch):
    _, error, notes, _, _ = same_with_owners(*RIGHT[name], monkeypatch)
    assert (error, notes) == (None, [])
    assert proofs == [True]


@kapi.kernel
def shifted(item: kapi.Item, a, b):
    i = item.get_id(0)
    a[i] = b[i + 1]


@kapi.kernel
def collected(item: kapi.NdItem, a, b):
    i = item.get_global_id(0)
    a[i // 2] = b[i]


@kapi.kernel
def late(item: kapi.Item, a, b):
    i = item.get_id(0)
    a[i] = b[i]
    if i == a.shape[0] - 1:
        b[0] = a[i]


@kapi.kernel
def crossed(item: kapi.Item, a):
    i, j = item.get_id(0), item.get_id(1)
    a[i, j] = a[j, i] + 1


@kapi.kernel
def flagged(item: kapi.Item, a, found):
    if a[item.get_id(0)] > 3:
        found[0] = 1


@kapi.kernel
def meant(item: kapi.Item, a, found):
    if a[item.get_id(0)] > 3:
        found[0] = a[item.get_id(0)]  # kapi: harmless, any of them will do


@kapi.kernel
def divided(item: kapi.Item, a, b):
    i = item.get_id(0)
    a[i] = a[i] + 1
    a[i] = a[i] // b[i]


@kapi.kernel
def stuck(item: kapi.NdItem, a, b):
    a[item.get_global_id(0)] = 5
    while b[0] == 0:
        pass


def numbers(*dtypes):
    return [np.arange(MANY).astype(each) for each in dtypes]


WRONG = {
    "neighbour": (shifted[kapi.Range(MANY)], lambda: [(a := np.arange(MANY + 1.0))[:-1], a]),
    "bounds": (shifted[kapi.Range(MANY)], lambda: numbers(float, float)),
    "two writers": (collected[SPACE], lambda: numbers(float, float)),
    "last one": (late[kapi.Range(MANY)], lambda: numbers(float, float)),
    "transposed": (crossed[kapi.Range(16, 16)], lambda: [np.zeros((16, 16))]),
    "parts": (added[kapi.Range(MANY)], lambda: parts()),
    "equal values": (flagged[kapi.Range(MANY)], lambda: numbers(int, int)),
    "harmless": (meant[kapi.Range(MANY)], lambda: numbers(int, int)),
    "exception": (divided[kapi.Range(MANY)], lambda: [np.arange(MANY), np.arange(MANY, 0, -1) % MANY]),
    "loop": (stuck[SPACE], lambda: [np.zeros(MANY), np.zeros(1)]),
}


def parts():
    """Elements of eight bytes that overlap each other in four."""
    buffer = np.zeros(8 * MANY + 4, np.uint8)
    return [np.ones(MANY), buffer[:-4].view(float), buffer[4:].view(float)]


@pytest.mark.parametrize("name", WRONG)
def test_launch_that_is_not_proved_ends_as_if_recorded(name, proofs, monkeypatch):
    _, error, notes, _, _ = same_with_owners(*WRONG[name], monkeypatch)
    assert error is not None or notes
    assert not any(proofs)


@kapi.kernel
def half_written(item: kapi.Item, a, b):
    i = item.get_id(0)
    if i % 2:
        a[i] = i
    b[i] = a[i]


def test_unwritten_memory_is_found_in_a_large_launch(monkeypatch):
    def launch(a, b):
        with kapi.simulation(uninitialised=[a]):
            half_written[kapi.Range(MANY)](a, b)

    _, error, _, _, _ = same_with_owners(launch, lambda: numbers(float, float), monkeypatch)
    assert error[0] is kapi.UninitializedReadError


def test_later_launch_knows_what_a_proved_one_wrote(proofs):
    a, b, c = (np.zeros(MANY) for _ in range(3))
    with kapi.simulation(uninitialised=[a]):
        added[kapi.Range(MANY)](b, c, a)
        added[kapi.Range(MANY)](a, b, c)
        added[kapi.Range(MANY // 2)](b[::2], c[::2], a[::2])
    assert proofs == [True, True, True]
    made = cuda.device_array(MANY + 1)
    counted[4, 64](cuda.to_device(np.zeros(MANY)), made, cuda.to_device(np.zeros(MANY)))
    assert proofs[3:] == [True]
    with pytest.raises(kapi.UninitializedReadError):
        counted[5, 64](made, cuda.to_device(np.zeros(MANY + 1)), cuda.to_device(np.zeros(MANY + 1)))


def test_kernel_with_observed_reads_runs_once(capsys, proofs):
    @kapi.kernel
    def observed(item: kapi.Item, a):
        i = item.get_id(0)
        if i == 0:
            print("zero")
        a[i // 2] = i

    with pytest.raises(kapi.DataRaceError):
        observed[kapi.Range(MANY)](np.zeros(MANY))
    assert proofs == []
    assert capsys.readouterr().out == "zero\n"


@cuda.jit
def too_much(a):
    tile = cuda.shared.array(49153, np.int8)
    tile[0] = 1
    a[cuda.grid(1)] = tile[0]


def test_too_much_shared_memory_is_refused_in_a_large_launch(proofs):
    with pytest.raises(kapi.LimitError, match="49152 bytes"):
        too_much[4, 64](np.zeros(MANY))
    assert proofs == [False]


def test_array_from_outside_is_not_proved(proofs):
    outside = cuda.to_device(np.arange(2.0))

    @cuda.jit
    def filled(a):
        a[cuda.grid(1)] = outside[1]

    filled[4, 64](a := np.zeros(MANY))
    assert (a == 1).all()
    assert proofs == [False]


@kapi.kernel
def played(item: kapi.Item, program, a, b):
    i = item.get_id(0)
    for offset, is_write, value in program[i % len(program)]:
        if is_write:
            a[i + offset] = value
        else:
            b[i] += a[i + offset]


@pytest.mark.parametrize("block", range(4))
def test_random_accesses_end_alike(block, monkeypatch):
    rng = np.random.default_rng([41, block])
    launch = played[kapi.Range(128)]
    errors = set()
    for _ in range(6):
        # Each work-item has two elements; in half of the programs, some reach to one of a neighbour.
        reach = (0, 0, 1)[: 2 + int(rng.integers(2))]
        program = tuple(
            tuple(
                (128 * int(rng.integers(2)) + int(rng.choice(reach)), int(rng.integers(2)), int(rng.integers(1, 3)))
                for _ in range(3)
            )
            for _ in range(8)
        )
        made = same_with_owners(
            lambda *a, p=program: launch(p, *a), lambda: [np.zeros(257), np.zeros(128)], monkeypatch
        )
        errors.add(made[1] is None)
    assert errors == {True, False}
