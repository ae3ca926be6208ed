"""Each line of installation that a README or a page of the documentation prints, run in an empty environment.

``python tools/install_lines.py --uv UV --constraints FILE`` installs each line from the wheels that the constraints
name, prints its size as a row of the table in ``docs/install.md``, and runs the programs of `PROGRAMS` that what it
installs must be able to run; ``python3 noxfile.py -s "nightly(install-lines)"`` runs it.  Lines may be named after it:
``"kapi-runtime[opencl-cpu]"``.  Lines for a clone, ``-r install/cpu.txt``, are installed by uv and by pip.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import code_blocks

__all__ = ["INSTALL", "PROGRAMS", "Size", "lines", "main", "programs_of", "run"]

ROOT = Path(__file__).resolve().parents[1]

INSTALL = re.compile(r"pip install (-r [\w/.-]+\.txt|(?:(?:\"[^\"`]+\"|(?!-)[\w./\[\],-]+) ?)+)")
"""A line of installation, as pages print it; what it installs is its group."""

_REVERSE = """
import numpy as np
import {0} as kapi
@kapi.kernel
def reverse(item: kapi.NdItem, a, tile):
    i, k = item.get_global_id(0), item.get_local_id(0)
    tile[k] = a[i]
    kapi.group_barrier(item.get_group())
    a[i] = tile[3 - k]
a = {1}
kapi.call_kernel(reverse, kapi.NdRange(8, 4), a, kapi.LocalAccessor(4, a.dtype))
assert {2}.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
"""
_COMPILED = """
import math
from {0} import compile_kernel
def change(item, x):
    x[item.get_id(0)] = {1}(x[item.get_id(0)])
