"""Attributes of Numba that kapi-numba-offload replaces, so that calls with USM arrays are compiled for a device.

Numba runs `init` at the first compile of any njit function in an environment that has this distribution. It costs
little, imports no package of kapi, reads no device, and leaves programs without USM arrays as they were. The first
USM array imports `kapi_numba_offload.frontend.entry`, and nothing else of the package. That Numba
knows the types of USM arrays at all is kapi-types' doing, whose hooks this module installs with its own.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher
from numba.core.typing.typeof import typeof
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc

import _kapi_types_hooks

__all__ = ["CALLS", "PATCHES", "SUPPORTED_NUMBA", "Patch", "init", "install", "is_installed", "remove"]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""

_MISSING = object()
_ARRAY_CLASSES = frozenset(
    (("cupy", "ndarray"), ("dpnp.dpnp_array", "dpnp_array"), ("kapi_numba_offload.libraries.host_array", "HostArray"))
)
_LIBRARIES = ("cupy", "dpctl", "dpnp", "kapi_runtime")
"""Modules whose functions make arrays of devices; `kapi_numba_offload.libraries` knows the libraries."""


class Patch:
    """A replaced attribute of a class of Numba's.

    - `why`: what it is replaced for, and when.
    """

    def __init__(self, owner: type, attribute: str, why: str) -> None:
        self.owner, self.attribute, self.why = owner, attribute, why
        self._own = vars(owner).get(attribute, _MISSING)
        self.original: Any = getattr(owner, attribute, None)
        """The attribute's value before."""

    def apply(self, replacement: Callable[..., Any]) -> None:
        """Replace the attribute. Replacing twice is replacing once."""
        setattr(self.owner, self.attribute, replacement)

    def undo(self) -> None:
        """Give the class back what it had."""
        if self._own is not _MISSING:
            setattr(self.owner, self.attribute, self._own)
        elif self.attribute in vars(self.owner):
            delattr(self.owner, self.attribute)

    @property
    def is_applied(self) -> bool:
        """Whether the class has something else now."""
        return vars(self.owner).get(self.attribute, _MISSING) is not self._own


_PIPELINES = Patch(Compiler, "define_pipelines", "functions of USM arrays get passes of kapi's, while installed")
_DIAGNOSTICS = Patch(Dispatcher, "offload_diagnostics", "a method that tells what was offloaded, while installed")
CALLS = Patch(CPUDispatcher, "__call__", "calls with NumPy arrays are offloaded, while a device context is open")
"""Applied by `frontend.host_calls`, which the package hands it to, while a context is open."""
_CONVERSIONS = Patch(
    Dispatcher, "_search_new_conversions", "functions with signatures take USM arrays for NumPy's, while installed"
)
_COMPILES = Patch(
    CPUDispatcher, "_compile_for_args", "arrays of other libraries are refused with what is taken, while installed"
)
_VECTORIZED = Patch(DUFunc, "__call__", "calls of `vectorize` functions with USM arrays are kernels, while installed")
_GENERALISED = Patch(GUFunc, "__call__", "calls of `guvectorize` functions with USM arrays too, while installed")

PATCHES = (_PIPELINES, _DIAGNOSTICS, CALLS, _COMPILES, _CONVERSIONS, _VECTORIZED, _GENERALISED)
"""All that kapi-numba-offload replaces in Numba."""

_is_removed = False


def init() -> None:
    """Install, unless the program has called `remove` before its first compile: Numba runs this by itself."""
    _kapi_types_hooks.init()
    if not _is_removed:
        _hook()


def install() -> None:
    """Let `numba.njit` compile calls with USM arrays for offload. A second call changes nothing."""
    global _is_removed
    _is_removed = False
    _kapi_types_hooks.register()
    _hook()


def remove() -> None:
    """Compile functions of USM arrays for the host again; compiled functions stay compiled."""
    global _is_removed
    _is_removed = True
    for each in PATCHES:
        if each is not CALLS:
            each.undo()


def is_installed() -> bool:
    """Return whether the package is registered with Numba."""
    return _PIPELINES.is_applied


def _hook() -> None:
    _PIPELINES.apply(_define_pipelines_with_offload)
    _DIAGNOSTICS.apply(_offload_diagnostics)
    _COMPILES.apply(_compile_for_args)
    _CONVERSIONS.apply(_search_new_conversions)
    _VECTORIZED.apply(_call_vectorized)
    _GENERALISED.apply(_call_vectorized)


