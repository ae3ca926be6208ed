"""CUDA's driver: every call is checked, and what it refuses becomes an error of kapi's with the driver's name for it.

`cuda.bindings` is imported, and the driver initialised, by the first call.  Before that, nothing of CUDA's is loaded.
"""

from __future__ import annotations

import os
from typing import Any

from kapi_sim import environment_variables
from kapi_sim.errors import DeviceNotFoundError, DriverError, ForkError, KapiError, UsmAllocationError
from kapi_sim.forks import block_forks, in_children

__all__ = [
    "address_of",
    "bindings",
    "call",
    "error_of",
    "is_loaded",
    "name_of",
    "quietly",
    "require_no_fork",
    "result",
    "version",
]

INSTALL = 'pip install "kapi-runtime[cuda]"'
"""The install command of all that the platform needs but the driver."""

_SINCE = 11000  # CUDA 11.0: older drivers are not supported
_OUT_OF_MEMORY = 2
_NO_DEVICE = 100

# After one of these the driver answers every later call of the process with it.
_LOSES_THE_CONTEXT = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "a work-item used memory that is not there",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "a work-item used an address that is no multiple of the element's size",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "a work-item used memory of another kind than it said",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "a work-item met an instruction that the device does not have",
    "CUDA_ERROR_INVALID_PC": "a work-item left its program",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "the stack of a work-item is damaged, or too small",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "a kernel ran longer than a device with a display may",
    "CUDA_ERROR_LAUNCH_FAILED": "a kernel failed",
    "CUDA_ERROR_ASSERT": "an assert of a kernel that is none of kapi's failed",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "the device's memory gave wrong bits that it could not correct",
    "CUDA_ERROR_CONTAINED": "the device's memory gave wrong bits that it could not correct",
    "CUDA_ERROR_CONTEXT_IS_DESTROYED": "another library has reset the device",
}

_loaded: Any = None
_is_forked = False


def bindings() -> Any:
    """Return the module `cuda.bindings.driver`, with the driver initialised.

    Raises `DeviceNotFoundError` if there is no `cuda.bindings`, no driver, or no device.
    """
    global _loaded
    if _loaded is None:
        with block_forks():  # a child of a process that is half initialised would not be told
            _loaded = _initialised(_imported())
    return _loaded


def is_loaded() -> bool:
    """Whether the driver was initialised by kapi."""
    return _loaded is not None


def result(name: str, *arguments: Any) -> tuple[int, Any]:
    """Call the driver, and return its code, 0 for success, and what it gave: nothing, a value, or several.

    - `name`: the function, such as "cuCtxGetCurrent".
    - `*arguments`: what `cuda.bindings` takes.
    """
    module = _loaded if _loaded is not None else bindings()
    try:
        code, *values = getattr(module, name)(*arguments)
    except (RuntimeError, AttributeError) as error:  # a function that this driver, or cuda.bindings, does not have
        raise DriverError(
            f"the CUDA driver must have {name}, got one without it: {error}; update the driver, or {INSTALL}",
            code="driver-too-old",
        ) from error
    return int(code), values[0] if len(values) == 1 else tuple(values)


def call(name: str, *arguments: Any) -> Any:
    """Call the driver, and return what it gave.

    Raises `KapiError`: what `error_of` says, if the driver refuses.
    """
    code, value = result(name, *arguments)
    if code:
        raise error_of(name, code)
    return value


def address_of(name: str) -> int:
    """Return the address of a function of the driver's, or 0 if it gives none."""
    try:
        code, address, *_ = bindings().cuGetProcAddress(name.encode(), _SINCE, 0)
    except (AttributeError, TypeError, ValueError):
        return 0
    return 0 if code else int(address or 0)


def quietly(name: str, *arguments: Any) -> None:
    """Call the driver for a destructor, which raises nothing, also at exit and of a lost context."""
    if _loaded is None:
        return
    try:
        getattr(_loaded, name)(*arguments)
    except Exception:
        return


