"""Calls that a partitioned function makes of NumPy's functions, each sent to where its arrays are."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np

from kapi_numba_offload._numba_compat import overload_of, type_key
from kapi_numba_offload.analysis.effects import CHANGES
from kapi_numba_offload.analysis.numpy_functions import QUANTILES, as_library_takes_it, numpy_function, status
from kapi_numba_offload.elements.operands import require_held
from kapi_numba_offload.libraries.arrays import (
    arrays_among,
    host_copy,
    is_device_array,
    kind_of,
    library,
    numpy_arrays_among,
    queue_of,
)
from kapi_numba_offload.libraries.installed import default_library, library_name, library_named, library_of_queue
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_numba_offload.regions.library_functions import bincount, extremum_position, product, quantiles
from kapi_numba_offload.regions.numpy_histogram import histogram
from kapi_numba_offload.run.fallback import Refusal, fall_back
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.placement import host_arrays_among, mixture_among, not_on_device_error
from kapi_numba_offload.run.timing import timed
from kapi_sim.errors import ExecutionPlacementError, KernelCompilationError

__all__ = ["MENDED", "ArgumentTexts", "Constant", "Conversion", "Creation", "HelperCall", "NumpyCall", "OverloadedCall"]


@dataclass(frozen=True, slots=True)
class ArgumentTexts:
    """The texts of a call's arguments, as they were before it was rewritten.

    - `by_position`: those by position; an argument with a star begins with it.
    - `by_name`: those by keyword; the text of `**words` by the empty name.
    """

    by_position: tuple[str, ...]
    by_name: dict[str, str]

    @classmethod
    def of_call(cls, node: ast.Call) -> ArgumentTexts:
        """The texts for a call in the source."""
        by_position = tuple(map(ast.unparse, node.args))
        return cls(by_position, {each.arg or "": ast.unparse(each.value) for each in node.keywords})

    def spelled(self, count: int, names: Iterable[str] = ()) -> list[str]:
        """The texts for as many arguments by position as a call was given, and for those by keyword.

        Items of an argument with a star are spelled with their index, as far as their number is known.
        """
        texts = list(self.by_position)
        stars = [number for number, each in enumerate(texts) if each.startswith("*")]
        if len(stars) == 1:
            starred = texts[stars[0]][1:]
            items = [f"{starred}[{number}]" for number in range(count - len(texts) + 1)]
            texts[stars[0] : stars[0] + 1] = items
        elif stars:
            texts = [f"argument {number + 1}" for number in range(count)]
        others = self.by_name.get("", "words")
        return [*texts, *(self.by_name.get(each, f"{others}[{each!r}]") for each in names)]


_REFUSED = (TypeError, NotImplementedError, AttributeError)
"""The exceptions of array libraries for what they lack; the last is CuPy's for numbers where it takes arrays alone."""

_OWN: dict[str, tuple[Callable[..., Any], str]] = {
    "argmax": (partial(extremum_position, "argmax"), "array library"),
    "argmin": (partial(extremum_position, "argmin"), "array library"),
    "bincount": (bincount, "array library"),
    **{name: (partial(quantiles, name), "array library") for name in QUANTILES},
    "histogram": (histogram, "kernel"),
    "matmul": (product, "numpy"),
    "dot": (product, "numpy"),
}
"""NumPy's functions that this package runs for some arguments, and give None for others; and where they run."""


MENDED = ("argmax", "argmin")
"""Methods of arrays that are called as the functions of that name, since a library may have a fault in them."""

_FILLING = ("full", "full_like")