def _call_vectorized(function: Any, *args: Any, **keywords: Any) -> Any:
    if any(map(_is_device_array, (*args, *keywords.values()))):
        from kapi_numba_offload.frontend import entry

        return entry.call_vectorized(function, args, keywords)
    patch = _GENERALISED if isinstance(function, GUFunc) else _VECTORIZED
    return patch.original(function, *args, **keywords)


def _is_device_array(value: Any) -> bool:
    # By names: no library is imported for programs that have none of its arrays.
    return (type(value).__module__, type(value).__name__) in _ARRAY_CLASSES


def _compile_for_args(dispatcher: Any, *args: Any, **keywords: Any) -> Any:
    """Run Numba's own method, and say in its error which arrays of other libraries it has no type of."""
    try:
        return _COMPILES.original(dispatcher, *args, **keywords)
    except NumbaError:
        names = dispatcher.py_func.__code__.co_varnames
        given = [*zip((*names, *("*args" for _ in args)), args, strict=False), *keywords.items()]
        foreign = [(name, array) for name, each in given for array in _foreign_arrays(each)]
        if not foreign:
            raise
        from kapi_numba_offload.frontend import entry

        raise entry.foreign_array_error(dispatcher.py_func, *foreign[0]) from None


def _foreign_arrays(value: Any) -> Iterator[Any]:
    """The arrays in a value or a tuple that have an array protocol, but no type of Numba's."""
    if isinstance(value, tuple):
        for each in value:
            yield from _foreign_arrays(each)
    elif _is_foreign_array(value):
        yield value


def _is_foreign_array(value: Any) -> bool:
    is_array = hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__")
    if not is_array or hasattr(value, "__sycl_usm_array_interface__"):
        return False
    try:
        typeof(value)
    except ValueError:
        return True
    return False


def _search_new_conversions(dispatcher: Any, *args: Any, **keywords: Any) -> bool:
    """Whether a function that has its signatures can be called; USM arrays are compiled for if NumPy's would do."""
    given = tuple(map(dispatcher.typeof_pyval, args))
    if not any(map(_holds_usm_array, given)):
        found: bool = _CONVERSIONS.original(dispatcher, *args, **keywords)
        return found
    from kapi_numba_offload.frontend import entry

    return entry.compile_for_conversion(dispatcher, given)


def _offload_diagnostics(dispatcher: Any, level: int = 1, file: Any = None) -> None:
    """Print the outcome of each part of the function: see `kapi_numba_offload.offload_diagnostics`."""
    from kapi_numba_offload.frontend import entry

    entry.offload_diagnostics(dispatcher, level, file)


def _define_pipelines_with_offload(compiler: Any) -> Any:
    # Only kapi makes these types, so a program without them has not imported the modules that have them.
    if any(map(_holds_usm_array, compiler.state.args)) or _makes_arrays(compiler.state.func_id):
        from kapi_numba_offload.frontend import entry

        return entry.offload_pipelines(compiler.state)
    return _PIPELINES.original(compiler)


def _holds_usm_array(type_: Any) -> bool:
    # Tuples of tuples are rare, and other types do not hold arrays that a caller passes.
    return type(type_).__name__ in ("DeviceArrayType", "UsmArrayType", "IndexSpaceType") or any(
        map(_holds_usm_array, getattr(type_, "types", ()))
    )


def _makes_arrays(identity: Any) -> bool:
    """Whether a function names an array library or kernels: Numba cannot compile it, so any call is offloaded."""
    function = getattr(identity, "func", None)
    if function is None or not any(name in sys.modules for name in _LIBRARIES):
        return False
    outside = function.__globals__
    values = [outside.get(name) for name in _globals_of(function.__code__)]
    values += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return any(map(_is_of_kapi, values))


def _globals_of(code: CodeType) -> Iterator[str]:
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _globals_of(each)


def _is_of_kapi(value: Any) -> bool:
    """Whether a value is an array library, dpctl or kapi-runtime, or a function or class of theirs."""
    if isinstance(value, ModuleType):
        return value.__name__ in _LIBRARIES
    if not callable(value):
        return False
    module = getattr(value, "__module__", None) or type(value).__module__
    return isinstance(module, str) and module.partition(".")[0] in (*_LIBRARIES, "kapi_sim")


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises where nothing was assigned yet
    except ValueError:
        return False
    return True
