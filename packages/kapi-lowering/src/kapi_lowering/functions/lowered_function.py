"""A Python function and what it calls, lowered to LLVM IR."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeVar

from kapi_lowering._numba_compat import Lower, NativeLowering, numba_ir, register_pass, types
from kapi_lowering.functions.codegen import KernelLibrary
from kapi_lowering.functions.line_info import FunctionLines, function_lines
from kapi_lowering.functions.target_context import KernelTargetContext
from kapi_lowering.results.failures import Failure
from kapi_lowering.target import Target
from kapi_sim import environment_variables
from kapi_sim.errors import KernelCompilationError, KernelProblem, LimitError, MixedTypesWarning
from kapi_sim.language import MAX_PRIVATE_BYTES, KernelOptions
from kapi_sim.language.source import SourceLocation
from kapi_types import AtomicRefType, SubGroupType
from kapi_types.kernel_typing import (
    ArgumentPath,
    KernelCompiler,
    KernelTypingContext,
    ProblemsFound,
    axes_from_end,
    definitions_of,
    describe_problems,
    float_introductions,
    kernel_flags,
    problems_of_form,
    problems_of_source,
    reported_problems,
    typed_ir_text,
    written_arrays,
)

__all__ = ["LoweredFunction", "lower_function"]

"""Environment variable that, set to 1, keeps what Numba says of a problem as the cause of its exception."""

T = TypeVar("T")


class LoweredFunction:
    """One function in LLVM IR, with all that it calls.

    - `library`: its LLVM modules.
    - `fndesc`: its name and types in them.
    - `typed_ir`: numba's IR of the function itself, with the type of each variable.
    - `lacking`: for "float64" and "float16", where the target lacks them, the source locations that may have brought
      them in.
    - `writes`: the arguments, or members of tuples, that it may write to.
    - `notes`: what was warned of, once all is lowered.
    - `uses_sub_groups`: whether it, or what it calls, asks for its sub-group.
    """

    def __init__(
        self,
        context: KernelTargetContext,
        state: Any,
        lacking: dict[str, list[KernelProblem]],
        writes: frozenset[ArgumentPath],
        uses_sub_groups: bool,
    ) -> None:
        self.context = context
        self.uses_sub_groups = uses_sub_groups
        self.lacking = lacking
        self.notes: tuple[str, ...] = ()
        self.writes = writes
        self.library: KernelLibrary = state.library
        self.fndesc, self.return_type = state.cr.fndesc, state.return_type
        self.typed_ir = typed_ir_text(state)

    @property
    def modules(self) -> tuple[str, ...]:
        """LLVM IR text, callees before callers."""
        return self.library.modules

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures of the function, while its compilation is the current one."""
        return self.context.failures.failures


def lower_function(
    function: FunctionType,
    args: tuple[types.Type, ...],
    returns: types.Type | None,
    target: Target,
    options: KernelOptions,
    finish: Callable[[LoweredFunction], T],
) -> tuple[LoweredFunction, T]:
    """Lower a function for argument types; the caller holds Numba's compiler lock.

    - `function`: the Python function.
    - `args`: a type for each parameter.
    - `returns`: what it must return; left out, what it does.
    - `target`, `options`: what is compiled for, and how.
    - `finish`: adds the module's entry point; its result is handed on.

    Raises `KernelCompilationError`: with every problem of the function, and of what it calls; `LimitError` if its
    private arrays, and those of what it calls, are too large in all.
    """
    typing_context, context = _contexts(target.data_layout)

    def compile_device_function(callee: FunctionType, callee_args: tuple[types.Type, ...]) -> types.Type:
        with context.lowering_device_function():
            state = _compile(callee, callee_args)
        context.register_device_function(callee, callee_args, state.cr.fndesc, state.library)
        registered.append((callee, callee_args))
        return state.return_type

    def _compile(python_function: FunctionType, types_: tuple[types.Type, ...], returns: Any = None) -> Any:
        compiler = _LoweringCompiler(
            typing_context, context, None, types_, returns, kernel_flags(), {}, debug=options.debug
        )
        if unfit := problems_of_form(python_function, is_kernel=returns is not None):
            raise ProblemsFound(unfit)
        try:
            compiler.compile_extra(python_function)
        except KernelCompilationError:
            raise
        except ProblemsFound as found:
            raise ProblemsFound(reported_problems(python_function, found.problems)) from found.__cause__
        except Exception as error:
            if isinstance(error.__context__, ProblemsFound):  # raised in lowering, and wrapped by Numba
                raise error.__context__ from error
            # Whatever Numba does not expect in a kernel, its author gets a source location and a reason.
            raise ProblemsFound(problems_of_source(python_function, error)) from error
        for capability, bits in lacking_widths.items():
            lacking[capability] += float_introductions(compiler.state, bits)
        writes[python_function, types_] = written_arrays(compiler.state, lambda *called: writes[called])
        where = "" if python_function is function else f"in `{python_function.__name__}`: "
        mixed_types.extend((where + text, *location) for text, *location in compiler.state["kapi_mixed_types"])
        sub_groups.extend(each for each in compiler.state.typemap.values() if isinstance(each, SubGroupType))
        return compiler.state

    lacking_widths = {"float64": 64} if not target.has_fp64 else {}
    lacking_widths |= {"float16": 16} if not target.has_fp16 else {}
    lacking: dict[str, list[KernelProblem]] = {capability: [] for capability in lacking_widths}
    registered: list[tuple[FunctionType, tuple[types.Type, ...]]] = []
    sub_groups: list[SubGroupType] = []
    mixed_types: list[tuple[str, str, int]] = []
    writes: dict[tuple[FunctionType, tuple[types.Type, ...]], frozenset[ArgumentPath]] = {}
    try:
        with typing_context.compiling(compile_device_function, function), context.compiling(target, options):
            state = _compile(function, args, returns)
            lowered = LoweredFunction(context, state, lacking, writes[function, args], bool(sub_groups))
            _require_private_memory(function, context.private_memory)
            finished = finish(lowered)
    except ProblemsFound as found:
        kind = "kernel" if returns is not None else "function"
        location = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        error = KernelCompilationError(
            f"{kind} {function.__name__} ({location}) cannot be compiled:\n{describe_problems(found.problems)}",
            problems=found.problems,
        )
        # Numba's pages about templates help those who look for a fault of kapi, and nobody else.
        raise error from (found if environment_variables.SHOW_NUMBA_ERRORS.is_on else None)
    finally:
        for key in registered:
            context.remove_user_function(key)
    lowered.notes = tuple(text for text, _, _ in mixed_types)
    for text, filename, line in mixed_types:
        warnings.warn_explicit(text, MixedTypesWarning, filename, line)
    return lowered, finished


