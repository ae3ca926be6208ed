"""The place at which Numba is asked to compile functions of USM arrays for offload; all else is imported when one is.

Numba runs `init` at the first compile of any njit function in an environment that has this distribution. It costs
little, imports no package of kapi, reads no device, and leaves programs without USM arrays as they were. That Numba
knows the types of USM arrays at all is kapi-types' doing, whose hooks this module installs with its own.
"""

from __future__ import annotations

import sys
from typing import Any

from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher

import _kapi_types_hooks

__all__ = ["init", "install", "is_installed", "remove"]

_define_pipelines = Compiler.define_pipelines
_is_removed = False


def init() -> None:
    """What Numba runs by itself: `install`, unless the program has said `remove` before its first compile."""
    _kapi_types_hooks.init()
    if not _is_removed:
        _hook()


def install() -> None:
    """Let `numba.njit` compile calls with USM arrays for offload. Installing twice is installing once."""
    global _is_removed
    _is_removed = False
    _kapi_types_hooks.install()
    _hook()


def remove() -> None:
    """Compile functions of USM arrays for the host again, as kapi-types lets them; what is compiled stays compiled."""
    global _is_removed
    _is_removed = True
    Compiler.define_pipelines = _define_pipelines
    if hasattr(Dispatcher, "offload_diagnostics"):
        del Dispatcher.offload_diagnostics


def is_installed() -> bool:
    """Whether Numba asks here."""
    return Compiler.define_pipelines is _define_pipelines_with_offload


def _hook() -> None:
    Compiler.define_pipelines = _define_pipelines_with_offload
    Dispatcher.offload_diagnostics = _offload_diagnostics


def _offload_diagnostics(dispatcher: Any, level: int = 1, file: Any = None) -> None:
    """Print what became of each part of the function: see `kapi_numba_offload.offload_diagnostics`."""
    from kapi_numba_offload.run.diagnostics import offload_diagnostics

    offload_diagnostics(dispatcher, level, file)


def _define_pipelines_with_offload(compiler: Any) -> Any:
    # Only kapi-types makes these types, so a program without them has not imported the module that has them.
    if any(map(_holds_usm_array, compiler.state.args)) or _makes_arrays(compiler.state.func_id):
        from kapi_numba_offload.frontend.pipeline import offload_pipelines

        return offload_pipelines(compiler.state)
    return _define_pipelines(compiler)


def _holds_usm_array(type_: Any) -> bool:
    # Tuples of tuples are rare, and other types do not hold arrays that a caller passes.
    return type(type_).__name__ == "UsmArrayType" or any(map(_holds_usm_array, getattr(type_, "types", ())))


def _makes_arrays(identity: Any) -> bool:
    """Whether a function speaks of dpnp or of kernels, which Numba knows nothing of: it needs no argument to tell."""
    function = getattr(identity, "func", None)
    known = [sys.modules[name] for name in ("dpnp", "kapi_runtime") if name in sys.modules]
    if function is None or not known:
        return False
    outside = function.__globals__
    values = [outside.get(name) for name in function.__code__.co_names]
    values += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return any(value is module for value in values for module in known)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises where nothing was assigned yet
    except ValueError:
        return False
    return True
