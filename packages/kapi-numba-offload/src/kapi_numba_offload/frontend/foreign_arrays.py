"""Arrays of libraries that are not offloaded, given to `njit` functions: the error says which are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi_sim.errors import DtypeError

__all__ = ["foreign_array_error"]


def foreign_array_error(function: Callable[..., Any], name: str, value: Any) -> DtypeError:
    """The error for an argument that is an array of another library, or has one in it.

    Parameters
    ----------
    function : function
        What is called.
    name : str
        The parameter.
    value : object
        The array.
    """
    code = function.__code__
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    where = "on an NVIDIA GPU" if hasattr(value, "__cuda_array_interface__") else "of another library"
    return DtypeError(
        f"argument `{name}` of {function.__name__}() at {code.co_filename}:{code.co_firstlineno} must be a dpnp or "
        f"dpctl array for the function to be offloaded, or a NumPy array for Numba, got {kind}, an array {where}: copy "
        "it, as by `dpnp.asarray(numpy_array)`, or write a kernel with `kapi_runtime.kernel`, which takes arrays of "
        "CuPy, PyTorch and JAX",
        code="offload-foreign-array",
    )
