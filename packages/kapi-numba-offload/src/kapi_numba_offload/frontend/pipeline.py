"""Passes of Numba's compiler for functions that are called with USM arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

from kapi_numba_offload._numba_compat import (
    CompilerBase,
    CompileResult,
    Constants,
    DefaultPassBuilder,
    FixupArgs,
    Flags,
    FunctionPass,
    IRProcessing,
    PassManager,
    TranslateByteCode,
    compile_extra,
    ir,
    is_of_jitclass,
    register_pass,
    sanitize_compile_result_entries,
    types,
    typing,
)
from kapi_numba_offload.frontend.host_function import HostFunction, host_function
from kapi_numba_offload.frontend.offloaded_function import OffloadedFunction, holds_usm
from kapi_numba_offload.run.fallback import Refusal
from kapi_numba_offload.run.options import OffloadOptions, options_of
from kapi_runtime.native.loading import calling
from kapi_sim.errors import KernelCompilationError
from kapi_sim.log import long_work

__all__ = ["offload_pipelines"]


def offload_pipelines(state: Any) -> list[Any]:
    """The one pipeline for a function with USM arrays among its arguments."""
    passes = PassManager("kapi_offload")
    passes.add_pass(TranslateByteCode, "bytecode to IR")
    passes.add_pass(FixupArgs, "arguments")
    passes.add_pass(IRProcessing, "IR checks")
    passes.add_pass(_Offload, "partition into kernels and calls")
    passes.finalize()
    return [passes]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Offload(FunctionPass):
    """Makes the compiled function a call of an `OffloadedFunction`, for arguments of the types at hand."""

    _name = "kapi_offload"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        function = state.func_id.func
        if is_of_jitclass(function):
            raise KernelCompilationError(
                "constructor or method of a jitclass must not be given device arrays, since its fields have Numba's "
                "own types: give the arrays to an njit function, and the object or its numbers with them",
                code="offload-jitclass",
            )
        name = function.__name__
        with long_work(f"partitioning function `{name}`", f"function `{name}`: partitioned for a device"):
            state.cr = _result(state, _offloaded(state, options_of(function).with_flags(state.flags)))
        return True


def _offloaded(state: Any, options: OffloadOptions) -> OffloadedFunction | HostFunction:
    """The function, partitioned for the types at hand, or all of it for the host."""
    function = state.func_id.func
    if state.locals:
        return _with_locals(state, options)
    try:
        offloaded = OffloadedFunction(function, state.args, state.func_ir, options=options)
    except KernelCompilationError as error:
        if error.code != "offload-needs-source" or not holds_usm(state.args):
            raise
        return HostFunction(function, options, state.args, parallel=options.parallel)
    return host_function(offloaded, options) or offloaded


def _with_locals(state: Any, options: OffloadOptions) -> HostFunction:
    """The function on the host, where its variables have the types that it was given for them.

    Raises `KernelCompilationError` if it may not run there, or Numba cannot compile it.
    """
    function, given = state.func_id.func, {name: each for name, each in state.locals.items() if "." not in name}
    code = function.__code__
    refusal = Refusal("typed-locals", code.co_firstlineno, function.__name__)
    host = HostFunction(function, options, state.args, parallel=options.parallel, refusal=refusal, local_types=given)
    if options.may_fall_back and host.compiles():
        return host
    raise KernelCompilationError(
        f"option locals of function {function.__name__} must be empty for it to be offloaded, since types are "
        f"NumPy's there, got {given}: convert where a type counts, as in `x = np.float32(x)`",
        code="offload-locals",
    )


def _result(state: Any, offloaded: OffloadedFunction | HostFunction) -> CompileResult:
    """A result of compilation that passes its arguments, as Python objects, to `offloaded`."""
    names = [f"a{position}" for position in range(len(state.args))]
    given = [
        f"{name}.value" if isinstance(type_, types.Omitted) else name
        for name, type_ in zip(names, state.args, strict=True)
    ]
    kinds = [each.kind for each in inspect.signature(offloaded.function).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        given[-1] = f"*{given[-1]}"  # Numba passes these as one tuple
    # Numba finds the environment of cached code by the module that it is from.
    namespace: dict[str, Any] = {"offloaded": offloaded, "__name__": __name__}
    exec(f"def stub({', '.join(names)}):\n    return offloaded({', '.join(given)})\n", namespace)
    entries = {
        "typing_context": state.typingctx,
        "target_context": state.targetctx,
        "entry_point": calling(offloaded if given == names else namespace["stub"]),
        # Numba's dispatcher looks compiled code up by these types, so the next call comes here directly.
        "signature": typing.signature(types.pyobject, *state.args),
        "objectmode": True,
        "lifted": (),
        "environment": Constants((offloaded,)),
        "metadata": state.metadata,
        "reload_init": [],
    }
    return _Result(**sanitize_compile_result_entries(entries)).with_stub(namespace["stub"])


class _Result(CompileResult):
    """A result of compilation whose machine code is made when Numba keeps it in its cache, or shows it."""

    def with_stub(self, stub: Callable[..., Any]) -> _Result:
        """The result, with the function that is then compiled."""
        self._stub = stub
        return self

    @cached_property
    def _compiled(self) -> CompileResult:
        flags = Flags()
        flags.force_pyobject = True
        flags.enable_pyobject = True
        pyobjects = (types.pyobject,) * len(self.signature.args)
        # The stub has no lines that a debugger could show.
        context = self.typing_context, self.target_context.subtarget(enable_debuginfo=False)
        return compile_extra(*context, self._stub, pyobjects, None, flags, {}, pipeline_class=_StubCompiler)

    @property
    def library(self) -> Any:
        """Machine code of the stub."""
        return self._compiled.library

    @property
    def fndesc(self) -> Any:
        """Names in that."""
        return self._compiled.fndesc

    def _reduce(self) -> Any:
        return self._compiled._replace(signature=self.signature)._reduce()


class _StubCompiler(CompilerBase):
    """Numba's object mode, with the global function as a constant: it is kept with the code, in Numba's cache too."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_objectmode_pipeline(self.state)
        passes.add_pass_after(_BindFunction, TranslateByteCode)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _BindFunction(FunctionPass):
    _name = "kapi_bind_function"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                value = getattr(statement, "value", None)
                if isinstance(value, ir.Global):
                    statement.value = ir.Const(value.value, value.loc)
        return True
