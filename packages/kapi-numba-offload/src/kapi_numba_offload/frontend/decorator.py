"""`@offload`: `numba.njit` for functions that are meant for a device, with options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from kapi_numba_offload.run.options import OffloadOptions, with_options

__all__ = ["dpjit", "offload"]


def offload(
    function: Any = None,
    /,
    *args: Any,
    fallback: bool | None = None,
    diagnostics: int | None = None,
    fastmath: bool = False,
    **njit_options: Any,
) -> Any:
    """Compile a function with `numba.njit`, and say how its calls with USM arrays are offloaded.

    Parameters
    ----------
    function : function, or a signature, or a list of them
        A plain Python function. Left out, or with signatures in its place as `numba.njit` takes them, a decorator is
        returned.
    *args
        What `numba.njit` takes by position after that: the types of local variables.
    fallback : bool, optional
        Whether what cannot be a kernel may run on the host, with an `OffloadFallbackWarning`; else it is an error. By
        default the environment decides, and where it does not, it may.
    diagnostics : int, optional
        0 to 4: print after the first call for each list of argument types what `offload_diagnostics` of that level
        prints. By default the environment decides, and where it does not, nothing is printed.
    fastmath : bool
        Whether kernels may be optimised as if arithmetic were exact; for NumPy arrays it is Numba's option.
    **njit_options
        Options of `numba.njit`. `parallel` is True by default, for calls with NumPy arrays.

    Returns
    -------
    Dispatcher
        What `numba.njit` makes.

    Raises
    ------
    ValueError
        If `diagnostics` is no level.

    Examples
    --------
    >>> import dpnp
    >>> from kapi_numba_offload import offload
    >>> @offload(fallback=False)
    ... def scaled(a, factor):
    ...     return a * factor + 1
    >>> scaled(dpnp.arange(3.0), 2)
    array([1., 3., 5.])
    """
    options = OffloadOptions(fallback, diagnostics, fastmath)
    signatures = () if function is None or callable(function) else (function,)

    def decorate(function: Callable[..., Any]) -> Any:
        own = with_options(function, options)
        return njit(*signatures, *args, **{"parallel": True, "fastmath": fastmath, **njit_options})(own)

    return decorate(function) if callable(function) else decorate


dpjit = offload
"""numba-dpex's name of `offload`."""
