"""A PTX module as a kernel that a device can run: given to the driver once, with what its launches must keep."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kapi_ptx import PtxModule
from kapi_runtime.cuda.devices import driver
from kapi_runtime.cuda.devices.device import CudaDevice
from kapi_runtime.cuda.programs import cubins
from kapi_runtime.platform.device_caches import BuiltKernels
from kapi_runtime.platform.handles import describe_device
from kapi_runtime.platform.log import building
from kapi_sim.errors import DriverError, LimitError
from kapi_sim.forks import reinit_after_fork
from kapi_sim.short_repr import short_repr

__all__ = ["CoarseFunction", "CudaKernel", "CudaFunction", "built_kernel", "kernel_of_code"]

_LOG_BYTES = 16 * 1024

_STATIC_SHARED = 48 * 1024  # more shared memory than this must be asked for by an attribute of the function
_LINE = b"\t.loc\t"
_REGISTER_STEP = 8  # registers are given to a work-item by so many


@dataclass(frozen=True, slots=True, eq=False)
class CudaFunction:
    """An entry point as the driver has loaded it.

    - `native`: what is launched.
    - `library`: the driver's module, which is unloaded with this object.
    - `max_threads`: largest work-group that its registers and its code allow, in work-items.
    - `registers`: registers of a work-item.
    - `local_bytes`: memory of a work-item for what registers do not hold, and for private arrays, in bytes.
    - `shared_bytes`: shared memory of a work-group in the module, in bytes.
    """

    native: Any
    library: Any
    max_threads: int
    registers: int
    local_bytes: int
    shared_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class CoarseFunction:
    """An entry point whose threads run several work-items each.

    - `blocks`: work-groups along x whose work one block does.
    """

    function: CudaFunction
    blocks: int


@dataclass(slots=True, eq=False)
class CudaKernel:
    """A kernel, built for one device, and the limits that its launches keep.

    - `name`: the kernel's name, for messages.
    - `device`: what it was built for.
    - `function`: with all registers that it wants.
    - `module`: what it was built from; None for code that kapi did not compile.
    - `coarse`: what large ranges are launched with, if the module has it.
    """

    name: str
    device: CudaDevice
    function: CudaFunction
    module: PtxModule | None
    coarse: CoarseFunction | None = None
    _crowded: CudaFunction | None = None
    _lock: Any = field(default_factory=lambda: reinit_after_fork(threading.Lock()))

    @property
    def native(self) -> Any:
        """The function that the driver launches."""
        return self.function.native

    @property
    def group_size(self) -> int:
        """Largest work-group without spilling registers, in work-items."""
        return self.function.max_threads

    @property
    def max_work_group_size(self) -> int:
        """Largest work-group of this kernel on this device, in work-items."""
        return self.device.max_work_group_size if self._can_crowd else self.function.max_threads

    @property
    def max_work_item_sizes(self) -> tuple[int, ...]:
        """Largest work-group along each of three dimensions, in work-items, the fastest last."""
        return self.device.max_work_item_sizes3d

    @property
    def max_group_counts(self) -> tuple[int, ...]:
        """Most work-groups along each of three dimensions, the fastest last."""
        return self.device.max_group_counts

    @property
    def max_work_items(self) -> int:
        """Most work-items of one launch: ids have 64 bits, and the axes' limits are looked at each by itself."""
        return 2**63 - 1

    @property
    def local_mem_size(self) -> int:
        """Local memory that a work-group may ask for in a launch, in bytes."""
        if self.module is not None and not self.module.local_itemsizes:
            return self.device.local_mem_size  # it is in the module, and the compiler saw to its size
        return self.device.local_mem_size - self.function.shared_bytes

    def function_for(self, size: int) -> CudaFunction:
        """Return the entry point for work-groups of a size.

        - `size`: work-items.

        Raises `LimitError` if the driver finds no code of so few registers.
        """
        if size <= self.function.max_threads:
            return self.function
        if self._can_crowd:
            with self._lock:
                if self._crowded is None:
                    self._crowded = self._built_for(self.device.max_work_group_size)
            if size <= self._crowded.max_threads:
                return self._crowded
        raise LimitError(
            f"work-groups of kernel `{self.name}` must have at most {self.function.max_threads} work-items on "
            f"{describe_device(self.device)}, got {size}: it uses {self.function.registers} registers for each; choose "
            "a smaller work-group",
            code="work-group-too-large",
        )

    @property
    def _can_crowd(self) -> bool:
        """Whether it may be built once more, with fewer registers and spills, for larger groups."""
        if self.module is None:
            return False
        options = self.module.options
        return options.local_range is None and options.max_work_group_size is None

    def _built_for(self, size: int) -> CudaFunction:
        assert self.module is not None
        full = self.device.attribute("MAX_REGISTERS_PER_BLOCK")
        most = full // size // _REGISTER_STEP * _REGISTER_STEP
        return _loaded(self.name, self.module.code, self.module.entry_point, self.device, most)


_kernels: BuiltKernels[CudaKernel] = BuiltKernels()


class _Library:
    """A module of the driver's, unloaded when nobody holds it."""

    __slots__ = ("device", "native")

    def __init__(self, native: Any, device: CudaDevice) -> None:
        self.native, self.device = native, device

    def __del__(self) -> None:
        try:
            if driver.is_loaded():
                with self.device.entered():
                    driver.quietly("cuModuleUnload", self.native)
        except Exception:  # at exit the driver may be gone, and with a lost context nothing is unloaded
            return


