"""NumPy under CuPy's name, for programs that pass CuPy's arrays to kernels, where CuPy is not installed."""

from __future__ import annotations

import functools
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from kapi_sim.numba_cuda.host.streams import Event, Stream
from kapi_sim.programs import rawkernels

__all__ = ["MODULES"]


class ndarray(np.ndarray):
    """An array of NumPy's with the methods that only CuPy's have."""

    def get(self, stream: object = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        """Return a copy on the host."""
        if out is None:
            return np.array(self, order=order)  # type: ignore[call-overload]
        out[...] = self
        return out

    def set(self, arr: Any, stream: object = None) -> None:
        """Take the elements of an array of the host."""
        self[...] = arr


class _Numpy(ModuleType):
    """A module of NumPy's, of which each function gives arrays of CuPy's class."""

    def __init__(self, name: str, module: Any) -> None:
        super().__init__(name, "Stands in for a module of CuPy, which is not installed.")
        self.__path__: list[str] = []
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            return _Numpy(f"{self.__name__}.{name}", found)
        if not callable(found) or isinstance(found, (type, np.ufunc)):
            return found

        @functools.wraps(found)
        def made(*args: Any, **named: Any) -> Any:
            return _as_cupy(found(*args, **named))

        return made


def _as_cupy(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_as_cupy, value)) if type(value) in (tuple, list) else value
    return value.view(ndarray) if type(value) is np.ndarray else value


def _asnumpy(a: Any, *_: object, **named: object) -> Any:
    return np.array(a)


class _Device:
    """The one device, which is the host."""

    id = 0

    def __init__(self, device: int = 0) -> None:
        pass

    def __enter__(self) -> _Device:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def synchronize(self) -> None:
        """Do nothing: a launch is done when it returns."""

    def use(self) -> None:
        """Do nothing: there is one device."""


class _Stream(Stream):
    """A stream: a launch is done when it returns."""

    def __init__(self, null: bool = False, non_blocking: bool = False, **_: object) -> None:
        super().__init__()

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def use(self) -> _Stream:
        """Return the stream itself."""
        return self


_Stream.null = _Stream()  # type: ignore[attr-defined]
CUPY = _Numpy("cupy", np)
_CUDA = SimpleNamespace(
    Device=_Device,
    Event=Event,
    Stream=_Stream,
    is_available=lambda: True,
    runtime=SimpleNamespace(getDeviceCount=lambda: 1, deviceSynchronize=lambda: None),
)
vars(CUPY).update(ndarray=ndarray, asnumpy=_asnumpy, get_array_module=lambda *args: CUPY, cuda=_CUDA)
_CUPYX = ModuleType("cupyx")
_CUPYX.__path__ = []
vars(_CUPYX).update(jit=rawkernels)

MODULES: dict[str, ModuleType] = {"cupy": CUPY, "cupyx": _CUPYX, "cupyx.jit": rawkernels}
"""By name, what is imported in CuPy's place."""
