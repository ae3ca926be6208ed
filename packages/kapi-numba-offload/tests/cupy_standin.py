"""A module that stands in for CuPy where there is no GPU: its arrays are in the host's memory, and NumPy computes.

Where CuPy is not as NumPy is, it answers as CuPy has answered: ``cupy_recorded.json``, which ``nox -s gpu`` compares
with the CuPy of the machine that it runs on.  New memory is filled with 0xA5, so that no test relies on its values.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import json
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from kapi_runtime.platform.numpy_views import numpy_view
from kapi_sim.language.array_memory import ArrayFields

__all__ = ["install"]

RECORDED = json.loads(Path(__file__).with_name("cupy_recorded.json").read_text("utf-8"))
DTYPES = {
    (name, operands): recorded
    for name, rows in RECORDED["dtypes"].items()
    for recorded, row in rows.items()
    for operands in row.split()
}
"""The dtype of the result of a function and operands, or the error, where it is not NumPy's."""
MISSING = frozenset(RECORDED["missing"].split())
POISON = 0xA5

CALLS: list[tuple[str, int, int]] = []
"""The name, the device and the stream of each function that was called."""

# ------------------------------------------------------------------------------------------- devices and streams

_handles = itertools.count(0x5000, 16)
_devices = [0]
_streams: dict[int, list[Any]] = {}


class Device:
    """A device, which a ``with`` block makes the current one."""

    def __init__(self, device: int | None = None) -> None:
        self.id = _devices[-1] if device is None else device

    def __enter__(self) -> Device:
        _devices.append(self.id)
        return self

    def __exit__(self, *error: object) -> None:
        _devices.pop()

    def use(self) -> None:
        """Make it the current one."""
        _devices[-1] = self.id

    def synchronize(self) -> None:
        """Do nothing: what was called is done."""


class Stream:
    """A stream, which a ``with`` block makes the current one of its device."""

    def __init__(self, null: bool = False, non_blocking: bool = False, *, ptr: int | None = None) -> None:
        self.ptr = (0 if null else next(_handles)) if ptr is None else ptr
        self.device_id = _devices[-1]

    def __enter__(self) -> Stream:
        _streams.setdefault(self.device_id, []).append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _streams[self.device_id].pop()

    def synchronize(self) -> None:
        """Do nothing: what was called is done."""


NULL = Stream(null=True)
Stream.null = NULL  # type: ignore[attr-defined]


def ExternalStream(ptr: int, device_id: int = -1) -> Stream:
    """A stream that another library has made."""
    with Device(_devices[-1] if device_id < 0 else device_id):
        return Stream(ptr=ptr)


def get_current_stream(device_id: int = -1) -> Stream:
    """The stream that a device's work goes to."""
    return (_streams.get(_devices[-1] if device_id < 0 else device_id) or [NULL])[-1]


# --------------------------------------------------------------------------------------------------------- memory

_blocks: weakref.WeakValueDictionary[int, Memory] = weakref.WeakValueDictionary()


class Memory:
    """A block of memory of the current device, held by an array of NumPy's."""

    def __init__(self, held: np.ndarray[Any, Any]) -> None:
        self.held, self.device_id = held, _devices[-1]
        self.ptr, end = np.lib.array_utils.byte_bounds(held)
        self.size = end - self.ptr
        _blocks[self.ptr] = self


class MemoryPointer:
    """An address in a block."""

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


def _block_of(host: np.ndarray[Any, Any]) -> Memory:
    """The block that an array of NumPy's is in; its own if it is in none."""
    root = host
    while isinstance(root.base, np.ndarray):
        root = root.base
    low, high = np.lib.array_utils.byte_bounds(host)
    return next((each for each in _blocks.values() if each.ptr <= low and high <= each.ptr + each.size), None) or (
        Memory(root)
    )


# --------------------------------------------------------------------------------------------------------- arrays


def _empty(shape: Any, dtype: Any, order: str = "C") -> np.ndarray[Any, Any]:
    """An array of NumPy's whose memory nobody has written."""
    kind = np.dtype(dtype)
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    buffer = np.full(int(np.prod(shape, dtype=np.int64)) * kind.itemsize, POISON, np.uint8)
    return np.ndarray(shape, kind, buffer, order=order)  # type: ignore[call-overload, no-any-return]


