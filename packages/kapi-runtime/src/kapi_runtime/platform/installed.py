"""Which platforms there are, which of them are installed, and which one a value belongs to.

A platform is known by what its arrays look like, so that its library is imported when the first of them is met, and a
platform that is missing is named then, with what installs it.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from kapi_runtime.platform import dlpack
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.placement import placement_error
from kapi_sim.errors import DeviceNotFoundError, DriverError
from kapi_sim.forks import free_in_children, undivided
from kapi_sim.language.usm_fields import is_usm_array

__all__ = [
    "activate",
    "is_installed",
    "named",
    "nothing_installed",
    "platform_of_array",
    "platform_of_device",
    "platforms",
    "what_is_missing",
]


@dataclass(frozen=True, slots=True)
class _Known:
    """A platform, installed or not.

    Attributes
    ----------
    name : str
        `Platform.name`, the sub-package it is in, and the extra that brings what it needs.
    title : str
        What messages call it.
    class_name : str
        The class in ``kapi_runtime.<name>.platform``.
    needs : tuple of str
        Modules that must be there for it to be installed.
    is_array : callable
        Whether a value is one of its arrays, told without its library.
    extras : dict of str to str
        Words in names of its devices, and the extra that brings what such a device needs.
    libraries : frozenset of str
        Modules whose devices and queues are its own.
    queue_protocol : str
        What other queues of its kind have.
    at_import : str
        Module whose `activate` is called when kapi_runtime is imported and it is installed; "" for none.
    """

    name: str
    title: str
    class_name: str
    needs: tuple[str, ...]
    is_array: Callable[[Any], bool]
    extras: dict[str, str] = field(default_factory=dict)
    libraries: frozenset[str] = frozenset()
    queue_protocol: str = ""
    at_import: str = ""

    @property
    def module(self) -> str:
        return f"kapi_runtime.{self.name}.platform"

    @property
    def install(self) -> str:
        return f'pip install "kapi-runtime[{self.name}]"'


def _dlpack_device(value: Any) -> int | None:
    """The kind of device that an array tells by DLPack, or None; some classes have the method and raise in it."""
    if not hasattr(type(value), "__dlpack_device__"):
        return None
    try:
        return dlpack.device_kind(value)
    except Exception:
        return None


def _is_sycl_array(value: Any) -> bool:
    return is_usm_array(value) or _dlpack_device(value) == dlpack.ONEAPI


def _is_cuda_array(value: Any) -> bool:
    kind = _dlpack_device(value)
    if kind == dlpack.CPU and type(value).__module__.partition(".")[0] == "torch":
        return is_installed("cuda")  # which says how a tensor of the host comes to a device
    if kind == dlpack.CPU and isinstance(value, np.ndarray):
        return _has_cuda_interface(value)  # numba-cuda's mapped and managed arrays are NumPy's, too
    # The interface is a property that some arrays of the host have, too, and that raises for some of a device.
    return (
        kind in (dlpack.CUDA, dlpack.CUDA_HOST, dlpack.CUDA_MANAGED) if kind is not None else _has_cuda_interface(value)
    )


def _has_cuda_interface(value: Any) -> bool:
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:
        return True


_KNOWN = (
    _Known(
        "sycl",
        "SYCL",
        "SyclPlatform",
        ("dpctl", "kapi_spirv"),
        _is_sycl_array,
        {"cpu": "cpu", "gpu": "sycl", "intel": "cpu", "level_zero": "sycl", "opencl": "cpu", "sycl": "sycl"},
        frozenset(("dpctl", "dpnp")),
        "_get_capsule",
        "kapi_runtime.sycl.devices.drivers",
    ),
    _Known(
        "cuda",
        "CUDA",
        "CudaPlatform",
        ("cuda.bindings", "kapi_ptx"),
        _is_cuda_array,
        {"cuda": "cuda", "geforce": "cuda", "gpu": "cuda", "nvidia": "cuda", "rtx": "cuda", "tesla": "cuda"},
        frozenset(("cuda", "cupy", "cupy_backends", "jax", "jaxlib", "numba", "torch")),
        "__cuda_stream__",
    ),
)
_NO_ARRAYS = frozenset((bool, int, float, complex, np.ndarray, str, bytes, type(None)))

_lock = free_in_children(threading.RLock())
_made: dict[str, Platform] = {}


def activate() -> None:
    """Do what platforms that are installed have to do before their library is first used: `kapi_runtime`'s import."""
    for known in _KNOWN:
        if known.at_import and _is_there(known):
            importlib.import_module(known.at_import).activate()


