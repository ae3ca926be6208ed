"""``python -m kapi_sim check`` and ``pytest --kapi-check``: programs for numba.cuda as they are, without Numba."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from kapi_sim.__main__ import main
from kapi_sim.errors import PartialRunWarning
from kapi_sim.programs.stand_ins import stand_ins

IMPORTS = """
import math
import sys

import numba
import numba.cuda as nc
import numpy as np
from numba import cuda, float32, njit, types, vectorize
from numba.core.errors import NumbaPerformanceWarning
from numba.cuda import jit
from numba.cuda.cudadrv.devicearray import DeviceNDArray
from numba.cuda.random import create_xoroshiro128p_states
"""
CLEAN = (
    IMPORTS
    + """
assert nc is cuda is numba.cuda and jit is cuda.jit and numba.types is types


@njit(fastmath=True)
def cube(x):
    return x * x * x


@vectorize(["float32(float32, float32)"], target="cuda")
def added(a, b):
    return a + b


@jit
def cubes(a):
    i = nc.grid(1)
    if i < a.size:
        a[i] = cube(a[i])


@numba.cuda.jit((float32[:],))
def doubles(a):
    i = numba.cuda.grid(1)
    if i < a.size:
        a[i] *= 2


a = np.arange(5, dtype=np.float32)
cubes[2, 4](a)
doubles[2, 4](a)
print(a, cube(2), added(a[:2], a[:2]), *sys.argv[1:])
"""
)
FAULTY = """
from numba import cuda
import numpy as np


@cuda.jit
def last(a):
    a[0] = cuda.threadIdx.x


a = np.zeros(3)
last[1, 1](a)
last[2, 2](a)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "numba", None)
    return tmp_path


@pytest.fixture
def checked(folder, capsys):
    def run(text, *arguments, options=()):
        (folder / "program.py").write_text(text, "utf-8")
        status = main(["check", *options, "program.py", *arguments])
        captured = capsys.readouterr()
        return status, captured.out, [line for line in captured.err.splitlines() if line.startswith("kapi_sim: ")]

    return run


WITHOUT_NUMBA = "kapi_sim: Numba is not installed: functions by numba.njit run as Python"


def test_all_spellings_of_the_import_are_checked(checked):
    status, printed, said = checked(CLEAN, "--checks", "3")
    assert status == 0
    assert printed == "[  0.   2.  16.  54. 128.] 8 [0. 4.] --checks 3\n"
    assert said == [WITHOUT_NUMBA, "kapi_sim: 3 kernels, 3 launches: 2 checked to the end, 0 faults"]


def test_faults_are_named_with_their_line(checked):
    status, _, said = checked(FAULTY)
    assert status == 1
    assert said[1] == "kapi_sim: 1 kernel, 2 launches: 1 checked to the end, 1 fault"
    assert said[2].startswith("kapi_sim: fault: program.py:8: DataRaceError: data race on a[0] (global memory): ")
    assert said[2].endswith(" [data-race]")
    assert len(said) == 3


def test_faults_that_the_program_catches_count(checked):
    text = FAULTY.replace("last[2, 2](a)", "try:\n    last[2, 2](a)\nexcept RuntimeError:\n    last[1, 1](a)")
    status, _, said = checked(text)
    assert status == 1
    assert said[1] == "kapi_sim: 1 kernel, 3 launches: 2 checked to the end, 1 fault"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("print('nothing to do')", "kapi_sim: no launch of a kernel came to its end, so nothing was checked"),
        ("raise KeyError('boom')", "kapi_sim: program.py ended with an error"),
        ("import sys\nsys.exit(4)", "kapi_sim: program.py exited with status 4"),
        (FAULTY.replace("last[2, 2](a)", "assert a[0] == 7"), "kapi_sim: program.py ended with an error"),
    ],
)
def test_programs_that_did_not_run_are_not_clean(text, last, checked):
    status, _, said = checked(text)
    assert status == 2
    assert said[-1] == last


def test_what_is_refused_is_no_fault(checked):
    status, _, said = checked(FAULTY.replace("last[2, 2](a)", "cuda.compile_ptx(last, ())"))
    assert status == 2
    assert "0 faults" in said[1]
    assert said[2].startswith("kapi_sim: refused: program.py:13: RefusedWordError: cuda.compile_ptx must not be used")


def test_options_set_the_checks(checked):
    assert checked(FAULTY, options=["--checks", "none"])[0] == 0
    assert "0 checked" in checked(FAULTY, options=["--checks", "none"])[2][1]
    computed = FAULTY.replace("a[0] = cuda.threadIdx.x", "a[cuda.threadIdx.x - 1] = 1").replace("2, 2", "1, 2")
    assert checked(computed)[0] == 1
    assert checked(computed, options=["--wraparound"])[0] == 0
    _, _, said = checked(FAULTY.replace("last[2, 2]", "last[1, 1]"), options=["--orders", "3"])
    assert "2 launches" in said[1]


