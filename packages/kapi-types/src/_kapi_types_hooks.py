"""The two places at which Numba is asked to think of USM arrays; all else is imported when the first one is met.

Numba runs `init` at the first compile of any njit function in an environment that has this distribution. It costs
microseconds, imports nothing of kapi, reads no device, and leaves programs without USM arrays as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.dispatcher import _DispatcherBase
from numba.core.typing.typeof import typeof_impl

__all__ = ["init", "install", "is_installed", "quick_classes", "remove"]

quick_classes: set[type] = set()
"""Classes of arrays that dispatchers need not ask `typeof` for, which costs more than the answer."""

_PROTOCOL = "__sycl_usm_array_interface__"
_CAPSULE = "_get_capsule"  # what queues and events hand their references out by

_earlier: Callable[[Any, Any], Any] = typeof_impl.dispatch(object)
_typeof_usm_array: Callable[[Any], Any] | None = None
_typeof_usm_value: Callable[[Any, Any], Any] | None = None
_typeof_argument = _DispatcherBase.typeof_pyval
_is_installed = False
_is_removed = False


def init() -> None:
    """What Numba runs by itself: `install`, unless the program has said `remove` before its first compile."""
    if not _is_removed:
        install()


def install() -> None:
    """Let Numba know the types of USM arrays, queues and events. A second call changes nothing."""
    global _earlier, _is_installed, _is_removed
    if typeof_impl.dispatch(object) is not _typeof_with_usm_values:
        _earlier = typeof_impl.dispatch(object)
        typeof_impl.register(object)(_typeof_with_usm_values)
    _DispatcherBase.typeof_pyval = _typeof_argument_with_usm_arrays
    _is_installed, _is_removed = True, False


def remove() -> None:
    """Undo `register`; compiled functions stay compiled."""
    global _is_installed, _is_removed
    _is_installed, _is_removed = False, True
    if typeof_impl.dispatch(object) is _typeof_with_usm_values:
        typeof_impl.register(object)(_earlier)
    _DispatcherBase.typeof_pyval = _typeof_argument


def is_installed() -> bool:
    """Return whether the package is registered with Numba."""
    return _is_installed


def _typeof_with_usm_values(value: Any, context: Any) -> Any:
    cls = type(value)
    if _is_installed and (hasattr(cls, _PROTOCOL) or hasattr(cls, _CAPSULE)):
        type_ = (_typeof_usm_value or _load())(value, context)
        return _earlier(value, context) if type_ is None else type_
    type_ = _earlier(value, context)
    if type_ is None and _is_installed and hasattr(value, _PROTOCOL):  # an instance's own attribute
        type_ = (_typeof_usm_value or _load())(value, context)
    return type_


def _typeof_argument_with_usm_arrays(dispatcher: Any, value: Any) -> Any:
    if type(value) not in quick_classes or _typeof_usm_array is None:
        return _typeof_argument(dispatcher, value)
    type_ = _typeof_usm_array(value)
    dispatcher._types_active_call.add(type_)  # as the method does that this one replaces
    return type_


def _load() -> Callable[[Any, Any], Any]:
    global _typeof_usm_array, _typeof_usm_value
    from kapi_types.usm.typeof import typeof_usm_array, typeof_usm_value

    _typeof_usm_array, _typeof_usm_value = typeof_usm_array, typeof_usm_value
    return typeof_usm_value
