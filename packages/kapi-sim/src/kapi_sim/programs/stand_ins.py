"""Modules that stand in for others while a program runs: `kapi_sim.numba_cuda` for ``numba.cuda``."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import io
import sys
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from types import ModuleType
from typing import Any

from kapi_sim import numba_cuda
from kapi_sim.numba_cuda.launches import vectorizers
from kapi_sim.numba_cuda.support import REFUSED, Refused, refuse

__all__ = ["stand_ins"]

_OF_CUDA = (
    "api", "args", "compiler", "cudadrv", "cudadrv.devicearray", "cudadrv.devices", "cudadrv.driver", "cudadrv.error",
    "cudadrv.nvvm", "cudadrv.runtime", "decorators", "dispatcher", "errors", "extending", "kernels",
    "kernels.reduction", "kernels.transpose", "libdevice", "random", "types",
)  # fmt: skip
"""Modules below ``numba.cuda``."""
_OF_COMPILER = (
    "codegen", "cudadecl", "cudaimpl", "cudamath", "descriptor", "intrinsics", "libdevicedecl", "libdeviceimpl",
    "mathimpl", "models", "nvvmutils", "stubs", "target", "ufuncs",
)  # fmt: skip
"""Modules below ``numba.cuda`` that extend its compiler, imported as they are; a call of what they hold is refused."""


@contextmanager
def stand_ins() -> Iterator[list[str]]:
    """Let all spellings of ``import numba.cuda`` inside a ``with`` block mean `kapi_sim.numba_cuda`.

    Numba itself stays where it is installed; its functions for the host run as Python where it is not.  NumPy's arrays
    stand in for CuPy's where that is not installed.

    Yields
    ------
    list of str
        One sentence for each package that is not installed and that the program imports, filled as it does.
    """
    notes: list[str] = []
    replaced: dict[str, ModuleType] = {f"numba.cuda.{name}": _dialect(name) for name in _OF_CUDA}
    replaced |= {f"numba.cuda.{name}": _OfCompiler(name) for name in _OF_COMPILER}
    replaced |= {f"numba.cuda.{name}": _OfTests(f"numba.cuda.{name}") for name in ("testing", "tests", "tests.support")}
    replaced["numba.cuda"] = numba_cuda
    attributes: dict[str, Any] = {"cuda": numba_cuda}
    numba = importlib.import_module("numba") if importlib.util.find_spec("numba") else None
    if numba is None:
        from kapi_sim.programs.without_numba import MODULES

        replaced |= MODULES
        notes.append("Numba is not installed: functions by numba.njit run as Python")
    else:
        attributes |= {name: _by_target(getattr(numba, name), getattr(vectorizers, name)) for name in _VECTORIZERS}
        extending = importlib.import_module("numba.extending")
        overloads = {name: vars(extending)[name] for name in _OVERLOADS}
        vars(extending).update({name: _by_target(each, _extend) for name, each in overloads.items()})
    cupy = None if importlib.util.find_spec("cupy") else _WithoutCupy(notes)
    hidden = {name: sys.modules[name] for name in list(sys.modules) if name in replaced or _is_below_cuda(name)}
    before = {name: vars(numba)[name] for name in attributes if name in vars(numba)} if numba else {}
    for name in hidden:
        del sys.modules[name]
    sys.modules.update(replaced)
    if numba is not None:
        vars(numba).update(attributes)
    if cupy is not None:
        sys.meta_path.append(cupy)
    try:
        yield notes
    finally:
        if cupy is not None:
            cupy.remove()
        for name in replaced:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
        if numba is not None:
            for name in attributes:
                vars(numba).pop(name, None)
            vars(numba).update(before)
            vars(extending).update(overloads)


class _WithoutCupy:
    """The finder of what stands in for CuPy; it says so when a program imports that."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in ("cupy", "cupyx"):
            return None
        from kapi_sim.programs.without_cupy import MODULES

        note = "CuPy is not installed: NumPy's arrays stand in for its arrays"
        self._notes += [] if note in self._notes else [note]
        return importlib.machinery.ModuleSpec(name, self) if name in MODULES else None  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        from kapi_sim.programs.without_cupy import MODULES

        return MODULES[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is made."""

    def remove(self) -> None:
        """Take back what was imported."""
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if name.partition(".")[0] in ("cupy", "cupyx")]:
            del sys.modules[name]


_VECTORIZERS = ("vectorize", "guvectorize")
_OVERLOADS = ("overload", "overload_attribute", "overload_method")


def _extend(*args: Any, **options: Any) -> Any:
    """Refuse an extension of the compiler for CUDA."""
    refuse("extending")


class _OfCompiler(ModuleType):
    """A module of the compiler, of which each name is refused when it is called."""

    def __getattr__(self, name: str) -> Refused:
        if name.startswith("__"):
            raise AttributeError(name)
        return Refused(f"{self.__name__}.{name}", REFUSED["extending"])


class _OfTests(ModuleType):
    """A module that test suites take their cases and skips from: the simulator skips nothing."""

    CUDATestCase = ContextResettingTestCase = unittest.TestCase
    unittest = unittest

    @staticmethod
    @contextmanager
    def captured_stdout() -> Iterator[io.StringIO]:
        """Keep what is printed."""
        with redirect_stdout(io.StringIO()) as printed:
            yield printed

    @staticmethod
    @contextmanager
    def override_config(name: str, value: object) -> Iterator[None]:
        """Leave the compiler's settings, of which the simulator has none."""
        yield

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("skip_"):
            raise AttributeError(name)
        # Some are given a reason, some the test.
        return lambda given: given if callable(given) else lambda test: test


def _dialect(name: str) -> ModuleType:
    return importlib.import_module(f"kapi_sim.numba_cuda.{name}")


def _is_below_cuda(name: str) -> bool:
    return name.startswith("numba.cuda.")


def _by_target(host: Callable[..., Any], cuda: Callable[..., Any]) -> Callable[..., Any]:
    """Return a decorator of Numba's that makes functions for ``target="cuda"`` here."""

    def decorator(*args: Any, **options: Any) -> Any:
        made = cuda if options.get("target") == "cuda" else host
        return made(*args, **options)

    decorator.__name__ = host.__name__
    decorator.__doc__ = host.__doc__
    return decorator