def test_a_program_that_is_not_there_is_reported(folder, capsys):
    assert main(["check", "nowhere.py"]) == 2
    assert capsys.readouterr().err == "the program must be a file that is there, got nowhere.py [kernel-absent]\n"


def test_imports_are_as_before_afterwards(folder):
    before = dict(sys.modules)
    with stand_ins():
        assert importlib.import_module("numba.cuda").__name__ == "kapi_sim.numba_cuda"
    assert {name for name in sys.modules if name.partition(".")[0] == "numba"} == {
        name for name in before if name.partition(".")[0] == "numba"
    }
    assert sys.modules["numba"] is None


CUPY = """
import cupy as cp
import cupyx
from cupyx import jit
from numba import cuda


@jit.rawkernel()
def reverse(x, y):
    t = jit.threadIdx.x
    tile = jit.shared_memory(cp.float32, 8)
    tile[t] = x[jit.blockIdx.x * jit.blockDim.x + t]
    jit.syncthreads()
    y[jit.grid(1)] = tile[7 - t]


@cupyx.jit.rawkernel(device=True)
def twice(x):
    return x + x


@jit.rawkernel()
def total(x, out):
    for i in jit.range(jit.grid(1), x.size, jit.gridsize(1)):
        jit.atomic_add(out, jit.laneid() // 32, twice(x[i]))


@cuda.jit
def halved(a):
    a[cuda.grid(1)] /= 2


x, out = cp.arange(16, dtype=cp.float32), cp.zeros(1, cp.float32)
y = cp.zeros_like(x)
reverse[2, 8](x, y)
reverse((2,), (8,), (x, y))
total((1,), (4,), (x, out))
halved[2, 8](y)
cp.cuda.Device().synchronize()
cp.cuda.Stream.null.synchronize()
assert isinstance(x, cp.ndarray)
print(cp.asnumpy(y), out.get(), float(cp.sum(x)))
"""


def test_numpy_stands_in_for_cupy_and_its_kernels_are_checked(checked):
    status, printed, said = checked(CUPY)
    assert status == 0
    assert printed.split() == "[3.5 3. 2.5 2. 1.5 1. 0.5 0. 7.5 7. 6.5 6. 5.5 5. 4.5 4. ] [240.] 120.0".split()
    assert said[1:] == [
        "kapi_sim: CuPy is not installed: NumPy's arrays stand in for its arrays",
        "kapi_sim: 3 kernels, 4 launches: 4 checked to the end, 0 faults",
    ]
    assert not {"cupy", "cupyx"} & {name.partition(".")[0] for name in sys.modules}
    status, _, said = checked(CUPY.replace("    jit.syncthreads()\n", ""))
    assert status == 1
    assert "DataRaceError: data race on tile[" in said[-1]


SUITE = """
import numpy as np
import pytest
from numba import cuda


@cuda.jit
def fill(a):
    a[cuda.grid(1)] = 1


@pytest.fixture
def filled():
    a = np.zeros(4)
    fill[2, 2](a)
    return a


def test_right(filled):
    assert filled.all()


def test_wrong():
    fill[2, 2](np.zeros(3))
"""


def by_entry_point(folder):
    """Make a distribution with the entry point of kapi-sim's: the one that is installed may be older than the tests."""
    made = folder / "check_option-0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: check-option\nVersion: 0\n", "utf-8")
    (made / "entry_points.txt").write_text("[pytest11]\nkapi_sim = _kapi_sim_pytest\n", "utf-8")


