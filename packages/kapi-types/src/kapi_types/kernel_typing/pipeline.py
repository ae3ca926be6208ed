"""Typing of a Python function for argument types: Numba IR in which every variable has a type.

A back end subclasses `KernelCompiler` and adds its lowering; nothing here knows which one.
"""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import (
    CompilerBase,
    FixupArgs,
    Flags,
    FunctionIdentity,
    PassManager,
    PreLowerStripPhis,
    ReconstructSSA,
    RewriteSemanticConstants,
)
from kapi_types.kernel_typing.calls.declared_functions import ConvertDeclared
from kapi_types.kernel_typing.calls.prints import SettlePrints
from kapi_types.kernel_typing.passes.bytecode import TranslateKernel
from kapi_types.kernel_typing.passes.constant_arguments import FindConstantArguments
from kapi_types.kernel_typing.passes.constant_propagation import FoldConstantIndices, SettleNoneTests
from kapi_types.kernel_typing.passes.definite_assignment import CheckAssignments
from kapi_types.kernel_typing.passes.inference import InferTypes
from kapi_types.kernel_typing.passes.local_functions import InlineLocalFunctions
from kapi_types.kernel_typing.passes.mixed_types import FindMixedTypes
from kapi_types.kernel_typing.passes.name_resolution import CheckNames
from kapi_types.kernel_typing.passes.outside_constants import FoldOutsideConstants
from kapi_types.kernel_typing.passes.raises import SettleRaises
from kapi_types.kernel_typing.problems.held_values import SettleLengths

__all__ = ["KernelCompiler", "kernel_flags"]


def kernel_flags() -> Flags:
    """Numba's compiler flags for kernel code: no Python objects, no wrappers, no reference counts."""
    flags = Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.enable_pyobject = False
    flags.nrt = False
    return flags


class _KernelPasses(PassManager):
    """Numba's list of passes, run without the events, timings and checks around each that its own pipelines need.

    They take as long as most of the passes. The caller holds the compiler lock.
    """

    def _runPass(self, index: int, pss: Any, internal_state: Any) -> None:
        pss.analysis = self._analysis
        pss.run_pass(internal_state)


class KernelCompiler(CompilerBase):
    """Runs the passes of one function of the kernel language, up to typed IR; see `add_lowering`.

    Parameters
    ----------
    *stages
        As Numba's own compilers take them.
    debug : bool
        Whether asserts and raises are compiled in.
    """

    def __init__(self, *stages: Any, debug: bool = False) -> None:
        super().__init__(*stages)
        self.state["kapi_debug"] = debug
        self.state["kapi_problems"] = []

    def compile_extra(self, func: Any) -> Any:
        """Run the passes of a function; `TranslateKernel` reads its bytecode, which Numba's compilers do here."""
        self.state.func_id = FunctionIdentity.from_function(func)
        self.state.lifted, self.state.lifted_from = (), None
        return self._compile_bytecode()

    def define_pipelines(self) -> list[Any]:
        """The one pipeline of passes."""
        passes = _KernelPasses("kapi_kernel")
        passes.add_pass(TranslateKernel, "bytecode to IR")
        passes.add_pass(FixupArgs, "arguments")
        passes.add_pass(SettleNoneTests, "comparisons with None")
        passes.add_pass(ConvertDeclared, "signatures of device functions")
        passes.add_pass(InlineLocalFunctions, "local functions inlined")
        passes.add_pass(FoldOutsideConstants, "constants of classes and objects")
        passes.add_pass(SettleRaises, "raise and assert")
        passes.add_pass(SettlePrints, "print")
        passes.add_pass(SettleLengths, "len")
        passes.add_pass(RewriteSemanticConstants, "constants such as array.ndim")
        passes.add_pass(FoldConstantIndices, "constant indices")
        passes.add_pass(ReconstructSSA, "one definition a variable")
        passes.add_pass(CheckNames, "names and constants of the kernel language")
        passes.add_pass(CheckAssignments, "variables that may have no value")
        passes.add_pass(FindConstantArguments, "arguments that must be constants")
        passes.add_pass(InferTypes, "types, weak and strong")
        passes.add_pass(FindMixedTypes, "mixed types")
        passes.add_pass(PreLowerStripPhis, "phi nodes to assignments")
        self.add_lowering(passes)
        passes.finalize()
        return [passes]

    def add_lowering(self, passes: Any) -> None:
        """Add the back end's passes, which must set `state.cr`."""
        raise TypeError(f"{type(self).__name__} must define add_lowering, as each back end does")