class NumpyCall:
    """A NumPy function: the array library's of that name where it is given a device array.

    - `name`: NumPy's name of it, or another name of a function that runs on the host.
    - `function`: NumPy's function, or an array library's.
    - `options`: those of the function that calls it.
    - `texts`: how its arguments are spelled there.
    - `latest`: where the latest call ran: "kernel" (of this package), the name of an array library, "numpy" (in the
      arrays' memory), "host", or why on the host.
    """

    def __init__(self, name: str, function: Any, location: Any, options: OffloadOptions, texts: ArgumentTexts) -> None:
        self.name, self.location = name, location
        self.latest: str | None = None
        self.moved = 0
        self._function, self._options, self._texts = function, options, texts
        self._spelled = name if numpy_function(name) is None else f"numpy.{name}"
        own = library_name(function)
        self._own_library = None if own is None else library_named(own)

    @timed
    def __call__(self, *args: Any, **keywords: Any) -> Any:
        array = next(arrays_among((*args, *keywords.values())), None)
        if array is None:
            return self._without_arrays(args, keywords)
        found = self._own_library or library(array)
        if self._own_library is None:
            known = status(self.name, found)
            if known == "refused":
                raise KernelCompilationError(
                    f"function with device arrays must not call numpy.{self.name} with one of them, got it at "
                    f"{self.location}: copy to the host first, with `{found.host_copy_call('a')}`\n"
                    f"  {self.location}: {self.location.text}",
                    code="offload-host-call",
                )
            if known == "host":
                return self._on_host(args, keywords, "")
        own = _OWN.get(self.name)
        if own is not None and (self._own_library is None or self.name in found.mended):
            result = own[0](self.location, args, keywords)
            if result is not None:
                self.latest = found.name if own[1] == "array library" else own[1]
                return result
        if self._own_library is None and found.function(self.name) is None:
            return self._on_host(args, keywords, "")
        try:
            result = self._by_library(found, args, keywords)
        except _REFUSED as error:
            return self._refused(error, args, keywords)
        except ValueError as error:  # dpnp stores to an array of the result's own type only
            if self._ufunc() is None or keywords.get("out") is None:
                raise
            return self._refused(error, args, keywords)
        except ExecutionPlacementError as error:
            raise self._mixture(args, keywords) or error from None
        self.latest = found.name
        return result

    def _by_library(self, found: ArrayLibrary, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        given, words = as_library_takes_it(found, self.name, args, keywords)
        if self._own_library is not None:  # its author may have written it for the library
            try:
                return self._function(*args, **keywords)
            except TypeError:
                if words == keywords:
                    raise
        result = (self._function if self._own_library is not None else found.function(self.name))(*given, **words)
        if self.name in _FILLING:  # dpnp stores what is left of a number
            require_held(words.get("fill_value", given[1] if len(given) > 1 else None), result.dtype)
        return result

    def _without_arrays(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        # dpnp refuses NumPy's numbers, which elements are here, and NumPy has the same function for them.
        numbers = (
            self._own_library is not None
            and args
            and all(isinstance(each, (bool, int, float, complex, np.generic)) for each in args)
        )
        if self._own_library is not None and _has_host(args):
            raise not_on_device_error(
                self.location,
                self._own_library,
                self.name,
                *host_arrays_among(self._texts.spelled(len(args)), args)[:1],
            )
        function = numpy_function(self.name) if numbers else None
        self.latest = "host"
        return (function or self._function)(*args, **keywords)

    def _refused(self, error: Exception, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """NumPy's answer to what the library refused; its error if NumPy has none either."""
        mixture = self._mixture(args, keywords)
        if mixture is not None:
            raise mixture from None
        out = keywords.get("out")
        out = out[0] if isinstance(out, tuple) and len(out) == 1 else out
        if self._ufunc() is not None and is_device_array(out):
            return self._into(out, error, args, keywords)
        if self.name in CHANGES or keywords.get("out") is not None or numpy_function(self.name) is None:
            error.add_note(f"{self.location}: {self.location.text}")
            raise error
        try:
            return self._on_host(args, keywords, f": {error}")
        except _REFUSED:
            error.add_note(f"{self.location}: {self.location.text}")
            raise error from None

    def _ufunc(self) -> np.ufunc | None:
        function = numpy_function(self.name)
        return function if isinstance(function, np.ufunc) else None

    def _into(self, out: Any, error: Exception, args: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        """NumPy's function of numbers on copies, its result stored to an array of the device."""
        stored = _on_host(out)
        try:
            self._on_host(args, {**keywords, "out": stored}, f": {error}")
        except _REFUSED:
            error.add_note(f"{self.location}: {self.location.text}")
            raise error from None
        library(out).store_elements(out, stored)
        self.moved += out.nbytes
        return out

    def _mixture(self, args: Sequence[Any], keywords: Mapping[str, Any]) -> Exception | None:
        """The error for NumPy arrays among those of a device."""
        texts = self._texts.spelled(len(args), keywords)
        return mixture_among(self.location, texts, [*args, *keywords.values()])

    def _on_host(self, args: Any, keywords: Mapping[str, Any], why: str) -> Any:
        """NumPy's function on copies; arrays that it returns are copied to the queue of those that it was given."""
        detail = f"{self._spelled} at {self.location}: {self.location.text}{why}"
        function = numpy_function(self.name) or self._function
        copies = [_on_host(each) for each in args]
        words = {name: _on_host(each) for name, each in keywords.items()}
        refusal = Refusal("host-function", self.location.line, self.name, detail)
        self.latest = fall_back(self.location, refusal, self._options.may_fall_back)
        result = function(*copies, **words)
        arrays = list(arrays_among((*args, *keywords.values())))
        self.moved = sum(each.nbytes for each in arrays)
        return _back(result, queue_of(arrays[0]), kind_of(arrays[0]))


class Creation(NumpyCall):
    """A function that makes an array, on the queue of the function's own arrays.

    It takes the parameters of `NumpyCall`, and is called with the queue first.
    """

    @timed
    def __call__(self, queue: Any, *args: Any, **keywords: Any) -> Any:
        found = default_library() if queue is None else library_of_queue(queue)
        if self._own_library is not None and self._own_library is not found:
            found, queue = self._own_library, None
        if found is None:
            return self._function(*args, **keywords)
        try:
            with found.creating(queue, keywords) as words:
                result = self._by_library(found, args, words)
        except _REFUSED as error:
            return self._made_on_host(error, keywords.pop("sycl_queue", queue), args, keywords)
        self.latest = found.name
        return result

    def _made_on_host(self, error: Exception, queue: Any, args: Any, keywords: Mapping[str, Any]) -> Any:
        function: Callable[..., Any] = numpy_function(self.name)
        copies = [_on_host(each) for each in args]
        try:
            result = function(*copies, **keywords)
        except Exception:
            error.add_note(f"{self.location}: {self.location.text}")
            raise error from None
        detail = f"{self._spelled} at {self.location}: {self.location.text}: {error}"
        refusal = Refusal("host-function", self.location.line, self.name, detail)
        self.latest = fall_back(self.location, refusal, self._options.may_fall_back)
        return _back(result, queue, "device")


class HelperCall:
    """A function of the user's that makes arrays, called without device arrays.

    On a GPU kernels make them where they can. Else Numba runs it, and makes NumPy's, which are copied to the queue, as
    `numpy.zeros` makes an array there.

    - `on_device`: as `FunctionInfo.made_by_helper`.
    """

    def __init__(self, function: Callable[..., Any], location: Any, on_device: Callable[..., Any]) -> None:
        self.location = location
        self._function, self._on_device = function, on_device

    def __call__(self, queue: Any, *args: Any, **keywords: Any) -> Any:
        """Call it: the queue first."""
        given = (*args, *keywords.values())
        if queue is None or next(arrays_among(given), None) is not None or _has_host(given):
            return self._function(*args, **keywords)
        made = self._on_device(self._function, queue, args, keywords)
        return _back(self._function(*args, **keywords), queue, "device") if made is None else made


class OverloadedCall:
    """A Python function with an overload of a library, by `numba.extending.overload`."""

    def __init__(self, function: Any, location: Any) -> None:
        self.location = location
        self._function = function
        self._found: dict[Any, Any] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call what the overload gives for these arguments, offloaded as other functions are.

        Raises `KernelCompilationError` if no overload takes them.
        """
        key = type_key(args, keywords)
        if key not in self._found:
            self._found[key] = overload_of(self._function, args, keywords)
            if self._found[key] is not None:
                self._found[key] = numba.njit(self._found[key])
        found = self._found[key]
        if found is None:
            raise KernelCompilationError(
                f"function {self._function.__name__} must have an overload for these arguments, got "
                f"({', '.join(map(str, key))}) at {self.location}: give it what its library takes\n"
                f"  {self.location}: {self.location.text}",
                code="offload-no-overload",
            )
        return found(*args, **keywords)


class Constant:
    """A NumPy array from outside of the function, copied to each queue once, and again when its elements changed."""

    def __init__(self, value: np.ndarray[Any, Any]) -> None:
        self._value = value
        self._elements = b""
        self._copies: dict[Any, Any] = {}

    def __call__(self, queue: Any) -> Any:
        """The array as a device array, the same memory where the device's is the host's."""
        own = library_of_queue(queue)
        if own.is_host:
            view = own.from_host(self._value, queue)
            own.set_writable(view, False)
            return view
        elements = self._value.tobytes()
        if elements != self._elements:
            self._elements, self._copies = elements, {}
        if queue not in self._copies:
            self._copies[queue] = own.from_host(self._value, queue)
        return self._copies[queue]


class Conversion:
    """One of NumPy's types of numbers, called: the elements of a device array are converted.

    - `type_`: the type, such as `numpy.float32`.
    """

    def __init__(self, type_: type[np.generic]) -> None:
        self._type = type_

    def __call__(self, value: Any) -> Any:
        """The converted number or array."""
        return value.astype(self._type) if is_device_array(value) else self._type(value)


def _has_host(values: Iterable[Any]) -> bool:
    return next(numpy_arrays_among(values), None) is not None


def _on_host(value: Any) -> Any:
    if is_device_array(value):
        return host_copy(value)
    return type(value)(map(_on_host, value)) if isinstance(value, (tuple, list)) else value


def _back(value: Any, queue: Any, kind: str) -> Any:
    if isinstance(value, np.ndarray):
        return library_of_queue(queue).from_host(value, queue, kind)
    return tuple(_back(each, queue, kind) for each in value) if isinstance(value, (tuple, list)) else value
