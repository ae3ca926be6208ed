"""The entry of the package from the hooks in Numba: what each of their replacements calls once there are USM arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.extending import typeof_impl

from kapi_numba_offload._numba_compat import types, with_numpy_arrays
from kapi_numba_offload.frontend.pipeline import offload_pipelines
from kapi_numba_offload.frontend.vectorized import call_vectorized
from kapi_numba_offload.run.offload_report import offload_diagnostics
from kapi_sim.errors import DtypeError
from kapi_sim.language import NdRange, Range

__all__ = [
    "IndexSpaceType",
    "call_vectorized",
    "compile_for_conversion",
    "foreign_array_error",
    "offload_diagnostics",
    "offload_pipelines",
]


class IndexSpaceType(types.Opaque):
    """A `Range` or `NdRange`; a function with such an argument is offloaded."""


_TYPES = {kind: IndexSpaceType(f"kapi.{kind.__name__}") for kind in (Range, NdRange)}


@typeof_impl.register(Range)
@typeof_impl.register(NdRange)
def _typeof_index_space(value: Any, context: Any) -> Any:
    return _TYPES[type(value)]


def compile_for_conversion(dispatcher: Any, arguments: tuple[Any, ...]) -> bool:
    """Compile a function that has its signatures for USM arrays, if one takes NumPy arrays in their place.

    Returns whether one does.
    """
    on_host = tuple(map(with_numpy_arrays, arguments))
    context = dispatcher.typingctx
    for signature in dispatcher.nopython_signatures:
        formal = signature.args
        if len(formal) == len(arguments) and all(map(context.can_convert, on_host, formal)):
            break
    else:
        return False
    dispatcher._can_compile = True
    try:
        dispatcher.compile(arguments)
    finally:
        dispatcher._can_compile = False
    return True


def foreign_array_error(function: Callable[..., Any], name: str, value: Any) -> DtypeError:
    """The error for an argument that is an array of another library, or has one in it."""
    code = function.__code__
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    is_on_gpu = hasattr(value, "__cuda_array_interface__")
    where = "on an NVIDIA GPU" if is_on_gpu else "of another library"
    conversion = f"cupy.asarray({name})" if is_on_gpu else f"dpnp.asarray({name})"
    return DtypeError(
        f"argument `{name}` of {function.__name__}() at {code.co_filename}:{code.co_firstlineno} must be an array of "
        f"CuPy, PyTorch, JAX or dpnp for the function to be offloaded, or a NumPy array for Numba, got {kind}, an "
        f"array {where}: convert it, as by `{conversion}`, or write a kernel with `kapi_runtime.kernel`, which takes "
        "arrays by their protocols",
        code="offload-foreign-array",
    )
