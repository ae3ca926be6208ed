"""Numba's target context for kernels: data models, lowering and calling convention of their code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import BaseContext
from kapi_lowering.functions.calling_convention import KernelCallConv
from kapi_lowering.functions.codegen import KernelCodegen, KernelLibrary
from kapi_lowering.functions.data_models import element_type, kernel_data_models
from kapi_lowering.functions.lowering_registries import REGISTRIES
from kapi_lowering.results.failures import FailureTable
from kapi_lowering.target import Target
from kapi_lowering.values.vectors import elementwise, is_elementwise
from kapi_sim.errors import KernelProblem
from kapi_sim.language import KernelOptions
from kapi_sim.language.source import SourceLocation
from kapi_types.kernel_typing import TARGET_NAME, KernelTypingContext, ProblemsFound

__all__ = ["KernelTargetContext", "allow_fast_math"]


class KernelTargetContext(BaseContext):
    """Lowers typed IR of the kernel language to LLVM IR for a target.

    Only kapi's own lowering is installed: Numba's is for other types and for a processor with Python in reach.

    - `kernel_target`: what is compiled for at the moment, which writes what targets do not have in common.
    - `options`: how it is compiled.
    - `failures`: the failures of the kernel's work-items.
    - `location`: the source location of the statement that is lowered.
    - `subject`: the variable that it indexes or passes first, if its author has named one.
    - `axes_from_end`: the axes along which the statement that is lowered has a constant negative index.
    """

    strict_alignment = True
    enable_nrt = False
    implement_powi_as_math_call = True

    def __init__(self, typing_context: KernelTypingContext, data_layout: str) -> None:
        self._codegen = KernelCodegen(data_layout)
        super().__init__(typing_context, TARGET_NAME)
        self.options = KernelOptions()
        self.failures = FailureTable()
        self.location = SourceLocation("", 0)
        self.subject = ""
        self.axes_from_end: frozenset[int] = frozenset()
        self._private_memory: list[tuple[int, SourceLocation]] = []
        self._is_in_kernel = True
        self._sizes: dict[ir.Type, int] = {}

    @contextmanager
    def compiling(self, target: Target, options: KernelOptions) -> Iterator[None]:
        """Lower one module: for this target, with these options, and a table of failures of its own."""
        self.kernel_target, self.options, self.failures = target, options, FailureTable()
        self._private_memory = []
        try:
            yield
        finally:
            self.options = KernelOptions()

    @property
    def private_memory(self) -> list[tuple[int, SourceLocation]]:
        """The private arrays of what was lowered: the bytes of each, and its source location."""
        return self._private_memory

    def element_type(self, type_: Any) -> ir.Type:
        """The LLVM type of an element of an array."""
        return element_type(self.data_model_manager, type_)

    def note_private_memory(self, nbytes: int) -> None:
        """Note a private array that the statement being lowered makes."""
        self._private_memory.append((nbytes, self.location))

    def refusal(self, code: str, text: str) -> ProblemsFound:
        """The problem that the statement being lowered cannot be, for a reason that its types do not show."""
        return ProblemsFound([KernelProblem(code, self.location.filename, self.location.line, text)])

    @contextmanager
    def lowering_device_function(self) -> Iterator[None]:
        """Lower functions that a kernel calls, which the option `inline` is about."""
        before, self._is_in_kernel = self._is_in_kernel, False
        try:
            yield
        finally:
            self._is_in_kernel = before

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """The code of a call; of an operator or function of numbers, for vectors as well."""
        if is_elementwise(fn, sig.args):
            return elementwise(self, fn, sig)
        return super().get_function(fn, sig, _firstcall)

    def init(self) -> None:
        """Part of Numba's interface, called by the constructor."""
        self.address_size = 64
        self.data_model_manager = kernel_data_models
        for registry in REGISTRIES:
            self.install_registry(registry)

    def refresh(self) -> None:
        """Nothing is ever added: the registries are complete when the context is made."""

    @property
    def call_conv(self) -> Any:
        """The calling convention of kernel code."""
        return KernelCallConv(self)

    @property
    def target_data(self) -> Any:
        """LLVM's sizes and alignments."""
        return self._codegen.target_data

    def get_abi_sizeof(self, ty: ir.Type) -> int:
        """The bytes of a type: LLVM, which reads a module for the answer, is asked once for each."""
        if ty not in self._sizes:
            self._sizes[ty] = super().get_abi_sizeof(ty)
        return self._sizes[ty]

    def codegen(self) -> KernelCodegen:
        """The code generator."""
        return self._codegen

    def create_module(self, name: str) -> ir.Module:
        """An empty LLVM module."""
        return self._codegen._create_empty_module(name)

    def declare_env_global(self, module: ir.Module, envname: str) -> None:
        """Nothing: a kernel has no Python environment."""

    def get_executable(self, library: KernelLibrary, fndesc: Any, env: Any) -> None:
        """Nothing: kernel code is not run from here."""

    def apply_target_attributes(self, llvm_func: ir.Function, argtypes: Any = None, restype: Any = None) -> None:
        """Every function is inlined into the entry point, if not told otherwise: calls are seldom worth their price."""
        llvm_func.calling_convention = self.kernel_target.function_convention
        for attribute in ("alwaysinline", "nounwind", *self.kernel_target.function_attributes):
            llvm_func.attributes.add(attribute)

    def post_lowering(self, module: ir.Module, library: KernelLibrary) -> None:
        """Finish a function that has been lowered: attributes that hold for all of it."""
        allow_fast_math(module, self.options.fast_math_flags)
        if self.options.inline == "never" and not self._is_in_kernel:
            for function in module.functions:
                if not function.is_declaration:
                    function.attributes.discard("alwaysinline")
                    function.attributes.add("noinline")

    def register_device_function(
        self, function: FunctionType, args: tuple[Any, ...], fndesc: Any, library: KernelLibrary
    ) -> None:
        """Make a compiled function callable from kernel code compiled after it."""
        self.insert_user_function((function, args), fndesc, [library])


_OPERATIONS = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp"))
_FLOATS = (ir.HalfType, ir.FloatType, ir.DoubleType)


def allow_fast_math(module: ir.Module, flags: Sequence[str]) -> None:
    """Give the flags to each float operation of a module, and to each call that returns a float.

    - `module`: changed in place.
    - `flags`: names from `kapi_sim.language.FAST_MATH_FLAGS`; none changes nothing.
    """
    if not flags:
        return
    instructions = (each for function in module.functions for block in function.blocks for each in block.instructions)
    for instruction in instructions:
        if isinstance(instruction, ir.CallInstr):
            if isinstance(instruction.type, _FLOATS):
                instruction.fastmath.update(flags)
        elif instruction.opname in _OPERATIONS:
            instruction.flags.extend(flag for flag in flags if flag not in instruction.flags)
