"""The problems: each module has a function `build(scale)` that gives a Workload.

A module writes its problem once in each way: NumPy expressions, a function for Numba (the same for offload, which gets
arrays of the device), dpnp expressions, OpenCL C, and a kernel. This module makes the columns of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import dpnp
import numpy as np
from opencl_peer import Peer

import kapi_numba_offload
import kapi_runtime as kapi

__all__ = ["Column", "Launch", "Workload", "kapi_columns", "on_host", "opencl_columns", "peer_columns", "wait_for"]


kapi_numba_offload.register()


@dataclass(frozen=True)
class Column:
    """One way to solve a problem.

    Attributes
    ----------
    run : callable
        Solves the problem once and waits.
    results : callable
        The last run's results, as NumPy arrays or what `numpy.asarray` takes.
    """

    run: Callable[[], object]
    results: Callable[[], Sequence[Any]]


@dataclass(frozen=True)
class Workload:
    """One problem at one size.

    Attributes
    ----------
    name : str
        The problem.
    size : str
        Its size, in words.
    columns : mapping of str to Column
        The ways to solve it; without `reference`, the first is the reference for the others.
    rtol, atol : float
        How near the others must come.
    reference : sequence of arrays, optional
        The right results, where no column is to be trusted with them.
    """

    name: str
    size: str
    columns: Mapping[str, Column]
    rtol: float = 1e-9
    atol: float = 0.0
    reference: Sequence[Any] | None = None

    def with_columns(self, names: Collection[str]) -> Workload:
        """The same with these columns and ``kapi (CPU)`` alone; what was the reference stays it, run once."""
        reference = self.reference
        if reference is None:
            first = next(iter(self.columns.values()))
            first.run()
            reference = first.results()
        kept = {name: each for name, each in self.columns.items() if name in names or name == "kapi (CPU)"}
        return replace(self, columns=kept, reference=reference)

    def verify(self) -> None:
        """Raise AssertionError unless every column's last results are the reference's."""
        given = next(iter(self.columns.values())).results() if self.reference is None else self.reference
        expected = [on_host(each) for each in given]
        for name, column in self.columns.items():
            results = [on_host(each) for each in column.results()]
            assert len(results) == len(expected), f"{self.name}, {name}: {len(results)} results"
            for result, right in zip(results, expected, strict=True):
                np.testing.assert_allclose(
                    result, right, rtol=self.rtol, atol=self.atol, err_msg=f"{self.name}: {name} is wrong"
                )


class Launch:
    """A kernel with its arguments set once, as `Peer.kernel` sets them; compiled when it is first started.

    Over NumPy arrays it is `call_kernel`, which returns when the kernel has run.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    space : Range or NdRange
        Its work-items.
    *arguments
        Its arguments.
    """

    def __init__(self, kernel: kapi.Kernel, space: kapi.Range | kapi.NdRange, *arguments: Any) -> None:
        if any(isinstance(each, np.ndarray) for each in arguments):
            self.start = self.run = partial(kapi.call_kernel, kernel, space, *arguments)
        else:
            bind: Callable[[], Any] = cache(partial(kernel.bind, space, *arguments))
            self.start, self.run = lambda: bind()(), lambda: bind()()[0].wait()


def opencl_columns(source: str, build: Callable[[Peer], Column]) -> dict[str, Column]:
    """The two columns of OpenCL C: without contraction, as kapi is by default, and with it, as OpenCL C is."""
    return {
        "OpenCL C": build(Peer(source, contract=False)),
        "OpenCL C, contracting": build(Peer(source, contract=True)),
    }


def kapi_columns(build: Callable[..., Column], *kernels: Any) -> dict[str, Column]:
    """The four columns of kapi: on the default device and on its own CPU target, without contraction and with it.

    `build` takes the module of the arrays, dpnp or NumPy, and the kernels.
    """
    contracting = [kapi.kernel(fastmath={"contract"})(kernel.py_func) for kernel in kernels]
    return {
        "kapi": build(dpnp, *kernels),
        "kapi, contracting": build(dpnp, *contracting),
        "kapi (CPU)": build(np, *kernels),
        "kapi (CPU), contracting": build(np, *contracting),
    }


def peer_columns(
    name: str,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    results: Callable[[list[Any]], Sequence[Any]] = lambda outputs: outputs,
) -> dict[str, Column]:
    """The columns of Taichi and Warp, where they are installed and have the workload.

    Parameters
    ----------
    name : str
        The workload's, in their modules.
    inputs, outputs : sequence
        What their kernels take, in this order: NumPy arrays, of which they have copies, and numbers.
    results : callable
        Makes the results of the outputs.
    """
    columns = {}
    for title, library, module in (("Taichi", "taichi", "cpu_taichi_kernels"), ("Warp", "warp", "cpu_warp_kernels")):
        prepared = importlib.import_module(module).prepare(name, inputs, outputs) if find_spec(library) else None
        if prepared is not None:
            run, fetch = prepared
            columns[title] = Column(run, partial(_of, results, fetch))
    return columns


def _of(results: Callable[[list[Any]], Sequence[Any]], fetch: Callable[[], list[Any]]) -> Sequence[Any]:
    return results(fetch())


def wait_for(array: Any) -> Any:
    """Wait for the queue of a dpnp array, and return the array."""
    array.sycl_queue.wait()
    return array


def on_host(values: Any) -> np.ndarray[Any, Any]:
    """A NumPy array of what may be on the device."""
    for fetch in ("asnumpy", "get"):
        if hasattr(values, fetch):
            return np.asarray(getattr(values, fetch)())
    return np.asarray(values)
