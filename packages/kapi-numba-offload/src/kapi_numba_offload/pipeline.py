"""What Numba's compiler does with a function that is called with USM arrays, in the place of its own passes."""

from __future__ import annotations

from typing import Any

from kapi_numba_offload._numba_compat import (
    FixupArgs,
    Flags,
    FunctionPass,
    IRProcessing,
    PassManager,
    TranslateByteCode,
    compile_extra,
    compile_result,
    register_pass,
    types,
    typing,
)
from kapi_numba_offload.eligibility import reasons_against
from kapi_numba_offload.expression import ArrayExpression
from kapi_sim.errors import KernelCompilationError
from kapi_types.kernel_typing import describe_problems

__all__ = ["offload_pipelines"]


def offload_pipelines(state: Any) -> list[Any]:
    """The one pipeline for a function with USM arrays among its arguments."""
    passes = PassManager("kapi_offload")
    passes.add_pass(TranslateByteCode, "bytecode to IR")
    passes.add_pass(FixupArgs, "arguments")
    passes.add_pass(IRProcessing, "IR checks")
    passes.add_pass(_Offload, "array expression to kernel")
    passes.finalize()
    return [passes]


@register_pass(mutates_CFG=True, analysis_only=False)
class _Offload(FunctionPass):
    """Makes the compiled function a call of an `ArrayExpression`, for arguments of the types at hand."""

    _name = "kapi_offload"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        function = state.func_id.func
        reasons = reasons_against(state.func_ir)
        if reasons:
            raise KernelCompilationError(
                f"function {function.__name__} with USM arrays must be one expression of operators to be "
                f"offloaded:\n{describe_problems(reasons)}"
            )
        compiled = _as_native(state, ArrayExpression(function))
        state.cr = compile_result(
            typing_context=state.typingctx,
            target_context=state.targetctx,
            entry_point=compiled.entry_point,
            typing_error=None,
            type_annotation=None,
            library=compiled.library,
            call_helper=compiled.call_helper,
            # Numba's dispatcher looks compiled code up by these types, so the next call comes here directly.
            signature=typing.signature(types.pyobject, *state.args),
            objectmode=True,
            lifted=(),
            fndesc=compiled.fndesc,
            environment=compiled.environment,
            metadata=state.metadata,
            reload_init=[],
        )
        return True


def _as_native(state: Any, expression: ArrayExpression) -> Any:
    """Compiled code that passes its arguments, as Python objects, to `expression`."""
    names = ", ".join(f"a{position}" for position in range(len(state.args)))
    namespace: dict[str, Any] = {"expression": expression}
    exec(f"def offloaded({names}):\n    return expression({names})\n", namespace)
    flags = Flags()
    flags.force_pyobject = True
    flags.enable_pyobject = True
    pyobjects = (types.pyobject,) * len(state.args)
    return compile_extra(state.typingctx, state.targetctx, namespace["offloaded"], pyobjects, None, flags, {})
