"""Programs of a platform: kernels compiled, kept in files, and built by the driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from kapi_runtime.platform.entry_points import compiler_of

if TYPE_CHECKING:
    from kapi_lowering import KernelModule, Target
    from kapi_sim.language import KernelOptions

__all__ = ["BuiltKernel", "ForeignCode", "KernelInformation", "ProgramBuilder"]


class BuiltKernel(Protocol):
    """A kernel that is built for one device, with the limits that its launches keep; `Platform` makes it.

    It is kept alive by whoever launches it, and launches compare it by identity.
    """

    @property
    def name(self) -> str:
        """The kernel's name, for messages."""

    @property
    def native(self) -> Any:
        """The kernel object of the platform's library: users get it from `information` and the like."""

    @property
    def max_work_group_size(self) -> int:
        """Largest work-group of this kernel on this device, in work-items."""

    @property
    def max_work_item_sizes(self) -> tuple[int, ...]:
        """Largest work-group along each of three dimensions, in work-items, the fastest last."""

    @property
    def max_work_items(self) -> int:
        """Most work-items of one launch."""

    @property
    def local_mem_size(self) -> int:
        """Local memory that a work-group may ask for in a launch, in bytes."""


@dataclass(frozen=True, slots=True)
class ForeignCode:
    """Code of a kernel that kapi did not compile.

    Attributes
    ----------
    platform : str
        `Platform.name` of the platform that takes it.
    form : str
        What it is, as that platform calls it, such as "ptx".
    code : bytes or str
        The code; checked by `Platform.checked_code`.
    entry : str
        Name of the kernel in it.
    options : str
        Options for the driver's compiler.
    """

    platform: str
    form: str
    code: bytes | str
    entry: str
    options: str = ""


@dataclass(frozen=True, slots=True)
class KernelInformation:
    """The properties of one compiled kernel on a device.

    Attributes
    ----------
    device : str
        Name of the device.
    max_work_group_size : int
        Largest work-group of this kernel, in work-items.
    preferred_work_group_size_multiple : int
        What a work-group's size is best a multiple of, in work-items.
    private_mem_size : int
        Private memory of a work-item, in bytes.
    max_sub_group_size : int
        Largest sub-group of this kernel, in work-items.
    compile_sub_group_size : int or None
        Sub-group size that the kernel demands, in work-items; None if any will do.
    sub_group_sizes : tuple of int
        Sub-group sizes that the device has, in work-items.
    local_mem_size : int
        Local memory that the device has for a work-group, in bytes.

    References
    ----------
    SYCL 2020, section 4.11.13 (kernel information descriptors).
    """

    device: str
    max_work_group_size: int
    preferred_work_group_size_multiple: int
    private_mem_size: int
    max_sub_group_size: int
    compile_sub_group_size: int | None
    sub_group_sizes: tuple[int, ...]
    local_mem_size: int

    def __str__(self) -> str:
        demanded = "any" if self.compile_sub_group_size is None else str(self.compile_sub_group_size)
        sizes = ", ".join(map(str, self.sub_group_sizes))
        return "\n".join(
            (
                self.device,
                f"  work-groups      to {self.max_work_group_size} work-items, best multiples of "
                f"{self.preferred_work_group_size_multiple}",
                f"  sub-groups       to {self.max_sub_group_size} of {sizes} work-items, demanded: {demanded}",
                f"  private memory   {self.private_mem_size} bytes",
                f"  local memory     {self.local_mem_size} bytes",
            )
        )


class ProgramBuilder(ABC):
    """Compiles kernels and gives them to the driver."""

    target: str

    def target_of(self, device: Any) -> Target:
        """Return what to compile for; equal for devices of equal abilities, so that they share what is compiled."""
        target: Target = device.target
        return target

    def launch_target(self, device: Any, is_small: bool, reads_apart: bool) -> Target:
        """Return what to compile for where launches keep more than the language asks for.

        Parameters
        ----------
        device : Device
            Where they run.
        is_small : bool
            Whether their index spaces and arrays have extents of 31 bits.
        reads_apart : bool
            Whether the arrays that are read share no memory with those that are written.
        """
        return self.target_of(device)

    def compile(
        self, function: Callable[..., Any], signature: tuple[Any, ...], target: Target, options: KernelOptions
    ) -> KernelModule:
        """Compile a kernel; imports the compiler and Numba, which nothing else here does.

        Parameters
        ----------
        function : function
            The kernel.
        signature : tuple of numba.types.Type
            The work-item's type, then the type of each argument.
        target : Target
            What `target_of` gave, or the user.
        options : KernelOptions
            How.

        Raises
        ------
        KernelCompilationError
            If it cannot be compiled.
        """
        module: KernelModule = compiler_of(self.target).compile_kernel(
            function, signature, target=target, options=options
        )
        return module

    def compile_function(
        self, function: Callable[..., Any], signature: Any, device_function: bool, target: Target, **options: Any
    ) -> tuple[bytes, Any]:
        """Compile a function to code that other programs load, and return it with the type of its result.

        Parameters
        ----------
        function : function
            In the kernel language.
        signature : sequence of numba.types.Type
            The type of each parameter.
        device_function : bool
            Whether it is exported with plain arguments, to be called, in place of a kernel.
        target : Target
            What `target_of` gave.
        **options
            "debug", "fastmath" and "opt" of `KernelOptions`.

        Raises
        ------
        KernelCompilationError
            If it cannot be compiled.
        """
        return compiler_of(self.target).compile_code(function, signature, device_function, target=target, **options)

    def write_module(self, module: KernelModule, key: str) -> bytes:
        """Return the bytes of a file of the disk cache; ModuleFileError if the module cannot be kept."""
        return compiler_of(self.target).write_module(module, key)

    def read_module(self, data: bytes, key: str) -> KernelModule:
        """Return the module of such a file; ModuleFileError for any other bytes, which are never run."""
        module: KernelModule = compiler_of(self.target).read_module(data, key)
        return module

    @abstractmethod
    def built(self, module: KernelModule, queue: Any) -> BuiltKernel:
        """Return a module's kernel for the device of a queue, built by the driver at the first call and kept.

        Raises
        ------
        DriverError
            If the driver refuses the module; the message holds its build log.
        LimitError
            If the module needs what the device does not have.
        ExecutionPlacementError
            If it was compiled for another platform.
        """

    @abstractmethod
    def checked_code(self, form: str, code: Any, entry: str) -> bytes | str:
        """Return foreign code as it is kept, checked as far as that needs no device.

        Raises
        ------
        KernelCompilationError
            If it is not of this form, is cut short, or has no kernel of this name; or there is no such form here.
        """

    @abstractmethod
    def built_foreign(self, code: ForeignCode, parameters: Sequence[str], queue: Any) -> BuiltKernel:
        """Build foreign code for the device of a queue; the caller keeps it.

        Parameters
        ----------
        code : ForeignCode
            Checked code.
        parameters : sequence of str
            The kernel's parameters, as the user gave them, as text.
        queue : object
            Its device is built for.

        Raises
        ------
        DriverError
            If the driver refuses it, the entry point is missing, or it has not as many parameters.
        """

    @abstractmethod
    def kernel_information(self, kernel: BuiltKernel, queue: Any) -> KernelInformation:
        """Return what the device says of a kernel."""