class ndarray:
    """An array of CuPy's."""

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]
    __module__ = "cupy"

    def __init__(
        self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C"
    ) -> None:
        if memptr is None:
            self._keep(_empty(shape, dtype, order))
            return
        kind = np.dtype(dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        steps = np.empty(shape, kind).strides if strides is None else strides
        fields = ArrayFields(
            memptr.ptr, shape, tuple(each // kind.itemsize for each in steps), kind, readonly=False, owner=None
        )
        self._keep(numpy_view(fields, memptr.mem), memptr.mem)

    def _keep(self, host: np.ndarray[Any, Any], memory: Memory | None = None) -> ndarray:
        self._host, self._memory = host, memory or _block_of(host)
        return self

    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    strides = property(lambda self: self._host.strides)
    T = property(lambda self: _wrapped(self._host.T))
    real = property(lambda self: _wrapped(self._host.real), lambda self, value: self.real.__setitem__(..., value))
    imag = property(lambda self: _wrapped(self._host.imag), lambda self, value: self.imag.__setitem__(..., value))
    flat = property(lambda self: flatiter(self._host))
    base = property(lambda self: None if self._host is self._memory.held else self._memory)
    device = property(lambda self: Device(self._memory.device_id))

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return self._host.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._host = self._host.reshape(shape)

    @property
    def flags(self) -> SimpleNamespace:
        """Flags of an array's memory that CuPy has."""
        flags = self._host.flags
        return SimpleNamespace(
            c_contiguous=flags.c_contiguous, f_contiguous=flags.f_contiguous, owndata=self.base is None
        )

    @property
    def data(self) -> MemoryPointer:
        """Pointer to the first element."""
        return MemoryPointer(self._memory, self._host.ctypes.data - self._memory.ptr)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        interface = self._host.__array_interface__
        return {**interface, "data": (interface["data"][0], False), "version": 3, "stream": 1}

    def get(self, stream: Any = None, order: str = "C", out: Any = None) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        return np.array(self._host, order=order)  # type: ignore[call-overload, no-any-return]

    def set(self, arr: Any, stream: Any = None) -> None:
        """Take the elements of an array of the host."""
        self._host[...] = arr

    def item(self, *index: Any) -> Any:
        """One element, as a number."""
        return self._host.item(*index)

    def tolist(self) -> Any:
        """The elements as lists of numbers."""
        return self._host.tolist()

    def fill(self, value: Any) -> None:
        """Store a number to all elements."""
        self[...] = value

    def view(self, dtype: Any = None) -> ndarray:
        """The same memory as another dtype."""
        return _wrapped(self._host.view() if dtype is None else self._host.view(dtype))

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """A copy as another dtype."""
        _require_dtype(np.dtype(dtype))
        with _silent():
            host = self._host if casting != "unsafe" else _converted(self._host, np.dtype(dtype))
            return _wrapped(host.astype(dtype, order=order, casting=casting, copy=copy))  # type: ignore[call-overload]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array "
            "explicitly."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        function = getattr(sys.modules["cupy"], ufunc.__name__, None)
        if method != "__call__" or function is None:
            return NotImplemented
        return function(*inputs, **named)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        own = sys.modules["cupy"]
        for part in (*function.__module__.split(".")[1:], function.__name__):
            own = getattr(own, part, None)  # type: ignore[assignment]
        return NotImplemented if own is None else own(*args, **kwargs)  # type: ignore[operator]

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[at] for at in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self.size) and bool(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __complex__(self) -> complex:
        return complex(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __str__(self) -> str:
        return str(self._host)

    def __format__(self, text: str) -> str:
        return format(self._host if self.ndim else self._host.item(), text)

    def __getitem__(self, index: Any) -> Any:
        found = self._host[_index(index, self._host)]
        return _wrapped(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, (np.ndarray, list)):
            raise ValueError(f"non-scalar {type(value)} cannot be used for fill")
        at, stored = _index(index, self._host), _host_of(value)
        with _silent():
            if isinstance(stored, np.ndarray):
                stored = _converted(stored, self.dtype)
            if _is_fancy(at):  # of duplicates CuPy keeps any
                where, given = (
                    np.arange(self.size).reshape(self.shape)[at],
                    np.broadcast_to(stored, self._host[at].shape),
                )
                self._host.flat[where.ravel()[::-1]] = given.ravel()[::-1]
            else:
                self._host[at] = stored


def _converted(host: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array as another dtype; the nearest integer of 32 or 64 bits for a float that is none of these."""
    if host.dtype.kind == "f" and dtype.kind in "iu":
        wide = np.iinfo(f"{dtype.kind}{max(4, dtype.itemsize)}")
        top = np.nextafter(float(wide.max), 0)
        inside = np.clip(host.astype(np.float64), float(wide.min), top).astype(wide.dtype)
        inside[host >= wide.max] = wide.max
        inside[np.isnan(host)] = wide.min
        return inside.astype(dtype)
    return host.astype(dtype)


def _index(index: Any, host: np.ndarray[Any, Any]) -> Any:
    """An index as NumPy takes it; integers of arrays count again from the start where there is no such element."""
    if not isinstance(index, tuple):
        return _index((index,), host)
    parts, axis = [], 0
    for part in index:
        own = _host_of(part)
        if part is None or part is Ellipsis:
            axis = host.ndim - (len(index) - len(parts) - 1) if part is Ellipsis else axis
        elif isinstance(own, (np.ndarray, list)):
            own = np.asarray(own)
            if own.dtype.kind in "iu" and own.ndim and axis < host.ndim and host.shape[axis]:
                own = own.astype(np.int64) % host.shape[axis]
            axis += own.ndim if own.dtype.kind == "b" else 1
        else:
            axis += 1
            own = int(own) if isinstance(own, float) else own
        parts.append(own)
    return tuple(parts)


def _is_fancy(index: Any) -> bool:
    return any(isinstance(each, np.ndarray) and each.ndim and each.dtype.kind in "iu" for each in index)


# ------------------------------------------------------------------------------------------------------ functions


class _silent:
    """A context in which NumPy warns of nothing, as CuPy does not."""

    def __enter__(self) -> None:
        self._errors, self._warnings = np.errstate(all="ignore"), warnings.catch_warnings()
        self._errors.__enter__()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: Any) -> None:
        self._warnings.__exit__(*error)
        self._errors.__exit__(*error)


def _wrapped(value: Any) -> Any:
    """A result of NumPy's as CuPy gives it: numbers are arrays without axes."""
    if isinstance(value, (np.ndarray, np.generic)):
        host = np.asarray(value)
        _require_dtype(host.dtype)
        return ndarray.__new__(ndarray)._keep(host)
    if isinstance(value, (tuple, list)):
        items = [_wrapped(each) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class flatiter:
    """The elements of an array in order, each an array without axes."""

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self._elements = map(_wrapped, host.flat)

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> ndarray:
        return next(self._elements)


def _require_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.char not in "?bhilqBHILQefdFD":
        raise ValueError(f"Unsupported dtype {dtype}")


def _host_of(value: Any) -> Any:
    """A value with NumPy's arrays in the place of CuPy's."""
    if isinstance(value, ndarray):
        return value._host
    if type(value) in (tuple, list):
        return type(value)(map(_host_of, value))
    return value


def _require_own(name: str, value: Any) -> None:
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {np.ndarray}")
    if isinstance(value, (tuple, list)):
        for each in value:
            _require_own(name, each)


def _code(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)):
        return {"q": "l", "Q": "L"}.get(value.dtype.char, value.dtype.char)
    return type(value).__name__


_TAKE_NUMPY = frozenset("array asarray ascontiguousarray asfortranarray asanyarray".split())
_PLAIN = frozenset("shape ndim size result_type can_cast broadcast_shapes iscomplexobj isscalar dtype".split())


def _call(name: str, function: Callable[..., Any], args: Sequence[Any], named: dict[str, Any]) -> Any:
    """Call NumPy's function as CuPy's of that name."""
    CALLS.append((name, _devices[-1], get_current_stream().ptr))
    if name == "where" and args and not isinstance(args[0], ndarray):
        raise AttributeError(f"{type(args[0])} has no attribute 'dtype'")
    if name == "median" and args and not args[0].size:
        raise ValueError("a median of no elements")
    if name == "take":
        named = {"mode": "wrap"} | named
    if name in ("argmax", "argmin"):
        function = _of_any_nan(function)
    if isinstance(function, np.ufunc) and any(isinstance(each, list) for each in args):
        raise TypeError(f"Unsupported type {list}")
    if name not in _TAKE_NUMPY:
        for each in (*args, *named.values()):
            _require_own(name, each)
    else:
        args = [np.array(each) if isinstance(each, np.ndarray) else each for each in args]
    given, words = [_host_of(each) for each in args], {key: _host_of(each) for key, each in named.items()}
    recorded = DTYPES.get((name, ",".join(map(_code, given))))
    with _silent():
        made = _recorded(recorded, function, given, words)
    out = named.get("out")
    if isinstance(out, ndarray):
        return out
    return made if name in _PLAIN else _wrapped(np.asarray(made) if isinstance(made, (bool, float)) else made)


def _of_any_nan(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of positions that gives, as CuPy's does along an axis, another nan than the first of several."""

    @functools.wraps(function)
    def apply(a: Any, axis: Any = None, out: Any = None, **words: Any) -> Any:
        found = function(a, axis, out, **words)
        if axis is None or a.dtype.kind not in "fc":
            return found
        last = a.shape[axis] - 1 - np.argmax(np.isnan(np.flip(a, axis)), axis, **words)
        found = np.where(np.isnan(a).any(axis, **words), last, found)
        if out is not None:
            out[...] = found
        return found

    return apply


def _recorded(recorded: str | None, function: Callable[..., Any], given: list[Any], words: dict[str, Any]) -> Any:
    """NumPy's result, or what was recorded in its place: a dtype, or an error."""
    if recorded is not None and len(recorded) > 1:
        raise getattr(builtins, recorded)(f"ufunc 'cupy_{function.__name__}' not supported for the input types")
    if any(type(each) is int and not -(2**63) <= each < 2**64 for each in given):
        raise OverflowError("Python integer too large")
    if function is np.power and all(map(_is_integer, given)) and np.any(np.less(given[1], 0)):
        power = np.power(given[0], np.abs(given[1]))
        return np.where(np.less(given[1], 0) & (np.abs(given[0]) != 1), 0, power).astype(power.dtype)
    if recorded is not None and all(each.size for each in given if isinstance(each, np.ndarray)):
        cast = [
            each.astype(recorded) if isinstance(each, np.ndarray) else np.dtype(recorded).type(each) for each in given
        ]
        return function(*cast)
    try:
        made = np.empty(0, recorded) if recorded is not None else function(*given, **words)
    except np.linalg.LinAlgError:
        return np.full_like(given[-1], np.nan)
    return np.ascontiguousarray(made) if isinstance(function, np.ufunc) and isinstance(made, np.ndarray) else made


def _is_integer(value: Any) -> bool:
    return type(value) is int or (isinstance(value, (np.ndarray, np.integer)) and value.dtype.kind in "iu")


def _made(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def own(*args: Any, **named: Any) -> Any:
        return _call(name, function, args, named)

    own.__module__ = "cupy" + ("." + name.rpartition(".")[0] if "." in name else "")
    own.__name__ = own.__qualname__ = name.rpartition(".")[2]
    return own


def _filled(name: str, module: Any, numpy: Any) -> ModuleType:
    """A module with NumPy's functions of one, as CuPy has them."""
    prefix = name.partition(".")[2] + "." if "." in name else ""
    for each in dir(numpy):
        value = getattr(numpy, each)
        if each.startswith("_") or prefix + each in MISSING or inspect.ismodule(value):
            continue
        plain = isinstance(value, type) or not callable(value)
        setattr(module, each, value if plain else _made(prefix + each, value))
    return module  # type: ignore[no-any-return]


_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift", "divmod": "divmod",
}  # fmt: skip
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
_COMPARED = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
_METHODS = (
    "all any argmax argmin argsort choose clip conj conjugate copy cumprod cumsum diagonal dot flatten max mean min "
    "nonzero prod ptp ravel repeat reshape round searchsorted sort squeeze std sum swapaxes take trace transpose var"
).split()


def _give_methods() -> None:
    """Let the arrays have their operators and methods, which are the module's functions."""
    module = sys.modules["cupy"]

    def binary(name: str, is_reflected: bool) -> Callable[[Any, Any], Any]:
        function = getattr(module, name)

        def apply(self: Any, other: Any) -> Any:
            if other is None and name in ("equal", "not_equal"):
                return module.full(self.shape, name == "not_equal")
            if not isinstance(other, (ndarray, np.ndarray, np.generic, bool, int, float, complex)):
                return NotImplemented
            return function(other, self) if is_reflected else function(self, other)

        return apply

    def in_place(name: str) -> Callable[[Any, Any], Any]:
        def apply(self: Any, other: Any) -> Any:
            _require_own(name, other)
            made = getattr(module, name)(self, other)
            if not np.can_cast(made.dtype, self.dtype, "same_kind"):
                raise TypeError(f"Cannot cast ufunc '{name}' output from {made.dtype!r} to {self.dtype!r}")
            self._host[...] = made._host
            return self

        return apply

    def method(name: str) -> Callable[..., Any]:
        def apply(self: Any, *args: Any, **named: Any) -> Any:
            if name == "sort":
                self._host.sort(*args, **named)
                return None
            return _call(name, lambda host, *rest, **words: getattr(host, name)(*rest, **words), (self, *args), named)

        return apply

    for own, name in (_OPERATORS | _COMPARED).items():
        setattr(ndarray, f"__{own}__", binary(name, False))
    for own, name in _OPERATORS.items():
        setattr(ndarray, f"__r{own}__", binary(name, True))
        if own != "divmod":
            setattr(ndarray, f"__i{own}__", in_place(name))
    for own, name in _UNARY.items():
        setattr(ndarray, f"__{own}__", lambda self, name=name: getattr(module, name)(self))
    for name in _METHODS:
        setattr(ndarray, name, method(name))


def install() -> ModuleType:
    """Put the module in CuPy's place, for as long as the process runs."""
    made = ModuleType("cupy", "Stands in for CuPy.")
    made.__spec__ = ModuleSpec("cupy", None)
    sys.modules["cupy"] = _filled("cupy", made, np)
    for name in ("linalg", "fft", "random"):
        setattr(made, name, _filled(f"cupy.{name}", ModuleType(f"cupy.{name}"), getattr(np, name)))
    empty = _made("empty", lambda shape, dtype=float, order="C": _empty(shape, dtype, order))
    like = _made("empty_like", lambda a, dtype=None, order="K", **words: _empty_like(a, dtype, order, **words))
    vars(made).update(
        ndarray=ndarray, empty=empty, empty_like=like, asnumpy=_asnumpy, __version__="stand-in",
        get_array_module=lambda *args: made,
    )  # fmt: skip
    made.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Device=Device, Stream=Stream, ExternalStream=ExternalStream, get_current_stream=get_current_stream,
        MemoryPointer=MemoryPointer, MemoryPool=lambda: SimpleNamespace(malloc=None), using_allocator=nullcontext,
        alloc_pinned_memory=bytearray,
        runtime=SimpleNamespace(
            getDevice=lambda: _devices[-1], getDeviceCount=lambda: 2, CUDARuntimeError=RuntimeError
        ),
    )  # fmt: skip
    _give_methods()
    return made


def _empty_like(a: Any, dtype: Any, order: str, shape: Any = None, **_: Any) -> np.ndarray[Any, Any]:
    like = np.empty_like(a, dtype, order, shape=shape)  # type: ignore[call-overload]
    like.reshape(-1, order="A").view(np.uint8)[...] = POISON
    return like


def _asnumpy(a: Any, *_: Any, **__: Any) -> np.ndarray[Any, Any]:
    return a.get() if isinstance(a, ndarray) else np.asarray(a)
