"""`cache=True`: a second process finds what the first one compiled."""

import os
import subprocess
import sys

import pytest

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
