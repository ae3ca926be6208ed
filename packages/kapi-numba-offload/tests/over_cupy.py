"""These tests over CuPy's arrays in place of dpnp's: both libraries have NumPy's names, and ``dpnp`` is CuPy then.

Where CuPy is not installed, stand-ins for it and for CUDA's driver take its place.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import _kapi_numba_hooks
import kapi_runtime
from kapi_numba_offload.frontend import host_calls
from kapi_sim.testing.reports import changing

__all__ = ["install"]


def install(sibling_module: Callable[[str], Any]) -> None:
    """Let ``import dpnp`` be CuPy, whose arrays get dpnp's method `asnumpy`."""
    if importlib.util.find_spec("cupy") is None:
        driver = sibling_module("driver_standin")
        driver.DRIVER = driver.install()
        sibling_module("cupy_standin").install()
    sibling_module("cupy_answers")
    cupy = importlib.import_module("cupy")

    cupy.ndarray.asnumpy = cupy.ndarray.get
    sys.modules["dpnp"] = cupy
    # The contexts of these tests are the GPU's then, and the words of errors CuPy's.
    context = kapi_runtime.device_context
    kapi_runtime.device_context = lambda device, **words: context("cuda" if device == "opencl:cpu" else device, **words)
    changing(r"cupy\.asnumpy\((\w+)\)", r"\1.asnumpy()")
    changing("cupy", "dpnp")
    # A source tree has no entry points.
    _kapi_numba_hooks.install()
    host_calls.listen()
