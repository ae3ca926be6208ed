"""`TargetCompiler`: functions to kernels and code of one target, and its modules to files and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kapi_lowering.files.module_format import ModuleFormat
from kapi_lowering.results.kernel_module import KernelModule
from kapi_lowering.target import Target
from kapi_sim.errors import KernelCompilationError
from kapi_sim.forks import block_forks
from kapi_sim.language import KernelOptions

if TYPE_CHECKING:
    from types import ModuleType

    from numba import types

__all__ = ["TargetCompiler"]

T = TypeVar("T", bound=Target)
M = TypeVar("M", bound=KernelModule)

_NO_OPTIONS = KernelOptions()


class TargetCompiler(ABC, Generic[T, M]):
    """The compiler of one target.

    A target's package has a subclass and one object of it, which an entry point of the group ``kapi.targets`` names.
    The methods that are no hooks are the package's public functions. Importing this module does not import Numba.

    Attributes
    ----------
    format : ModuleFormat
        The files of its modules, with the classes of its modules and targets.
    """

    format: ModuleFormat[M]

    # -- hooks of a target

    @abstractmethod
    def default_target(self) -> T:
        """Return the target to compile for where the caller gives none."""

    def finish_code(self, code: bytes, target: T, options: KernelOptions) -> bytes:
        """Return emitted code with the parts that LLVM's back end cannot write; unchanged by default."""
        return code

    def own_fields(self, module: KernelModule) -> dict[str, Any]:
        """Return the fields that this target's modules have beyond those of `KernelModule`; none by default."""
        return {}

    # -- the functions of a target's package

    def compile_kernel(
        self,
        function: Callable[..., None],
        signature: str | Sequence[types.Type],
        *,
        target: T | None = None,
        options: KernelOptions = _NO_OPTIONS,
        optimise: bool = True,
    ) -> M:
        """Compile a Python function to a kernel. Needs no device and no driver.

        Parameters
        ----------
        function : function
            A plain Python function in the kernel language; its first parameter is the Item or NdItem.
        signature : str or sequence of numba.types.Type
            The type of each parameter: `kapi_types.ItemType` or `NdItemType`, then arrays, local memory and scalars; or
            a text that `kapi_types.parse_signature` takes, such as ``"item1, float32[:]"``.
        target : Target, optional
            The target to compile for, of this package's class; its default one if left out.
        options : KernelOptions, optional
            How to compile: those of `@kernel`.
        optimise : bool
            Whether LLVM's optimisation passes run.

        Returns
        -------
        KernelModule
            A module of this package's class.

        Raises
        ------
        KernelCompilationError
            If the function is not in the kernel language, with every problem and its line; if it needs a library of
            the target's that is not installed; or if LLVM cannot make code of it.
        LimitError
            If the options ask for sub-groups of a size that the target does not have, or the private arrays are too
            large.
        DtypeError
            If `signature` does not fit the function's parameters.
        """
        target = self._checked(target)
        module = _compilation().compiled_kernel(function, signature, target, options, optimise)
        module = replace(module, code=self.finish_code(module.code, target, options))
        shared = {each.name: getattr(module, each.name) for each in fields(module)}
        return self.format.module(**shared, **self.own_fields(module))

    def compile_code(
        self,
        function: Callable[..., object],
        signature: str | Sequence[types.Type],
        device_function: bool = False,
        debug: bool = False,
        fastmath: bool | Iterable[str] = False,
        opt: bool = True,
        target: T | None = None,
        lineinfo: bool = False,
    ) -> tuple[bytes, types.Type]:
        """Compile a Python function to code, as a kernel or as a function to be linked to other modules.

        Parameters
        ----------
        function : function
            A plain Python function in the kernel language.
        signature : str or sequence of numba.types.Type
            The type of each parameter.
        device_function : bool
            Whether to export the function under its own name, with plain arguments (arrays as pointer, shape, and
            strides where they have any), in place of a kernel. Its value is what the function returns.
        debug : bool
            Whether to compile asserts, raises and index checks in; for kernels only.
        fastmath : bool or iterable of str
            As in `kapi_sim.language.KernelOptions`.
        opt : bool
            Whether LLVM's optimisation passes run.
        target : Target, optional
            The target to compile for, of this package's class; its default one if left out.
        lineinfo : bool
            Whether to write the lines of the source into the code, for profilers, where the target can.

        Returns
        -------
        code : bytes
            The target's code.
        return_type : numba.types.Type
            What the function returns; ``none`` for a kernel.

        Raises
        ------
        KernelCompilationError
            As `compile_kernel`; or if a device function is to be compiled in debug mode, which has no launch to raise.
        DtypeError
            If `signature` does not fit the function's parameters.
        """
        target = self._checked(target)
        options = KernelOptions.of(debug=debug, fastmath=fastmath, lineinfo=lineinfo)
        compilation = _compilation()
        if not device_function:
            kernel = cast("Callable[..., None]", function)
            module = self.compile_kernel(kernel, signature, target=target, options=options, optimise=opt)
            return module.code, compilation.types.none
        if debug:
            raise KernelCompilationError(
                f"debug must be False for a device function, got True for {getattr(function, '__name__', function)}: "
                "it is the launch of a kernel that raises",
                code="debug-of-device-function",
            )
        code, return_type = compilation.compiled_function(function, signature, target, options, opt)
        return self.finish_code(code, target, options), return_type

    def write_module(self, module: M, key: str = "") -> bytes:
        """Return the bytes of a file that holds `module`.

        Parameters
        ----------
        module : KernelModule
            The compiled kernel.
        key : str
            What it was compiled of, such as a digest; `read_module` compares it.

        Raises
        ------
        ModuleFileError
            If an exception that the kernel may raise has an argument that is no text, number or None, or the module
            is larger than files may be.
        """
        return self.format.write(module, key)

    def read_module(self, data: bytes, key: str | None = None) -> M:
        """Return the module that `write_module` made bytes of.

        Nothing in the bytes is run, evaluated, imported or looked up by name, whoever wrote them. To *launch* the
        module is to run its code, as with any program.

        Parameters
        ----------
        data : bytes
            The entire file.
        key : str, optional
            What the module must have been compiled of; left out, any.

        Raises
        ------
        ModuleFileError
            If it is of another format, cut short, changed, of another key, or says what no compiled kernel has.
        """
        return self.format.read(data, key)

    def _checked(self, target: T | None) -> T:
        if target is None:
            return self.default_target()
        if not isinstance(target, self.format.target):
            raise TypeError(
                f"target must be a {self.format.target.__name__}, got {target!r}: write one, or leave it out for the "
                "default"
            )
        return target


def _compilation() -> ModuleType:
    # It brings Numba, which takes longer to import than a kernel that was compiled before takes to be ready.
    with block_forks():  # a child of a fork has no half of a module
        from kapi_lowering.kernels import compilation
    return compilation