def built_kernel(module: PtxModule, device: CudaDevice) -> CudaKernel:
    """Return the module's kernel for a device, built by the driver at the first call.

    Raises `DriverError` if the driver refuses the module; the message holds its build log. Raises `LimitError` if the
    module was compiled for a newer device.
    """
    return _kernels.built((device, id(module)), partial(_build, module, device))


def _build(module: PtxModule, device: CudaDevice) -> CudaKernel:
    major, minor = device.compute_capability
    if module.target.sm > 10 * major + minor:
        raise LimitError(
            f"kernel `{module.name}` must be compiled for {describe_device(device)}, of compute capability "
            f"{major}.{minor}, or an older one, got PTX for sm_{module.target.sm}",
            code="device-too-old",
        )
    with building(module.name, device, describe_device):
        function = _loaded(module.name, module.code, module.entry_point, device)
    coarse = module.coarse_entry_point
    several = coarse and CoarseFunction(_function(module.name, coarse[0], function.library, device), coarse[1])
    return CudaKernel(module.name, device, function, module, several)


def kernel_of_code(name: str, code: bytes, entry: str, device: CudaDevice) -> CudaKernel:
    """Build PTX or a cubin that kapi did not compile; the caller keeps it.

    Raises `DriverError` if the driver refuses it, or it has no such entry point.
    """
    return CudaKernel(name, device, _loaded(name, code, entry, device), None)


def _loaded(name: str, code: bytes, entry: str, device: CudaDevice, max_registers: int | None = None) -> CudaFunction:
    """Give code to the driver."""
    key = cubins.key_of(code, device, max_registers)
    cubin = cubins.load(key)
    with device.entered():
        if cubin is not None:
            failed, native = driver.result("cuModuleLoadData", cubin)
            if not failed:
                return _function(name, entry, _Library(native, device), device)
            cubins.drop(key)
        cubin = _assembled(name, code, device, max_registers)
        library = _Library(driver.call("cuModuleLoadData", cubin), device)
        cubins.store(key, name, cubin)
        return _function(name, entry, library, device)


def _function(name: str, entry: str, library: _Library, device: CudaDevice) -> CudaFunction:
    code, native = driver.result("cuModuleGetFunction", library.native, entry.encode())
    if code:
        raise DriverError(
            f"kernel `{name}` must have the entry point {short_repr(entry)} in its module, got a module without it: "
            f"{driver.name_of(code)}",
            code="entry-absent",
        )
    function = CudaFunction(
        native=native,
        library=library,
        max_threads=_function_attribute(native, "MAX_THREADS_PER_BLOCK"),
        registers=_function_attribute(native, "NUM_REGS"),
        local_bytes=_function_attribute(native, "LOCAL_SIZE_BYTES"),
        shared_bytes=_function_attribute(native, "SHARED_SIZE_BYTES"),
    )
    most = device.local_mem_size - function.shared_bytes
    if most > _STATIC_SHARED - function.shared_bytes:
        driver.call("cuFuncSetAttribute", native, _attribute("MAX_DYNAMIC_SHARED_SIZE_BYTES"), most)
    return function


def _function_attribute(native: Any, name: str) -> int:
    return int(driver.call("cuFuncGetAttribute", _attribute(name), native))


def _attribute(name: str) -> Any:
    return getattr(driver.bindings().CUfunction_attribute, f"CU_FUNC_ATTRIBUTE_{name}")


def _assembled(name: str, code: bytes, device: CudaDevice, max_registers: int | None) -> bytes:
    """The cubin that the driver's own assembler makes of PTX; a cubin stays as it is."""
    if code.startswith(b"\x7fELF"):
        return code
    bound = driver.bindings()
    log = bytearray(_LOG_BYTES)
    options: list[tuple[Any, Any]] = [
        (bound.CUjit_option.CU_JIT_ERROR_LOG_BUFFER, log),
        (bound.CUjit_option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, len(log)),
    ]
    if max_registers is not None:
        options.append((bound.CUjit_option.CU_JIT_MAX_REGISTERS, max_registers))
    if _LINE in code:  # `lineinfo=True`: the assembler drops the lines of PTX unless it is told to keep them
        options.append((bound.CUjit_option.CU_JIT_GENERATE_LINE_INFO, 1))
    names: Sequence[Any] = [option for option, _ in options]
    state = driver.call("cuLinkCreate", len(options), names, [value for _, value in options])
    try:
        text = code + b"\0"
        kind = bound.CUjitInputType.CU_JIT_INPUT_PTX
        step = "cuLinkAddData"
        failed, _ = driver.result(step, state, kind, text, len(text), name.encode(), 0, [], [])
        if not failed:
            step = "cuLinkComplete"
            failed, made = driver.result(step, state)
        if failed:
            said = bytes(log).split(b"\0", 1)[0].decode(errors="replace").strip()
            raise DriverError(
                f"kernel `{name}` must be accepted by the driver of {describe_device(device)}, got "
                f"{driver.name_of(failed)} ({failed}) from {step}:\n{said or 'the driver gave no build log'}",
                code="build-refused",
            )
        address, size = made
        return ctypes.string_at(int(address), int(size))  # it is the state's, and goes with it
    finally:
        driver.result("cuLinkDestroy", state)
