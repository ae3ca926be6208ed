"""``python -m kapi_sim check`` where Numba is installed: Numba's functions stay, but for numba.cuda."""

from __future__ import annotations

import subprocess
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


@pytest.mark.parametrize(
    "decorator", ["overload(len", "overload_method(type(None), 'x'", "overload_attribute(str, 'x'"]
)
def test_extensions_of_the_compiler_for_cuda_are_refused(tmp_path, monkeypatch, capsys, decorator):
    monkeypatch.chdir(tmp_path)
    name = decorator.partition("(")[0]
    text = f"from numba.extending import {name}\n\n@{decorator}, target='cuda')\ndef f(x):\n    pass\n"
    (tmp_path / "program.py").write_text(text, "utf-8")
    assert main(["check", "program.py"]) == 2
    assert "kapi_sim: refused: program.py:3: RefusedWordError: cuda.extending " in capsys.readouterr().err
    assert getattr(numba.extending, name).__module__.startswith("numba.")


REFUSED_BY_NUMBA = """
import math

import numpy as np
from numba import cuda, float32, njit
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32


@cuda.jit
def first(a):
    a[0] = a.item(1)


@cuda.jit(device=True)
def squared(x):
    return x * x


@njit
def cubed(x):
    return x * x * x


@cuda.jit
def compiled(a, states, out):
    i = cuda.grid(1)
    part = cuda.shared.array(8, float32)
    part[cuda.threadIdx.x] = squared(a[i]) + cubed(a[i]) + math.sin(a[i])
    cuda.syncthreads()
    cuda.atomic.add(out, 0, part[7 - cuda.threadIdx.x] + xoroshiro128p_uniform_float32(states, i))


compiled[2, 8](np.ones(16, np.float32), create_xoroshiro128p_states(16, 1), np.zeros(1, np.float32))
first[1, 1](cuda.to_device(np.arange(3.0)))
"""


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--numba", "error"], 1), (["--numba", "off"], 0)])
def test_numba_is_asked_whether_it_compiles(tmp_path, options, status):
    (tmp_path / "program.py").write_text(REFUSED_BY_NUMBA, encoding="utf-8")
    command = [sys.executable, "-m", "kapi_sim", "check", *options, "program.py"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = [line for line in result.stderr.splitlines() if line.startswith("kapi_sim: numba: ")]
    assert result.returncode == status, result.stderr
    assert len(said) == (0 if "off" in options else 1), result.stderr
    for line in said:
        assert line.startswith("kapi_sim: numba: program.py:11: Numba ")
        assert "does not compile kernel `first`: Invalid use of BoundFunction(array.item for" in line
