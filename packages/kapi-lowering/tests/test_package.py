"""Promises of the package: its versions, its imports, its public names."""

from __future__ import annotations

from pathlib import Path

import llvmlite
import numba

import kapi_lowering
from kapi_lowering import _numba_compat


def _version(text):
    return tuple(int(part) for part in text.lstrip("<>=").split(".")[:2])


def test_installed_numba_is_supported():
    """Numba's internals are used as they are in this range of versions."""
    lowest, highest = _numba_compat.SUPPORTED_NUMBA
    assert _version(lowest) <= _version(numba.__version__) < _version(highest)


def test_supported_versions_are_what_the_package_declares():
    """The range stands in the code and in the metadata, and the passes are of one LLVM."""
    declared = (Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8")
    assert f'"numba{",".join(_numba_compat.SUPPORTED_NUMBA)}"' in declared
    assert '"llvmlite>=0.50,<0.51"' in declared
    assert _version(llvmlite.__version__) == (0, 50)


def test_numba_compat_exports_what_it_imports():
    """All imports of the package's modules exist."""
    assert [name for name in _numba_compat.__all__ if not hasattr(_numba_compat, name)] == []


def test_public_names_are_there():
    """`__all__` is sorted, capitals first, complete, and without strays."""
    assert kapi_lowering.__all__ == sorted(kapi_lowering.__all__)
    assert [name for name in kapi_lowering.__all__ if not hasattr(kapi_lowering, name)] == []
