"""Arguments of a call in a `device_context`: bound to parameters, and what keeps arrays of a type off a device."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from kapi_numba_offload._numba_compat import NumbaError, inferred_return_type, types
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.run.fallback import Fallback, Refusal
from kapi_numba_offload.run.options import options_of
from kapi_sim.errors import DtypeError
from kapi_types import DeviceArrayType, UsmArrayType

__all__ = [
    "NUMBA_REFUSES",
    "BoundArguments",
    "HostWarning",
    "bound_arguments",
    "check_byte_order",
    "host_arrays",
    "inferred",
    "is_of_numba",
    "obstacle_among",
    "on_device_type",
    "parameters_of",
    "unlike_the_devices",
    "warn_of_host",
    "with_items",
]

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
NUMBA_REFUSES = "Numba's own"
"""The reason of `_make` for a function that Numba refuses, too, in Numba's words."""


@dataclass(frozen=True, slots=True)
class BoundArguments:
    """The arguments of a call.

    - `values`: one for each parameter; for `*args` a tuple, as Numba has it.
    - `args`, `keywords`: as an `OffloadedFunction` takes them.
    """

    values: tuple[Any, ...]
    args: tuple[Any, ...]
    keywords: dict[str, Any]


def bound_arguments(dispatcher: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> BoundArguments | None:
    """The arguments with defaults; None for a call that Numba refuses."""
    code = dispatcher.py_func.__code__
    if not keywords and len(args) == code.co_argcount and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC:
        return BoundArguments(args, args, {})
    try:
        bound = _signature_of(dispatcher.py_func).bind(*args, **keywords)
    except TypeError:
        return None
    bound.apply_defaults()
    values = tuple(bound.arguments.values())
    if code.co_flags & _VARIADIC:
        return None if code.co_flags & inspect.CO_VARKEYWORDS else BoundArguments(values, bound.args, bound.kwargs)
    return BoundArguments(values, values, {})


@lru_cache(maxsize=256)
def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def parameters_of(dispatcher: Any) -> tuple[str, ...]:
    """The names of a function's parameters."""
    return tuple(_signature_of(dispatcher.py_func).parameters)


def host_arrays(values: Iterable[Any]) -> Iterator[Any]:
    """The NumPy arrays among values, those in tuples included."""
    for each in values:
        if isinstance(each, np.ndarray):
            yield each
        elif isinstance(each, tuple):
            yield from host_arrays(each)


def check_byte_order(dispatcher: Any, values: tuple[Any, ...]) -> None:
    """Check that arrays are in the processor's byte order.

    Numba's dispatcher takes others for native ones once it has compiled a function for those.

    Raises
    ------
    DtypeError
        If one is not.
    """
    for name, value in zip(parameters_of(dispatcher), values, strict=True):
        for each in _with_dtypes(value):
            if not each.dtype.isnative:
                raise DtypeError(
                    f"argument `{name}` of {dispatcher.py_func.__name__}() must be in the processor's byte order, got "
                    f"{each.dtype}: pass `array.astype(array.dtype.newbyteorder('='))`, and copy the result back",
                    code="argument-dtype",
                )


def _with_dtypes(value: Any) -> Iterator[Any]:
    """The NumPy arrays and records of a value, those in tuples included."""
    if isinstance(value, (np.ndarray, np.void)):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _with_dtypes(each)


def unlike_the_devices(dispatcher: Any, values: tuple[Any, ...]) -> str:
    """The reason why an array cannot lie on the device as it does on the host; empty if each can."""
    for name, value in zip(parameters_of(dispatcher), values, strict=True):
        for each in host_arrays((value,)):
            steps = [step for step, length in zip(each.strides, each.shape, strict=True) if length > 1]
            is_simple = each.dtype.names is None and each.itemsize > 0
            if is_simple and each.size and (not each.flags.aligned or any(step % each.itemsize for step in steps)):
                return f"the elements of its argument `{name}` are not at multiples of their size"
    return ""


def with_items(type_: types.Type, change: Callable[[types.Type], types.Type]) -> types.Type:
    """The type of a tuple, the types of its items changed; any other type as it is."""
    if isinstance(type_, types.BaseTuple):
        return types.BaseTuple.from_types(tuple(map(change, type_)), getattr(type_, "instance_class", None))
    return type_


def on_device_type(type_: types.Type, library: str) -> types.Type:
    """The type of a NumPy array as one of a library, or of a tuple with such."""
    if isinstance(type_, types.Array):
        made = UsmArrayType if library == "dpnp" else partial(DeviceArrayType, library)
        return made(type_.dtype, type_.ndim, type_.layout, readonly=not type_.mutable)
    return with_items(type_, partial(on_device_type, library=library))


def inferred(dispatcher: Any, key: tuple[types.Type, ...]) -> types.Type | Exception:
    """The type that Numba infers for what the function returns, or why it does not."""
    try:
        return inferred_return_type(dispatcher.py_func, key)
    except (NumbaError, AttributeError, TypeError) as error:
        return error


def is_of_numba(dispatcher: Any) -> bool:
    """Whether a function is Numba's own, such as what its typed containers call for each access."""
    return str(dispatcher.py_func.__module__).partition(".")[0] == "numba"


class HostWarning:
    """A warning that a function runs on the host, which raises if that is not wanted."""

    def __init__(self, dispatcher: Any, why: str) -> None:
        location = StatementLocation.of_function(dispatcher.py_func)
        refusal = Refusal("host-call", location.line, dispatcher.py_func.__name__, why)
        self._fallback = Fallback(location, refusal, "Numba runs it on the host.")
        self._options = options_of(dispatcher.py_func)

    def __call__(self) -> None:
        self._fallback(self._options.may_fall_back)


def warn_of_host(dispatcher: Any, why: str) -> None:
    """Warn once that a function runs on the host, or raise if that is not wanted."""
    HostWarning(dispatcher, why)()


def obstacle_among(dispatcher: Any, key: Iterable[types.Type]) -> str:
    """Obstacle to a call with arguments of these types on the device; empty for none."""
    for name, type_ in zip(parameters_of(dispatcher), key, strict=True):
        obstacle = _obstacle(type_)
        if obstacle:
            return obstacle if obstacle == NUMBA_REFUSES else f"its argument `{name}` {obstacle}"
    return ""


def _obstacle(type_: types.Type) -> str:
    """Obstacle to arguments of a type on the device; empty for none."""
    if type_ == types.pyobject or (isinstance(type_, types.Array) and type_.dtype == types.pyobject):
        return NUMBA_REFUSES
    if isinstance(type_, types.Array):
        is_number = isinstance(type_.dtype, (types.Number, types.Boolean))
        return "" if is_number else f"has elements of type {type_.dtype}, and not numbers"
    if isinstance(type_, types.BaseTuple):
        return next(filter(None, map(_obstacle, type_)), "")
    return "holds arrays in another container than a tuple" if any(map(_holds_arrays, _parts(type_))) else ""


def _holds_arrays(type_: types.Type) -> bool:
    return isinstance(type_, types.Array) or any(map(_holds_arrays, _parts(type_)))


def _parts(type_: types.Type) -> Iterator[types.Type]:
    """The types of what values of a type hold."""
    if isinstance(type_, types.BaseTuple):
        yield from type_
    fields = getattr(type_, "struct", None) or getattr(type_, "field_dict", None)
    if isinstance(fields, dict):
        yield from fields.values()
    for name in ("dtype", "key_type", "value_type", "item_type"):
        part = getattr(type_, name, None)
        if isinstance(part, types.Type):
            yield part