def test_the_entry_point_costs_other_suites_nothing(tmp_path):
    by_entry_point(tmp_path)
    (tmp_path / "test_other.py").write_text(
        "import sys\n\ndef test_other(request):\n    assert request.config.getoption('--kapi-check') is False\n"
        "    assert '_kapi_sim_pytest' in sys.modules\n"
        "    assert not {'numpy', 'numba', 'kapi_sim'} & sys.modules.keys()\n",
        "utf-8",
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    plugins = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    command = [sys.executable, "-m", "pytest", *plugins]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 passed" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize("plugin", [["-p", "kapi_sim.testing.plugin"], []])
def test_a_suite_is_checked_unedited(tmp_path, plugin):
    by_entry_point(tmp_path)
    (tmp_path / "conftest.py").write_text("from numba import cuda\nimport numba.cuda.random\n", "utf-8")
    (tmp_path / "test_suite.py").write_text(SUITE, "utf-8")
    # Stands for an environment without Numba: a package of that name which cannot be found.
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['numba'] = None\n", "utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    plugins = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", *plugin]
    command = [sys.executable, "-m", "pytest", *plugins, "--kapi-check"]
    environment = {**os.environ, "PYTHONPATH": path}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in result.stdout, result.stdout + result.stderr
    assert "1 kernel, 2 launches: 1 checked to the end, 1 fault" in result.stdout
    assert "test_suite.py:9: OutOfBoundsError: index 3 is out of bounds: axis 0 of `a` has length 3" in result.stdout


def test_ctrl_c_ends_with_the_summary(checked):
    status, _, said = checked(FAULTY.replace("last[2, 2](a)", "raise KeyboardInterrupt"))
    assert status == 130
    assert said[1:] == [
        "kapi_sim: 1 kernel, 1 launch: 1 checked to the end, 0 faults",
        "kapi_sim: program.py was interrupted at program.py:13",
    ]


def test_ctrl_c_in_a_kernel_names_the_block(checked):
    interrupting = "import sys\nclass Out:\n    flush = print\n    def write(self, text): raise KeyboardInterrupt\n"
    kernel = "@cuda.jit\ndef talk(a):\n    if cuda.grid(1) == 5:\n        print(5)\n"
    text = f"from numba import cuda\n{interrupting}{kernel}sys.stdout = Out()\ntalk[4, 2]([0])\n"
    text = text.replace("talk[4, 2]([0])", "import numpy\ntalk[4, 2](numpy.zeros(1))")
    status, _, said = checked(text)
    assert status == 130
    assert said[-1].endswith(" in thread 1 of block 2 of kernel `talk`")


def test_a_debugger_that_is_left_is_no_fault(checked):
    status, _, said = checked("import bdb\n" + FAULTY.replace("last[2, 2](a)", "raise bdb.BdbQuit"))
    assert (status, said[1]) == (2, "kapi_sim: 1 kernel, 1 launch: 1 checked to the end, 0 faults")
    text = "from numba import cuda\nimport bdb\n@cuda.jit\ndef k():\n    raise bdb.BdbQuit\nk[1, 1]()\n"
    assert checked(text)[2][1].endswith("nothing was checked")


def test_a_reader_of_the_output_who_has_left_is_no_fault(checked):
    text = "from numba import cuda\n@cuda.jit\ndef k():\n    raise BrokenPipeError\nk[1, 1]()\n"
    status, _, said = checked(text)
    assert status == 2
    assert said[1].endswith("nothing was checked")


def test_groups_are_a_sample(checked):
    with pytest.warns(PartialRunWarning, match=r"1 of 2 blocks of kernel `cubes` ran, as `simulation\(groups="):
        status, _, said = checked(CLEAN, options=["--groups", "1"])
    assert status == 0
    assert any(line.startswith("kapi_sim: not checked: ") and line.endswith("a sample") for line in said)


def test_modules_of_the_compiler_are_refused_when_they_are_used(checked):
    imports = "from numba.cuda.cudadecl import registry\nfrom numba.cuda.testing import CUDATestCase, skip_on_cudasim\n"
    imports += (
        "from numba.cuda.testing import skip_unless_cc_60\nfrom numba.cuda.tests.support import captured_stdout\n"
    )
    suite = """

@skip_unless_cc_60
@skip_on_cudasim("it imports")
class Suite(CUDATestCase):
    def runTest(self):
        with captured_stdout() as printed:
            print(5)
        assert printed.getvalue().strip() == "5"


assert Suite().run().wasSuccessful()
"""
    assert checked(imports + CLEAN + suite)[0] == 0
    status, _, said = checked(f"{imports}\n@registry.register_attr\nclass Own: pass")
    assert status == 2
    assert said[2].startswith(
        "kapi_sim: refused: program.py:6: RefusedWordError: cuda.cudadecl.registry.register_attr "
    )


def test_a_program_of_vectorized_functions_alone_is_clean(checked):
    imports = "import numpy as np\nfrom numba import vectorize\n\n\n"
    text = f"{imports}@vectorize(['f8(f8)'], target='cuda')\ndef f(x):\n    return x\n\n\nf(np.ones(3))"
    status, _, said = checked(text)
    assert status == 0
    assert said[1:] == ["kapi_sim: 1 kernel, 1 launch: 0 checked to the end, 0 faults"]


def test_a_program_of_reductions_alone_is_clean(checked):
    imports = "import numpy as np\nfrom numba import cuda\n\n\n"
    text = f"{imports}@cuda.reduce\ndef f(x, y):\n    return x + y\n\n\nf(np.ones(3))"
    status, _, said = checked(text)
    assert status == 0
    assert said[1:] == ["kapi_sim: 1 kernel, 1 launch: 0 checked to the end, 0 faults"]
