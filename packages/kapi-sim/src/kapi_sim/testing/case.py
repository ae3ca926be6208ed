"""One case of the conformance suite, and what a back end has to be."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from types import FunctionType
from typing import Any, Protocol

import numpy as np

__all__ = [
    "Backend",
    "Case",
    "Local",
    "Strided",
    "output_case",
    "kernel",
    "kernel_from_source",
    "kernel_of_expressions",
]


class Backend(Protocol):
    """The interface of a back end to the suite.

    Attributes
    ----------
    kapi : module
        Exports `kapi_sim.language.COMMON_NAMES`.
    """

    @property
    def kapi(self) -> Any:
        """The module under test."""
        ...

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        """Return a C-contiguous copy of `array` that kernels take."""
        ...

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        """Return a NumPy copy of an array that `to_device` made."""
        ...


@dataclass(frozen=True, slots=True)
class Local:
    """An argument that becomes a LocalAccessor of the back end."""

    shape: Any
    dtype: Any


@dataclass(frozen=True, slots=True)
class Strided:
    """An argument that is a view: `base` goes to the device, and `view` is taken of it there.

    `view` may index, transpose, and call what the array's own namespace has.
    """

    base: np.ndarray[Any, Any]
    view: Callable[[Any], Any]


def kernel(function: Any) -> Callable[[Any], Any]:
    """Return the `Case.make` of a kernel that is a function of a module, with the back end's module as its ``kapi``."""

    @wraps(function)
    def make(kapi: Any) -> Any:
        names = {**function.__globals__, "kapi": kapi}
        return kapi.kernel(FunctionType(function.__code__, names, function.__name__, function.__defaults__))

    return make


def kernel_from_source(source: str, **names: Any) -> Callable[[Any], Any]:
    """Return the `Case.make` of a kernel written by program, which error messages can show.

    Parameters
    ----------
    source : str
        A function called ``kernel``.
    **names
        Its globals other than ``kapi``.
    """
    filename = f"<kernel {abs(hash(source))}>"

    def make(kapi: Any) -> Any:
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        namespace = {"kapi": kapi, **names}
        exec(compile(source, filename, "exec"), namespace)
        return kapi.kernel(namespace["kernel"])

    return make


