"""`cache=True`: a second process finds what the first one compiled."""

import os
import subprocess
import sys

import dpnp
import numba
import pytest
from numba.core import event  # noqa: TID251  # it tells of Numba's own work

MODULE = """
import numba
import numpy as np
K = 3.0

@numba.njit(cache=True)
def f(a, b):
    c = a * K + np.sqrt(b)
    for i in numba.prange(a.shape[0]):
        c[i] += 1
    return c
"""
# dpnp 0.20 does it in `int(array)`; NumPy 2.5, which Python 3.12 and later get, tells of it.
OF_DPNP = ["-W", "ignore:Setting the shape on a NumPy array:DeprecationWarning"]
MAIN = """
import kapi_numba_offload, dpnp, cached
result = cached.f(dpnp.ones(3), dpnp.ones(3))
print(result.asnumpy().tolist(), sum(cached.f.stats.cache_hits.values()), sum(cached.f.stats.cache_misses.values()))
"""


@pytest.mark.sycl
def test_cache_is_found_by_the_next_process(tmp_path):
    """The first misses, the second hits, and both give the same."""
    (tmp_path / "cached.py").write_text(MODULE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "numba"), "PYTHONPATH": str(tmp_path)}
    found = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", *OF_DPNP, "-c", MAIN],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.strip())
    assert found == ["[5.0, 5.0, 5.0] 0 1", "[5.0, 5.0, 5.0] 1 0"]


def test_first_calls_make_no_machine_code_for_the_host():
    """Passing arguments on takes none; it is made when it is asked for."""

    def function(a, k=2.0):
        return a * k

    function = numba.njit(function)
    with event.install_recorder("numba:run_pass") as recorded:
        assert dpnp.asnumpy(function(dpnp.ones(2))).tolist() == [2.0, 2.0]
        assert dpnp.asnumpy(function(dpnp.ones(2), k=4.0)).tolist() == [4.0, 4.0]
    assert "object_mode_back_end" not in passes_in(recorded)
    with event.install_recorder("numba:run_pass") as recorded:
        assert all("define" in each.library.get_llvm_str() for each in function.overloads.values())
    assert "object_mode_back_end" in passes_in(recorded)


def passes_in(recorded):
    """The passes of Numba's compiler that ran."""
    return {each.data["name"].partition(" ")[0] for _, each in recorded.buffer if each.is_start}
