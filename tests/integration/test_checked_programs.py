"""``python -m kapi_sim check`` where Numba is installed: Numba's functions stay, but for numba.cuda."""

from __future__ import annotations

import sys

import numba
import numpy as np
import pytest

from kapi_sim.__main__ import main
from kapi_sim.programs.stand_ins import stand_ins

PROGRAM = """
import numba
import numba.cuda as nc
import numpy as np
from numba import cuda, float32, guvectorize, njit, prange, types, vectorize
from numba.core import types as core_types
from numba.cuda import jit
from numba.cuda.cudadrv.driver import CudaAPIError

assert nc is cuda is numba.cuda and types is core_types


@njit(parallel=True)
def on_host(a):
    s = 0.0
    for i in prange(a.size):
        s += a[i]
    return s


@njit
def cube(x):
    return x * x * x


@vectorize([float32(float32)], target="cuda")
def doubled(x):
    return x + x


@vectorize([float32(float32)])
def halved(x):
    return x / 2


@jit("void(float32[:])")
def cubes(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = cube(a[i])


a = np.arange(4, dtype=np.float32)
cubes[1, 4](a)
print(a, on_host(a), doubled(a), halved(a), type(on_host).__module__)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_numba_stays_but_for_cuda(folder, capsys):
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    assert main(["check", "program.py"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "[ 0.  1.  8. 27.] 36.0 [ 0.  2. 16. 54.] [ 0.   0.5  4.  13.5] numba.core.registry\n"
    assert captured.err == "kapi_sim: 2 kernels, 2 launches: 1 checked to the end, 0 faults\n"


def test_numba_is_as_before_afterwards():
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "numba"}
    had = vars(numba).get("cuda"), numba.vectorize, numba.guvectorize
    with stand_ins():
        assert numba.cuda.__name__ == "kapi_sim.numba_cuda"
        assert numba.vectorize(["float64(float64)"])(lambda x: x + 1)(np.ones(1)) == 2
    assert {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "numba"} == before
    assert (vars(numba).get("cuda"), numba.vectorize, numba.guvectorize) == had
