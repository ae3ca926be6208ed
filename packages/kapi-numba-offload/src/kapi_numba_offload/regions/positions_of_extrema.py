"""Positions of extrema of arrays that may have nans: the first nan's, as in NumPy; dpnp gives that of any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kapi_numba_offload.analysis.numpy_signatures import as_dpnp_takes_it
from kapi_numba_offload.run.usm import LIBRARY, DpnpArray

__all__ = ["argmax", "argmin"]


def argmax(_: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """Result of `numpy.argmax` for these arguments.

    Parameters
    ----------
    args, keywords : sequence, mapping
        As NumPy takes them.

    Returns
    -------
    dpnp.ndarray or None
        None where dpnp does what is asked, or tells what is wrong with it.
    """
    return _position("argmax", args, keywords)


def argmin(_: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    """Result of `numpy.argmin` for these arguments; see `argmax`."""
    return _position("argmin", args, keywords)


def _position(name: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any | None:
    given, words = as_dpnp_takes_it(name, args, keywords)
    array = given[0] if given else words.pop("a", None)
    if not isinstance(array, DpnpArray) or array.dtype.kind not in "fc":
        return None
    words |= dict(zip(("axis", "out"), given[1:], strict=False))
    out = words.pop("out", None)
    nans = LIBRARY.isnan(array)
    has_nan, first_nan = LIBRARY.any(nans, **words), LIBRARY.argmax(nans, **words)
    found = LIBRARY.where(has_nan, first_nan, getattr(LIBRARY, name)(array, **words))
    if out is None:
        return found
    out[...] = found
    return out
