"""The two places at which Numba is asked to think of USM arrays; all else is imported when one is met.

Numba runs `install` at the first compile of any njit function in an environment that has this distribution. It costs
little, imports nothing of kapi, reads no device, and leaves programs without USM arrays as they were.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import Compiler
from numba.core.typing.typeof import typeof_impl

__all__ = ["install", "is_installed", "remove"]

_PROTOCOL = "__sycl_usm_array_interface__"

_define_pipelines = Compiler.define_pipelines
_typeof_object = typeof_impl.dispatch(object)


def install() -> None:
    """Let `numba.njit` compile calls with USM arrays for offload. Installing twice is installing once."""
    Compiler.define_pipelines = _define_pipelines_with_offload
    typeof_impl.register(object)(_typeof_with_usm_arrays)


def remove() -> None:
    """Leave Numba as it was before `install`; what is compiled already stays compiled."""
    Compiler.define_pipelines = _define_pipelines
    typeof_impl.register(object)(_typeof_object)


def is_installed() -> bool:
    """Whether Numba asks here."""
    return Compiler.define_pipelines is _define_pipelines_with_offload


def _typeof_with_usm_arrays(value: Any, context: Any) -> Any:
    if hasattr(type(value), _PROTOCOL):
        from kapi_numba_offload.arrays import typeof_usm_array

        return typeof_usm_array(value)
    return _typeof_object(value, context)


def _define_pipelines_with_offload(compiler: Any) -> Any:
    # Only `typeof` above makes these types, so a program without them has not imported the module that has them.
    if any(type(each).__name__ == "UsmArrayType" for each in compiler.state.args):
        from kapi_numba_offload.pipeline import offload_pipelines

        return offload_pipelines(compiler.state)
    return _define_pipelines(compiler)