assert compile_kernel(change, "item1, float32[:]").code
"""

PROGRAMS: dict[str, str] = {
    "kapi-sim": _REVERSE.format("kapi_sim", "np.arange(8.0)", "a"),
    "kapi-sim[pytest]": "import pytest, kapi_sim.testing.plugin",
    "kapi-types": "import kapi_types; assert kapi_types.parse_signature('item1, float32[:]')",
    "kapi-lowering": "import kapi_lowering; assert kapi_lowering.Target.__abstractmethods__",
    "kapi-cpu": _COMPILED.format("kapi_cpu", "math.exp"),
    "kapi-spirv": _COMPILED.format("kapi_spirv", "math.exp"),
    "kapi-ptx": _COMPILED.format("kapi_ptx", "math.sqrt"),
    "kapi-ptx[libdevice]": _COMPILED.format("kapi_ptx", "math.exp"),
    "kapi-runtime": _REVERSE.format("kapi_runtime", "np.arange(8.0)", "a"),
    "kapi-runtime[dpnp]": "import dpnp\n" + _REVERSE.format("kapi_runtime", "np.arange(8.0)", "a"),  # no driver
    "kapi-runtime[opencl-cpu]": _REVERSE.format("kapi_runtime", "kapi.memory.asarray(np.arange(8.0))", "a.asnumpy()"),
    "kapi-runtime[opencl-cpu,dpnp]": "import dpnp\n"
    + _REVERSE.format("kapi_runtime", "dpnp.arange(8.0)", "a.asnumpy()"),
    "kapi-runtime[cuda]": (
        "import kapi_runtime as kapi\n"
        "try:\n"
        "    kapi.devices()\n"
        "except kapi.DeviceNotFoundError as error:\n"
        "    assert 'CUDA' in str(error) or 'NVIDIA' in str(error), error\n" + _COMPILED.format("kapi_ptx", "math.exp")
    ),
    "kapi-numba-offload": (
        "import numba, numpy as np\n"
        "import kapi_numba_offload\n"
        "assert numba.njit(lambda a: a * 2)(np.arange(3.0)).tolist() == [0, 2, 4]"
    ),
    "kapi-numba-offload[dpnp]": (
        "import warnings; warnings.simplefilter('error')\n"
        "import kapi_numba_offload\n"  # makes the driver known before a device is looked for
        "import dpnp, numba\n"
        "double = numba.njit(lambda a: a * 2 + 1)\n"
        "result = double(dpnp.arange(4.0))\n"
        "assert type(result) is dpnp.ndarray and result.asnumpy().tolist() == [1, 3, 5, 7]"
    ),
    "kapi-numba-offload[cuda]": (  # CuPy imports with a driver alone
        "import importlib.util; assert importlib.util.find_spec('cupy')\n"
        "import numba, numpy as np\n"
        "import kapi_numba_offload\n"
        "assert numba.njit(lambda a: a * 2)(np.arange(3.0)).tolist() == [0, 2, 4]"
    ),
    "cupy-cuda13x": "import importlib.util; assert importlib.util.find_spec('cupy')",  # it imports with a driver alone
    "pyopencl": (  # with the variable that the page sets
        "import importlib.metadata, os\n"
        "files = importlib.metadata.files('intel-opencl-rt')\n"
        "library = next(file for file in files if file.name.startswith('libintelocl.so'))\n"
        "os.environ['OCL_ICD_VENDORS'] = os.path.realpath(library.locate())\n"
        "import pyopencl; assert pyopencl.get_platforms()"
    ),
}
"""The programs that must run in an environment made by a line with this requirement."""

_BROUGHT = {"intel-opencl-rt", "intel-cmplr-lib-rt"}  # libraries without a program of their own


def lines(pages: Collection[Path]) -> list[tuple[str, ...]]:
    """Return the requirements of each line that the pages print, each list of them once."""
    found: dict[tuple[str, ...], None] = {}
    for page in pages:
        for line in INSTALL.findall(page.read_text("utf-8")):
            found[tuple(line.replace('"', "").rstrip(".").split())] = None
    return sorted(found)


def required_by(file: Path) -> list[str]:
    """Return the requirements in a file of them."""
    return [line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#")]


def programs_of(line: Sequence[str]) -> list[str]:
    """Return the programs that a line's environment is to run.

    Raises
    ------
    KeyError
        If there is none for a requirement.
    """
    words = required_by(ROOT / line[1]) if line[0] == "-r" else line
    names = [f"kapi-{Path(word).name.removeprefix('kapi-')}" if "/" in word else word for word in words]
    return [PROGRAMS[name] for name in names if name not in _BROUGHT]


@dataclass(frozen=True, slots=True)
class Size:
    """Size of what one line installs.

    Attributes
    ----------
    line : tuple of str
        The requirements.
    nbytes : int
        Bytes of all files, before Python compiles any.
    largest : tuple of (str, int)
        The largest distributions with their bytes.
    distributions : int
        How many there are, kapi's own included.
    """

    line: tuple[str, ...]
    nbytes: int
    largest: tuple[tuple[str, int], ...]
    distributions: int

    def __str__(self) -> str:
        """A row of the table of sizes."""
        words = " ".join(f'"{word}"' if "[" in word else word for word in self.line)
        largest = ", ".join(f"{name} {_megabytes(count)}" for name, count in self.largest)
        return f"| `pip install {words}` | {_megabytes(self.nbytes)} | {self.distributions} | {largest} |"


def run(
    line: Sequence[str], uv: str, constraints: Path, python: str = sys.executable, *, by_pip: bool = False
) -> tuple[Size | None, list[str]]:
    """Install one line into an empty environment, run its programs there, and return the size and what failed.

    Parameters
    ----------
    line : sequence of str
        Requirements; one with a slash is a folder of this repository.
    uv : str
        The program that installs.
    constraints : Path
        Names the wheels of this tree.
    python : str
        The interpreter of the environment.
    by_pip : bool
        Whether pip installs, instead of uv.
    """
    # An environment of the caller's would be found by its variables.
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "KAPI"))}
    with tempfile.TemporaryDirectory() as folder:
        seed = ["--seed"] if by_pip else []
        subprocess.run([uv, "venv", "--quiet", *seed, "--python", python, folder], check=True, env=env)
        inside = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        empty = _nbytes(Path(folder))
        # A folder is built, so no wheel of it may be demanded at the same time.
        wheels = [] if any("/" in word for word in line) else ["--constraints", str(constraints)]
        installer = [str(inside), "-m", "pip", "install"] if by_pip else [uv, "pip", "install", "--python", folder]
        install = [*installer, "--quiet", *wheels, *line]
        done = subprocess.run(install, cwd=ROOT, capture_output=True, text=True, env=env)
        if done.returncode:
            return None, [done.stderr]
        found = _distributions(Path(folder))
        largest = sorted(found.items(), key=lambda item: -item[1])[:3]
        size = Size(tuple(line), _nbytes(Path(folder)) - empty, tuple(largest), len(found))
        # A kernel's source must be in a file, in an empty folder that hides nothing.
        failed = []
        for number, program in enumerate(programs_of(line)):
            file = Path(folder) / "program" / f"program{number}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(program, "utf-8")
            told = subprocess.run([inside, str(file)], cwd=file.parent, capture_output=True, text=True, env=env)
            if told.returncode:
                failed.append(told.stderr)
        return size, failed


def _nbytes(folder: Path) -> int:
    """Bytes of all files in a folder; a link counts nothing."""
    files = (Path(where, name) for where, _, names in os.walk(folder) for name in names)
    return sum(file.stat().st_size for file in files if not file.is_symlink())


def _distributions(environment: Path) -> dict[str, int]:
    """Bytes of each distribution by the list of its files."""
    packages = [str(path) for path in environment.rglob("site-packages") if not path.parents[1].is_symlink()]
    found = {}
    for each in importlib.metadata.distributions(path=packages):
        files = [Path(str(file.locate())) for file in each.files or []]
        found[each.metadata["Name"]] = sum(file.stat().st_size for file in files if file.is_file())
    return found


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f}" if count >= 1e6 else f"{count / 1e6:.1f}"


def main(arguments: Sequence[str]) -> int:
    """Run the lines, print the size of each and what failed, and return 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--constraints", type=Path, required=True)
    parser.add_argument("lines", nargs="*", help="requirements of a line, with spaces between; by default all lines")
    options = parser.parse_args(arguments)
    status = 0
    for line in [tuple(each.split()) for each in options.lines] or lines(code_blocks.pages()):
        size, failed = run(line, options.uv, options.constraints)
        if line[0] == "-r":
            failed += run(line, options.uv, options.constraints, by_pip=True)[1]
        print(size or f"cannot be installed: {' '.join(line)}", *failed, sep="\n  ", flush=True)
        status |= bool(failed)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
