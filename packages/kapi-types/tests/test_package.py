"""Promises of the package: its Numba versions, its imports, its public names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

import kapi_types
from kapi_types import _numba_compat
from kapi_types.kernel_typing import KernelCompiler, kernel_flags


def _version(text):
    return tuple(int(part) for part in text.lstrip("<>=").split(".")[:2])


def test_installed_numba_is_supported():
    """Numba's internals are used as they are in this range of versions."""
    lowest, highest = _numba_compat.SUPPORTED_NUMBA
    assert lowest.startswith(">=")
    assert highest.startswith("<")
    assert _version(lowest) <= _version(numba.__version__) < _version(highest)


def test_supported_numba_is_what_the_package_declares():
    """The range stands in the code and in the metadata."""
    declared = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert f'"numba{",".join(_numba_compat.SUPPORTED_NUMBA)}"' in declared


def test_numba_compat_exports_what_it_imports():
    """All imports of the package's modules exist."""
    assert [name for name in _numba_compat.__all__ if not hasattr(_numba_compat, name)] == []


def test_import_brings_no_device_library():
    """The entire package, the kernel typing included, works without a device, a back end or code generation."""
    program = (
        "import sys, kapi_types, kapi_types.kernel_typing; kapi_types.ArrayType;"
        "print(sorted({'dpctl', 'dpnp', 'kapi_spirv', 'kapi_runtime', 'kapi_sim.testing'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_readers_of_arrays_are_imported_without_numba():
    """Launches of compiled kernels and the host API of kapi-runtime import them."""
    program = (
        "import sys, kapi_types.usm.structures, kapi_types.usm.queue_waits, kapi_types.device_arrays.libraries;"
        "print({'numba', 'llvmlite'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.strip()) == (0, "set()"), done.stderr


def test_public_names_are_there():
    """`__all__` is sorted, complete, and without strays."""
    assert kapi_types.__all__ == sorted(kapi_types.__all__)
    assert [name for name in kapi_types.__all__ if not hasattr(kapi_types, name)] == []


def test_kernel_flags_ask_for_no_python():
    """Kernel code has no Python objects, wrappers or reference counts."""
    flags = kernel_flags()
    assert not flags.enable_pyobject
    assert not flags.nrt
    assert flags.no_cpython_wrapper
    assert flags.no_compile


def test_front_end_needs_a_back_end():
    """The compiler of the front end alone says what a back end has to define."""
    with pytest.raises(TypeError, match="KernelCompiler must define add_lowering, as each back end does"):
        KernelCompiler.add_lowering(object.__new__(KernelCompiler), None)
