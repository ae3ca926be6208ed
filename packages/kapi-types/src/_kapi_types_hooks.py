"""The two hooks by which Numba finds the types of device arrays; the package is imported at the first such array.

Numba runs `init` at the first compile of any njit function in an environment that has this distribution. It costs
microseconds, imports nothing of kapi, reads no device, and leaves programs without device arrays as they were.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from numba.core.dispatcher import _DispatcherBase
from numba.core.typing.typeof import typeof_impl

__all__ = ["init", "is_registered", "register", "unregister"]

_PROTOCOL = "__sycl_usm_array_interface__"
_CAPSULE = "_get_capsule"  # the method by which queues and events export their references
_LIBRARY_CLASSES = {"ndarray": "cupy", "ArrayImpl": "jaxlib", "Tensor": "torch"}
"""Name and package of the classes of `kapi_types.device_arrays.libraries`."""
_TYPEOF_MODULES = ("functools", "numba.core.typing.typeof", __name__)
"""Modules through which `typeof` calls itself, for tuples."""

_earlier: Callable[[Any, Any], Any] = typeof_impl.dispatch(object)
_quick_typeof: Mapping[type, Callable[[Any], Any]] = {}
_typeof_host_value: Callable[[Any, Any], Any] | None = None
_typeof_argument = _DispatcherBase.typeof_pyval
_is_registered = False
_is_unregistered = False


def init() -> None:
    """Register at Numba's first compile, unless the program has called `unregister` before."""
    if not _is_unregistered:
        register()


def register() -> None:
    """Let Numba know the types of device arrays, queues and events. A second call changes nothing."""
    global _earlier, _is_registered, _is_unregistered
    if typeof_impl.dispatch(object) is not _typeof_with_device_values:
        _earlier = typeof_impl.dispatch(object)
        typeof_impl.register(object)(_typeof_with_device_values)
    _DispatcherBase.typeof_pyval = _typeof_argument_with_device_arrays
    _is_registered, _is_unregistered = True, False


def unregister() -> None:
    """Undo `register`; compiled functions stay compiled."""
    global _is_registered, _is_unregistered
    _is_registered, _is_unregistered = False, True
    if typeof_impl.dispatch(object) is _typeof_with_device_values:
        typeof_impl.register(object)(_earlier)
    _DispatcherBase.typeof_pyval = _typeof_argument


def is_registered() -> bool:
    """Return whether the package is registered with Numba."""
    return _is_registered


def _typeof_with_device_values(value: Any, context: Any) -> Any:
    cls = type(value)
    if _is_registered and (hasattr(cls, _PROTOCOL) or hasattr(cls, _CAPSULE) or _is_for_host(cls)):
        type_ = (_typeof_host_value or _load())(value, context)
        return _earlier(value, context) if type_ is None else type_
    type_ = _earlier(value, context)
    if type_ is None and _is_registered and hasattr(value, _PROTOCOL):  # an instance's own attribute
        type_ = (_typeof_host_value or _load())(value, context)
    return type_


def _is_for_host(cls: type) -> bool:
    """Whether it is a library's class, and not Numba's CUDA target asks, which has a type of its own for them."""
    package = _LIBRARY_CLASSES.get(cls.__name__)
    if package is None or cls.__module__.partition(".")[0] != package:
        return False
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__") in _TYPEOF_MODULES:
        frame = frame.f_back
    return not str(frame.f_globals.get("__name__")).startswith("numba.cuda.")


def _typeof_argument_with_device_arrays(dispatcher: Any, value: Any) -> Any:
    typeof_array = _quick_typeof.get(type(value))
    type_ = None if typeof_array is None else typeof_array(value)
    # The method that this one replaces keeps types alive for the call; these are kept for good.
    return _typeof_argument(dispatcher, value) if type_ is None else type_


def _load() -> Callable[[Any, Any], Any]:
    global _quick_typeof, _typeof_host_value
    from kapi_types.device_arrays.typeof import quick_typeof
    from kapi_types.usm.typeof import typeof_host_value

    _quick_typeof, _typeof_host_value = quick_typeof, typeof_host_value
    return typeof_host_value