def _require_private_memory(function: FunctionType, arrays: list[tuple[int, SourceLocation]]) -> None:
    """Raise if a work-item would have more private memory than kernels may: drivers compile for minutes, or crash."""
    if (total := sum(nbytes for nbytes, _ in arrays)) > MAX_PRIVATE_BYTES:
        locations = "".join(f"\n  {each.filename}:{each.line}: {nbytes} bytes" for nbytes, each in arrays)
        raise LimitError(
            f"private arrays of kernel `{function.__name__}` must have at most {MAX_PRIVATE_BYTES} bytes in all for a "
            f"work-item, got {total}; make them smaller, or pass an array that has a row for each work-item{locations}",
            code="private-memory-too-large",
        )


@lru_cache(maxsize=4)
def _contexts(data_layout: str) -> tuple[KernelTypingContext, KernelTargetContext]:
    typing_context = KernelTypingContext()
    return typing_context, KernelTargetContext(typing_context, data_layout)


class _LoweringCompiler(KernelCompiler):
    """The kernel front end, followed by Numba's lowering into kapi's target context."""

    def add_lowering(self, passes: Any) -> None:
        """Add the lowering to LLVM IR."""
        passes.add_pass(_KernelLowering, "LLVM IR")


class _KernelLower(Lower):
    """Gives the target context the source location of each statement, for failures there, and the code its line."""

    _lines: FunctionLines | None = None

    def __init__(self, context: Any, library: Any, fndesc: Any, func_ir: Any, metadata: Any = None) -> None:
        # Numba would import the function's module for them, and wait for the thread that imports it now.
        fndesc.global_dict = func_ir.func_id.func.__globals__
        super().__init__(context, library, fndesc, func_ir, metadata=metadata)

    def lower_function_body(self) -> Any:
        """Lower all statements."""
        self._definitions = definitions_of(self.func_ir)
        first = self.func_ir.loc
        name = self.func_ir.func_id.func_name
        self._lines = function_lines(self.context, self.builder.function, name, first.filename, first.line)
        return super().lower_function_body()

    def lower_inst(self, inst: Any) -> None:
        """Lower one statement."""
        self.context.location = SourceLocation(self.loc.filename, self.loc.line)
        self.context.subject = _subject(inst)
        self.context.axes_from_end = self._axes_from_end(inst)
        if self._lines is not None:
            self.builder.debug_metadata = self._lines.at(self.loc.line)
        super().lower_inst(inst)

    def _axes_from_end(self, statement: Any) -> frozenset[int]:
        """The axes along which a statement has a constant negative index of an array."""
        done = statement.value if isinstance(statement, numba_ir.Assign) else statement
        kind = getattr(done, "op", None)
        if isinstance(done, numba_ir.StaticSetItem) or kind == "static_getitem":
            index = done.index_var
        elif isinstance(done, numba_ir.SetItem) or kind == "getitem":
            index = done.index
        elif kind == "call" and self._takes_index(statement):
            index = dict(done.kws).get("index", done.args[1] if len(done.args) > 1 else None)
        else:
            return frozenset()
        return axes_from_end(self._definitions, index)

    def _takes_index(self, statement: Any) -> bool:
        """Whether a call has an index as its second argument: an AtomicRef, and vectors loaded and stored."""
        called = getattr(self.typeof(statement.value.func.name), "row", None)
        is_of_vector = called is not None and called.key in ("Vec.load", "Vec.store")
        return is_of_vector or isinstance(self.typeof(statement.target.name), AtomicRefType)


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """Lowering of typed IR to LLVM IR."""

    _name = "kapi_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """Lowers one function."""
        return _KernelLower


def _subject(statement: Any) -> str:
    """The variable that a statement indexes or passes first, if its author has named one."""
    variable: Any = None
    if isinstance(statement, (numba_ir.SetItem, numba_ir.StaticSetItem)):
        variable = statement.target
    elif isinstance(statement, numba_ir.Assign) and isinstance(statement.value, numba_ir.Expr):
        expression = statement.value
        if expression.op in ("getitem", "static_getitem"):
            variable = expression.value
        elif expression.op == "call" and expression.args:
            variable = expression.args[0]
    name = getattr(variable, "unversioned_name", "")
    return "" if name.startswith("$") else name
