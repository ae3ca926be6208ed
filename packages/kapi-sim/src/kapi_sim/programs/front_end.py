"""Numba's own front end, asked whether it compiles the kernels of a program that runs in the simulator.

The simulator infers types for itself and refuses what it knows; the compiler knows the rest.  A kernel is rebuilt over
the modules of the installed ``numba.cuda``, typed and lowered for the arguments of its first launch.  Neither a GPU nor
a driver has a part in that.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from kapi_sim import numba_cuda
from kapi_sim.numba_cuda.host.allocation import InOut, Out
from kapi_sim.numba_cuda.host.device_arrays import as_host_array
from kapi_sim.numba_cuda.launches.dispatcher import Dispatcher

__all__ = ["FrontEnd"]

_CUDA = "numba.cuda"
_CAPABILITY = 8, 0
_LOCATION = re.compile(r'File "([^"]+)", line (\d+)')
_OWN = numba_cuda.__name__
_PATHS = ("", "atomic", "cg", "const", "fp16", "libdevice", "local", "random", "shared")


class _NotTranslated(Exception):
    """A value of the simulator's that has no counterpart."""


class FrontEnd:
    """The installed Numba's compiler for CUDA, without what comes after its intermediate code.

    - `findings`: one line for each kernel that it refuses.
    """

    def __init__(self) -> None:
        self.findings: list[str] = []
        self._numba = importlib.import_module("numba")
        self._cuda = importlib.import_module(_CUDA)
        self._compile = importlib.import_module(f"{_CUDA}.compiler").compile_cuda
        self._errors = importlib.import_module("numba.core.errors")
        for path in ("libdevice", "random"):
            importlib.import_module(f"{_CUDA}.{path}")
        # Device functions are compiled for the current device, and there may be none.
        dispatchers = importlib.import_module(f"{_CUDA}.dispatcher")
        self._pretended = dispatchers, SimpleNamespace(compute_capability=_CAPABILITY)
        self._modules = _below_cuda()
        self._devices: dict[int, Any] = {}
        self._known: dict[int, str] = {}
        for path in _PATHS:
            owner = getattr(numba_cuda, path) if path else numba_cuda
            for name, value in vars(owner).items():
                if not name.startswith("_") and not isinstance(value, (ModuleType, int, str)):
                    self._known.setdefault(id(value), f"{path}.{name}".lstrip("."))

    @classmethod
    def installed(cls) -> FrontEnd | None:
        """Return the front end; `None` if there is none that can be asked."""
        if importlib.util.find_spec("numba") is None:
            return None
        try:
            return cls()
        except (ImportError, AttributeError, OSError):  # a Numba without CUDA, or a part of it that is not there
            return None

    def ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Compile a kernel for these arguments, and note why that fails, if the compiler says so."""
        assert isinstance(function, FunctionType)
        with self._active(), warnings.catch_warnings(), suppress(Exception):
            warnings.simplefilter("ignore")
            types = tuple(self._numba.typeof(_host_value(value)) for value in arguments)
            translated = self._translated(function)
            try:
                self._compile(translated, self._numba.types.void, types, cc=_CAPABILITY)
            except (self._errors.TypingError, self._errors.UnsupportedError) as error:
                self.findings.append(self._described(function, str(error)))

    def _described(self, function: FunctionType, message: str) -> str:
        locations = _LOCATION.findall(message)
        code = function.__code__
        file, line = next((each for each in locations if each[0] == code.co_filename), (code.co_filename, ""))
        lines = [each.strip() for each in message.splitlines() if each.strip() and not each.startswith("Failed in ")]
        said = lines[0] if lines else "it gives no reason"
        location = f"{file}:{line or code.co_firstlineno}"
        return f"{location}: Numba {self._numba.__version__} does not compile kernel `{function.__name__}`: {said}"

    @contextmanager
    def _active(self) -> Iterator[None]:
        """Put the modules of the compiler back where the simulator's stand in for them."""
        standing_in, cuda = _below_cuda(), vars(self._numba).get("cuda")
        _exchange(standing_in, self._modules)
        vars(self._numba)["cuda"] = self._cuda
        dispatchers, device = self._pretended
        current = vars(dispatchers).get("get_current_device")
        vars(dispatchers)["get_current_device"] = lambda: device
        try:
            yield
        finally:
            vars(dispatchers)["get_current_device"] = current
            self._modules = _below_cuda()
            _exchange(self._modules, standing_in)
            vars(self._numba)["cuda"] = cuda

    def _translated(self, function: FunctionType) -> FunctionType:
        """Return a function over the names of the installed ``numba.cuda``."""
        used, known = _names(function.__code__), function.__globals__
        names = {name: self._value(known[name], used) for name in used if name in known}
        cells = tuple(CellType(self._value(cell.cell_contents, used)) for cell in function.__closure__ or ())
        names["__builtins__"] = known.get("__builtins__", __builtins__)
        names["__name__"] = function.__module__
        return FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)

    def _value(self, value: Any, used: set[str]) -> Any:
        if isinstance(value, Dispatcher):
            if id(value) not in self._devices:
                self._devices[id(value)] = None  # a function that calls itself
                self._devices[id(value)] = self._cuda.jit(device=True)(self._translated(_plain(value)))
            if self._devices[id(value)] is None:
                raise _NotTranslated
            return self._devices[id(value)]
        if id(value) in self._known:
            found: Any = self._cuda
            for name in self._known[id(value)].split("."):
                found = getattr(found, name)
            return found
        if isinstance(value, ModuleType):
            return self._module(value, used)
        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, type):
            return as_host_array(value)
        kind = value if isinstance(value, type) else type(value)
        if (kind.__module__ or "").partition(".")[0] == "kapi_sim":
            raise _NotTranslated
        return value

    def _module(self, module: ModuleType, used: set[str]) -> ModuleType:
        name = module.__name__
        if name == _OWN or name.startswith(f"{_OWN}."):
            return importlib.import_module(_CUDA + name.removeprefix(_OWN))
        if name.partition(".")[0] in sys.stdlib_module_names | {"numpy", "numba"}:
            return module
        made = ModuleType(name)
        for each in used & vars(module).keys():
            setattr(made, each, self._value(vars(module)[each], used))
        return made


def _plain(dispatcher: Dispatcher) -> FunctionType:
    function = dispatcher.py_func
    if not isinstance(function, FunctionType):
        raise _NotTranslated
    return function


def _host_value(value: Any) -> Any:
    """Return an argument as NumPy has it."""
    if isinstance(value, (Out, InOut)):
        return _host_value(value.value)
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(_host_value, value))
    return as_host_array(value) if hasattr(value, "__cuda_array_interface__") else value


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(each) for each in code.co_consts if isinstance(each, CodeType)))


def _below_cuda() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name == _CUDA or name.startswith(f"{_CUDA}.")}


def _exchange(old: dict[str, ModuleType], new: dict[str, ModuleType]) -> None:
    for name in old:
        sys.modules.pop(name, None)
    sys.modules.update(new)
