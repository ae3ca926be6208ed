"""Promises of the package: its versions, its imports, its public names."""

from __future__ import annotations

from pathlib import Path

import llvmlite

import kapi_spirv


def test_installed_llvm_is_supported():
    """The validation rules and repairs are of one LLVM."""
    declared = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert '"llvmlite>=0.50,<0.51"' in declared
    assert llvmlite.__version__.startswith("0.50.")


def test_compilation_brings_no_device_library(run_python):
    """Neither the import nor a compilation needs dpctl, dpnp or kapi's runtime."""
    program = (
        "import sys\n"
        "from kapi_spirv import compile_kernel\n"
        "from kapi_types import ItemType\n"
        "def nothing(item):\n    pass\n"
        "compile_kernel(nothing, [ItemType(1)])\n"
        "print(sorted({'dpctl', 'dpnp', 'kapi_runtime', 'kapi_sim.testing'} & set(sys.modules)))\n"
    )
    assert run_python(program).strip() == "[]"


def test_helper_process_loads_llvmlite_alone(run_python):
    """Numba would bring NumPy and its own libraries: of all that is installed, LLVM's is the only one there."""
    program = (
        "from kapi_lowering.emission import client\n"
        "from kapi_spirv import compile_kernel\n"
        "from kapi_types import ItemType\n"
        "def nothing(item):\n    pass\n"
        "compile_kernel(nothing, [ItemType(1)])\n"
        "helper = client._helpers['kapi_spirv.emission']\n"
        "files = {line.split()[-1] for line in open(f'/proc/{helper._process.pid}/maps') if 'site-packages' in line}\n"
        "print(*[file.rpartition('/')[2] for file in files])\n"
    )
    assert run_python(program).split() == ["libllvmlite.so"]


def test_public_names_are_there():
    """`__all__` is sorted, capitals first, complete, and without strays."""
    assert kapi_spirv.__all__ == sorted(kapi_spirv.__all__)
    assert [name for name in kapi_spirv.__all__ if not hasattr(kapi_spirv, name)] == []
