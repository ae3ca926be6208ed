"""Random plain loops over small arrays: a work-group leaves the elements and numbers that NumPy leaves."""

import linecache
import random

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload.loops import group_loop
from kapi_numba_offload.loops.host.iteration_work import StepSizes

DTYPES = ["float64", "float32", "int64", "int32", "int16", "uint8", "bool", "complex128"]
PROGRAMS = 10
PARTS = ["[1:]", "[:-1]", "[::-1]", "[::2]", "[:, 1:]", "[:, ::-1]", "[1:-1, 1:-1]", "[k]", "[:, 0]", "[-1]", "[0, 1]"]
STATEMENTS = [
    "P{part} = Q{part} + P{part}",
    "P{part} = np.where(Q{part} > P{part}, P{part}, Q{part})",
    "P[1:] = P[:-1] + Q[1:]",
    "P[:, :-1] = Q[:, 1:] * P[:, :-1]",
    "P += Q",
    "P[:] = np.maximum(P, Q)",
    "old = P.copy()\n        P[1:-1] = old[2:] + old[:-2]",
    "made = np.zeros_like(P)\n        made[1:] = Q[:-1]\n        P[:] = made * Q",
    "P[Q > P] = Q[0, 0]",
    "if k % 2 == 0:\n            P[0] = Q[-1]\n        else:\n            Q[:, 0] = P[:, -1]",
    "for i in range(1, P.shape[0]):\n            P[i] = P[i - 1] + Q[i]",
    "for i in range(P.shape[0]):\n            for j in range(k, 6):\n                P[i, j] = Q[i, j] + Q[0, j]",
    "s = np.sum(P{part})",
    "s = np.max(np.abs(Q))",
    "m += np.argmax(np.abs(P[k]))",
    "m = np.count_nonzero(Q)",
    "if m > 20:\n            break",
]


def program(number):
    """The function of a number."""
    draw = random.Random(number)
    lines = []
    for _ in range(draw.randint(2, 4)):
        one, other = draw.sample("pq", 2)
        text = draw.choice(STATEMENTS).format(part=draw.choice(PARTS)).replace("P", one).replace("Q", other)
        lines.append(f"        {text}\n")
    text = f"def loop(p, q, n):\n    s = 0.5\n    m = 0\n    for k in range(n):\n{''.join(lines)}    return s, m\n"
    name = f"<random group loop {number}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["loop"]


def outcome(function, arrays):
    """The numbers that a function leaves, or None where NumPy has no such operation of these types."""
    try:
        with np.errstate(all="ignore"):
            return function(*arrays, 3)
    except (TypeError, ValueError):
        return None


@pytest.mark.usefixtures("as_on_a_gpu")
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.ArrayIntegersWarning")
def test_group_loops_are_as_in_numpy(monkeypatch, no_small_loops):
    monkeypatch.delenv("KAPI_OFFLOAD_SMALL")
    monkeypatch.setattr(StepSizes, "are_quickest_in_groups", lambda self, *given, **named: True)
    monkeypatch.setattr(group_loop, "_ITEMS_APART", 8)
    calls = []
    call = group_loop.GroupLoop.__call__
    monkeypatch.setattr(group_loop.GroupLoop, "__call__", lambda self, *given: calls.append(0) or call(self, *given))
    for number in range(PROGRAMS):
        function, dtype = program(number), DTYPES[number % len(DTYPES)]
        random_values = np.random.default_rng(number)
        arrays = [random_values.integers(0, 5, (5, 6)).astype(dtype) for _ in range(2)]
        given = [dpnp.asarray(each) for each in arrays]
        expected = outcome(function, arrays)
        if expected is None:
            continue
        found = numba.njit(function)(*given, 3)
        text = "".join(linecache.getlines(function.__code__.co_filename))
        for one, other in zip([*given, *found], [*arrays, *expected], strict=True):
            one = one.asnumpy() if isinstance(one, dpnp.ndarray) else one
            np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=f"{text}{dtype}")
    assert len(calls) > PROGRAMS // 3