def error_of(name: str, code: int, what: str = "") -> KapiError:
    """Make the error for what a call of the driver gave.

    - `code`: what it gave, not 0.
    - `what`: what was to be done, for the message.

    The class follows from the code: memory, no device, anything else.
    """
    called = name_of(code)
    got = f"{called} ({code}) from {name}{_text_of(code)}"
    if code == _OUT_OF_MEMORY:
        return UsmAllocationError(
            f"{what or 'memory of a CUDA device'} cannot be allocated: {got}", code="device-memory-short"
        )
    if code == _NO_DEVICE:
        return DeviceNotFoundError(_no_device(), code="no-device")
    if called in _LOSES_THE_CONTEXT:
        return DriverError(
            f"{what or 'work on a CUDA device'} failed: {got}: {_LOSES_THE_CONTEXT[called]}.\n"
            "The device's context is lost, with all arrays in it, for CuPy, PyTorch and every other library of this "
            "process: start another one.\n"
            "An earlier launch may be the cause. `@kapi.kernel(debug=True)` and the simulator name the line; "
            "`compute-sanitizer python program.py` finds what kernels of other libraries do",
            code="context-lost",
        )
    return DriverError(f"{what or 'the CUDA driver'} failed: {got}", code="driver-failed")


def name_of(code: int) -> str:
    """Return the driver's name for a code, such as "CUDA_ERROR_INVALID_VALUE"."""
    return _error_text("cuGetErrorName", code) or f"CUDA error {code}"


def version() -> tuple[int, int]:
    """Return the newest version of CUDA that the driver knows, such as (13, 0)."""
    number = int(call("cuDriverGetVersion"))
    return number // 1000, number % 1000 // 10


def require_no_fork() -> None:
    """Raise ForkError in a process that was forked after kapi had initialised the driver."""
    if _is_forked:
        raise ForkError(
            f"devices must be used by the process that initialised CUDA, got process {os.getpid()}, forked from one "
            "that had: start processes by spawning, as `multiprocessing.get_context('spawn')` and concurrent.futures' "
            "`mp_context=` do, or fork before the first array or device is touched",
            code="forked-process",
        )


def _imported() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceNotFoundError(
            f"cuda.bindings must be installed for CUDA devices, got an environment without it ({error}): `{INSTALL}`",
            code="platform-absent",
        ) from error
    return driver


def _initialised(module: Any) -> Any:
    try:
        (code,) = module.cuInit(0)
    except Exception as error:  # its class is that of cuda.bindings' own search for the library
        raise DeviceNotFoundError(
            "NVIDIA's driver must be installed for CUDA devices, got none that can be loaded: "
            f"{type(error).__name__}: {error}",
            code="driver-absent",
        ) from error
    if int(code) == _NO_DEVICE:
        raise DeviceNotFoundError(_no_device(), code="no-device")
    if code:
        got = module.cuGetErrorName(code)[1]
        raise DeviceNotFoundError(
            f"NVIDIA's driver must start for CUDA devices, got {_decoded(got) or int(code)} from cuInit: "
            "`nvidia-smi` tells more",
            code="driver-failed",
        )
    return module


def _no_device() -> str:
    visible = environment_variables.CUDA_VISIBLE_DEVICES.value
    hidden = "" if visible is None else f"; CUDA_VISIBLE_DEVICES is {visible!r}, and may hide one: unset it"
    return f"a GPU of NVIDIA's must be there for CUDA devices, got none that the driver lists{hidden}"


def _text_of(code: int) -> str:
    text = _error_text("cuGetErrorString", code)
    return f" ({text})" if text else ""


def _error_text(name: str, code: int) -> str:
    module = bindings()
    try:
        failed, text = getattr(module, name)(module.CUresult(code))
    except ValueError:  # newer than cuda.bindings
        return ""
    return "" if failed else _decoded(text)


def _decoded(text: Any) -> str:
    return text.decode(errors="replace") if isinstance(text, bytes) else str(text or "")


def _after_fork_in_child() -> None:
    global _is_forked
    _is_forked = _is_forked or _loaded is not None


in_children(_after_fork_in_child)
