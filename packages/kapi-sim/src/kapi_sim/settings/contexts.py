"""Device contexts of the simulator: every array is on the host, and there is nothing to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["device_context"]


@contextmanager
def device_context(device: Any, *, warn: bool = False) -> Iterator[None]:
    """Do nothing for the launches inside a ``with`` block: the simulator takes NumPy arrays everywhere.

    Parameters
    ----------
    device : object
        What names a device under `kapi_runtime`; not looked at.
    warn : bool
        Whether copies are warned of there; the simulator makes none.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> values = np.arange(4)
    >>> with kapi.device_context("opencl:cpu"):
    ...     double[kapi.Range(4)](values)
    >>> values
    array([0, 2, 4, 6])
    """
    yield
