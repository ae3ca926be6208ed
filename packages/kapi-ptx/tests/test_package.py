"""Promises of the package: its versions, its imports, its public names."""

from __future__ import annotations

from pathlib import Path

import llvmlite

import kapi_ptx


def test_installed_llvm_is_supported():
    """The emission is written for one LLVM."""
    declared = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert '"llvmlite>=0.50,<0.51"' in declared
    assert llvmlite.__version__.startswith("0.50.")


def test_compilation_brings_no_driver(run_python):
    """Neither the import nor a compilation looks for a GPU, or loads what finds NVIDIA's files."""
    program = (
        "import sys\n"
        "from kapi_ptx import compile_kernel\n"
        "from kapi_types import ItemType\n"
        "def nothing(item):\n    pass\n"
        "compile_kernel(nothing, [ItemType(1)])\n"
        "print(sorted({'cuda', 'dpctl', 'kapi_spirv', 'kapi_runtime', 'kapi_sim.testing'} & set(sys.modules)))\n"
        "print('libcuda' in open('/proc/self/maps').read())\n"
    )
    assert run_python(program).split() == ["[]", "False"]


def test_import_brings_no_compiler(run_python):
    """A launch of a kernel that was compiled before needs the value alone."""
    program = "import sys, kapi_ptx\nprint(sorted({'numba', 'llvmlite'} & set(sys.modules)))\n"
    assert run_python(program).strip() == "[]"


def test_helper_process_loads_llvmlite_alone(run_python):
    """Numba would bring NumPy and its own libraries: of all that is installed, LLVM's is the only one there."""
    program = (
        "from kapi_lowering.emission import client\n"
        "from kapi_ptx import compile_kernel\n"
        "from kapi_types import ItemType\n"
        "def nothing(item):\n    pass\n"
        "compile_kernel(nothing, [ItemType(1)])\n"
        "helper = client._helpers['kapi_ptx.emission']\n"
        "files = {line.split()[-1] for line in open(f'/proc/{helper._process.pid}/maps') if 'site-packages' in line}\n"
        "print(*[file.rpartition('/')[2] for file in files])\n"
    )
    assert run_python(program).split() == ["libllvmlite.so"]


def test_public_names_are_there():
    """`__all__` is sorted, capitals first, complete, and without strays."""
    assert kapi_ptx.__all__ == sorted(kapi_ptx.__all__)
    assert [name for name in kapi_ptx.__all__ if not hasattr(kapi_ptx, name)] == []