def kernel_of_expressions(head: str, expressions: Iterable[str], **names: Any) -> Callable[[Any], Any]:
    """Return the `Case.make` of a kernel that begins with `head`, then stores expression `k` in ``out[k, i]``."""
    lines = [f"    out[{k}, i] = {expression}\n" for k, expression in enumerate(expressions)]
    return kernel_from_source(f"{head}\n{''.join(lines)}", **names)


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel, an index space, inputs, and outputs that were not computed by any back end of kapi.

    Attributes
    ----------
    name : str
        Unique in the suite.
    make : function
        Takes the back end's module and returns the kernel.
    space : tuple
        ``(global,)`` for a Range, ``(global, local)`` for an NdRange, each a tuple of int.
    inputs : function
        Returns a fresh list of arguments: arrays, `Strided`, `Local`, numbers, tuples.
    expected : function
        Takes the inputs and returns, by position, what the array arguments hold afterwards; of a
        `Strided` argument, its base.
    ulp : dict of int to float or array
        Allowed error of an output, in units in the last place of the expected value in the dtype
        given by `precision`; 0 where left out.
    precision : dtype_like
        The dtype whose last place counts.
    covers : tuple of str
        Keys of the intrinsic table that the case tests.
    starts : tuple of int
        Outputs whose first values count though they are all alike, such as a sum that begins at 0. All other outputs of
        one value are given another one by `run`, so that a kernel that writes nothing passes no case.
    """

    name: str
    make: Callable[[Any], Any]
    space: tuple[tuple[int, ...], ...]
    inputs: Callable[[], list[Any]]
    expected: Callable[[list[Any]], Mapping[int, np.ndarray[Any, Any]]]
    ulp: Mapping[int, Any] = field(default_factory=dict)
    precision: Any = np.float64
    covers: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def run(self, backend: Backend) -> None:
        """Run the case and compare.

        Raises
        ------
        AssertionError
            If an output is not what was expected.
        """
        kapi = backend.kapi
        kernel = self.make(kapi)
        inputs = self.poisoned_inputs()
        bases = [_to_device(backend, value) for value in inputs]
        arguments = [
            value.view(base) if isinstance(value, Strided) else base for value, base in zip(inputs, bases, strict=False)
        ]
        space = kapi.Range(*self.space[0]) if len(self.space) == 1 else kapi.NdRange(*self.space)
        kapi.call_kernel(kernel, space, *arguments)
        for position, wanted in self.expected(inputs).items():
            got = backend.to_host(bases[position])
            self._compare(position, got, np.asarray(wanted))

    def poisoned_inputs(self) -> list[Any]:
        """Return fresh inputs, in which outputs do not hold what is expected of them."""
        inputs = self.inputs()
        for position, wanted in self.expected(self.inputs()).items():
            value = inputs[position]
            array = value.base if isinstance(value, Strided) else value
            if position not in self.starts and isinstance(array, np.ndarray) and _is_uniform(array):
                poisoned = np.full_like(array, not wanted.flat[0] if array.dtype == np.bool_ else _POISON)
                inputs[position] = replace(value, base=poisoned) if isinstance(value, Strided) else poisoned
        return inputs

    def _compare(self, position: int, got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> None:
        where = f"case {self.name}, argument {position}"
        assert got.shape == wanted.shape, f"{where}: shape must be {wanted.shape}, got {got.shape}"
        ulp = self.ulp.get(position, 0)
        if not np.any(ulp):
            np.testing.assert_array_equal(got, wanted, err_msg=where)
            return
        finite = np.where(np.isfinite(wanted), wanted, 0)
        last_place = np.spacing(np.abs(finite).astype(self.precision)).astype(np.float64)
        with np.errstate(invalid="ignore"):
            error = np.abs(got.astype(np.float64) - wanted)
        is_close = error <= (np.asarray(ulp) + 0.5) * last_place
        is_same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        bad = np.argwhere(~(is_close | is_same))
        assert bad.size == 0, (
            f"{where}: must be within {ulp} ulp, got {got[tuple(bad[0])]!r} for {wanted[tuple(bad[0])]!r} "
            f"at {tuple(bad[0])} and {len(bad) - 1} more"
        )


def output_case(
    name: str,
    make: Callable[[Any], Any],
    space: tuple[tuple[int, ...], ...],
    given: Sequence[Any],
    wanted: Any,
    dtype: Any = np.float64,
    *,
    ulp: Any = 0,
    starts: bool = False,
    **more: Any,
) -> Case:
    """Return the `Case` of a kernel that fills one array of `dtype`, its last argument: what is `wanted` of `given`."""
    wanted, last = np.asarray(wanted), len(given)
    return Case(
        name,
        make,
        space,
        lambda: [*given, np.zeros(wanted.shape, dtype)],
        lambda inputs: {last: wanted},
        ulp={last: ulp},
        starts=(last,) if starts else (),
        **more,
    )


_POISON = 113  # in each dtype a value of its own, and expected of no output as a whole


def _is_uniform(array: np.ndarray[Any, Any]) -> bool:
    return array.size > 0 and bool((array == array.flat[0]).all())


def _to_device(backend: Backend, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return backend.to_device(value.copy())
    if isinstance(value, tuple):
        members = [_to_device(backend, member) for member in value]
        return type(value)(*members) if hasattr(value, "_fields") else tuple(members)
    if isinstance(value, Strided):
        return backend.to_device(value.base.copy())
    if isinstance(value, Local):
        return backend.kapi.LocalAccessor(value.shape, value.dtype)
    return value