def platforms() -> list[Platform]:
    """Return all platforms that are installed; imports their libraries."""
    return [_get(known) for known in _KNOWN if _is_there(known)]


def is_installed(name: str) -> bool:
    """Whether a platform is installed; imports nothing of it."""
    return any(known.name == name and _is_there(known) for known in _KNOWN)


def named(name: str, for_what: str) -> Platform:
    """Return a platform by its name.

    Parameters
    ----------
    name : str
        `Platform.name`.
    for_what : str
        What it is needed for, for the message.

    Raises
    ------
    DriverError
        If it is not installed.
    """
    known = next(each for each in _KNOWN if each.name == name)
    if not _is_there(known):
        raise DriverError(
            f"{known.title} must be installed for {for_what}, got an environment without it: `{known.install}`",
            code="platform-absent",
        )
    return _get(known)


def platform_of_array(value: Any, what: str) -> Platform | None:
    """Return the platform whose array a value is, or None if it is no array of a device.

    Parameters
    ----------
    value : object
        Anything.
    what : str
        What it is, such as the name of an argument, for the message.

    Raises
    ------
    ExecutionPlacementError
        If it is an array of a platform that is not installed.
    """
    if type(value) in _NO_ARRAYS:
        return None
    for known in _KNOWN:
        if known.is_array(value):
            if not _is_there(known):
                raise placement_error(
                    f"{what} must be an array of a platform that is installed, got a {type(value).__name__} of "
                    f"{known.title}, which is not: `{known.install}`",
                    "platform-absent",
                )
            return _get(known)
    return None


def platform_of_device(device: Any) -> Platform:
    """Return the platform of a device of one that is installed."""
    return next(platform for platform in platforms() if platform.device(device) is not None)


def what_is_missing(source: Any) -> str:
    """Return what a device or a queue needs that is not installed, to end a message with; empty if nothing is.

    Parameters
    ----------
    source : object
        The name of a device, or a device or a queue of any library.
    """
    missing = []
    words = _WORD.findall(source.lower()) if isinstance(source, str) else []
    word = next((word for word in words if any(word in known.extras for known in _KNOWN)), "")
    for known in _KNOWN:
        if _is_there(known):
            continue
        if isinstance(source, str):
            extra = known.extras.get(word, "")
        else:
            # A library may have devices and queues of the host as well.
            is_theirs = _library_of(source) in known.libraries and getattr(source, "type", known.name) != "cpu"
            extra = known.name if is_theirs or hasattr(source, known.queue_protocol) else ""
        if extra:
            missing.append(f'{known.title} is not installed: `pip install "kapi-runtime[{extra}]"`')
    return "".join(f"; {each}" for each in missing)


_WORD = re.compile(r"[a-z_]+")


def _library_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def nothing_installed() -> DeviceNotFoundError:
    """Make the error for an environment in which kernels can run nowhere."""
    return DeviceNotFoundError(
        "a platform must be installed for kernels to run on, got none: "
        '`pip install "kapi-runtime[cpu]"` brings SYCL with Intel\'s runtime for CPUs, "kapi-runtime[sycl]" SYCL for '
        'devices whose driver is there, and "kapi-runtime[cuda]" NVIDIA\'s GPUs',
        code="platform-absent",
    )


def _is_there(known: _Known) -> bool:
    return known.name in _made or all(_exists(name) for name in (known.module, *known.needs))


@lru_cache(maxsize=16)
def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # the package that it is in is missing
        return False


def _get(known: _Known) -> Platform:
    platform = _made.get(known.name)
    if platform is not None:
        return platform
    with undivided(), _lock:
        platform = _made.get(known.name)
        if platform is None:
            platform = _made[known.name] = getattr(importlib.import_module(known.module), known.class_name)()
        return platform
