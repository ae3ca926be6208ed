"""The two hooks by which Numba finds the types of USM arrays; the package is imported at the first such array.

Numba runs `init` at the first compile of any njit function in an environment that has this distribution. It costs
microseconds, imports nothing of kapi, reads no device, and leaves programs without USM arrays as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from numba.core.dispatcher import _DispatcherBase
from numba.core.typing.typeof import typeof_impl

__all__ = ["init", "is_registered", "register", "unregister"]

_PROTOCOL = "__sycl_usm_array_interface__"
_CAPSULE = "_get_capsule"  # the method by which queues and events export their references

_earlier: Callable[[Any, Any], Any] = typeof_impl.dispatch(object)
_quick_classes: Collection[type] = ()
_typeof_usm_array: Callable[[Any], Any] | None = None
_typeof_usm_value: Callable[[Any, Any], Any] | None = None
_typeof_argument = _DispatcherBase.typeof_pyval
_is_registered = False
_is_unregistered = False


def init() -> None:
    """Register at Numba's first compile, unless the program has called `unregister` before."""
    if not _is_unregistered:
        register()


def register() -> None:
    """Let Numba know the types of USM arrays, queues and events. A second call changes nothing."""
    global _earlier, _is_registered, _is_unregistered
    if typeof_impl.dispatch(object) is not _typeof_with_usm_values:
        _earlier = typeof_impl.dispatch(object)
        typeof_impl.register(object)(_typeof_with_usm_values)
    _DispatcherBase.typeof_pyval = _typeof_argument_with_usm_arrays
    _is_registered, _is_unregistered = True, False


def unregister() -> None:
    """Undo `register`; compiled functions stay compiled."""
    global _is_registered, _is_unregistered
    _is_registered, _is_unregistered = False, True
    if typeof_impl.dispatch(object) is _typeof_with_usm_values:
        typeof_impl.register(object)(_earlier)
    _DispatcherBase.typeof_pyval = _typeof_argument


def is_registered() -> bool:
    """Return whether the package is registered with Numba."""
    return _is_registered


def _typeof_with_usm_values(value: Any, context: Any) -> Any:
    cls = type(value)
    if _is_registered and (hasattr(cls, _PROTOCOL) or hasattr(cls, _CAPSULE)):
        type_ = (_typeof_usm_value or _load())(value, context)
        return _earlier(value, context) if type_ is None else type_
    type_ = _earlier(value, context)
    if type_ is None and _is_registered and hasattr(value, _PROTOCOL):  # an instance's own attribute
        type_ = (_typeof_usm_value or _load())(value, context)
    return type_


def _typeof_argument_with_usm_arrays(dispatcher: Any, value: Any) -> Any:
    if type(value) not in _quick_classes or _typeof_usm_array is None:
        return _typeof_argument(dispatcher, value)
    type_ = _typeof_usm_array(value)
    dispatcher._types_active_call.add(type_)  # as the method does that this one replaces
    return type_


def _load() -> Callable[[Any, Any], Any]:
    global _quick_classes, _typeof_usm_array, _typeof_usm_value
    from kapi_types.usm.typeof import quick_classes, typeof_usm_array, typeof_usm_value

    _quick_classes, _typeof_usm_array, _typeof_usm_value = quick_classes, typeof_usm_array, typeof_usm_value
    return typeof_usm_value
