"""Type inference over weak and strong types, every problem reported at once.

Numba's type variables only widen. A variable that starts weak and turns strong can therefore leave a wider type in a
variable computed from it before the turn: in a loop, `t = s * i16[i]` is float64 while `s = 0.0` has no other type,
and float32 once `s = f32[i]` is seen. So inference is repeated, with the types that such variables turned out to have
assumed from the start, until what is assigned to each is what was assumed of it.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from typing import Any

from kapi_types._numba_compat import FunctionPass, errors, ir, register_pass, typeinfer, types
from kapi_types.kernel_typing.context import KernelTypingContext
from kapi_types.kernel_typing.operators import BINARY, COMPARISONS, IN_PLACE, UNARY
from kapi_types.kernel_typing.problems import (
    CONSEQUENCE,
    KernelTypeProblem,
    Problem,
    ProblemsFound,
    first_words,
    spell_type,
)
from kapi_types.weak import is_weak

__all__ = ["CheckNames", "InferTypes"]

_REFUSED = {
    "build_list": "a list cannot be made in a kernel; use a tuple, LocalAccessor or array argument",
    "build_map": "a dict cannot be made in a kernel",
    "build_set": "a set cannot be made in a kernel",
    "build_string": "a string cannot be made in a kernel",
    "make_function": "a function that is passed around cannot be made in a kernel; call it where it is defined",
}
_LACKING = {
    "is_": "is", "is_not": "is not", "contains": "in", "delitem": "del", "matmul": "@", "imatmul": "@=",
}  # fmt: skip
_OTHER_OPERATORS = (operator.not_, operator.getitem, operator.setitem)
_NO_TRY = "a kernel cannot use try: nothing in it raises"
_TRY_MARKS = ("mark_try_block", "end_try_block", "exception_check", "exception_match")
_RAISES = (ir.Raise, ir.StaticRaise, ir.DynamicRaise, ir.TryRaise, ir.StaticTryRaise, ir.DynamicTryRaise)
_FREE_ROUNDS = 8  # no kernel seen needed more than three; afterwards assumptions only widen, which comes to an end


@register_pass(mutates_CFG=False, analysis_only=False)
class CheckNames(FunctionPass):
    """Turns number globals into constants of the kernel's own types, and collects what has no type at all."""

    _name = "kapi_check_names"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        problems: list[Problem] = []
        whole: list[Problem] = []
        for block in state.func_ir.blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.Assign):
                    self._check(state, statement, problems)
                elif isinstance(statement, ir.Print):
                    whole.append(_problem(statement.loc, "print() works in the simulator only"))
                elif isinstance(statement, _RAISES):
                    whole.append(_problem(statement.loc, "a kernel cannot raise: nothing could catch it"))
        # What such a line holds, texts above all, is no mistake of its own.
        lines = {problem.line for problem in whole}
        problems = whole + [problem for problem in problems if problem.line not in lines]
        if any(problem.text == _NO_TRY for problem in problems):
            # Of a try block only the first line is the author's; the rest is how Numba spells it.
            problems = [min((each for each in problems if each.text == _NO_TRY), key=lambda each: each.line)]
            raise ProblemsFound(problems)
        state["kapi_problems"] = problems
        return True

    def _check(self, state: Any, statement: Any, problems: list[Problem]) -> None:
        value = statement.value
        if isinstance(value, ir.Const):
            # Literal types would bypass the typing context, and with it the weak types.
            value.use_literal_type = False
            if type(value.value) is int and not -(2**63) <= value.value < 2**64:
                problems.append(_problem(statement.loc, f"constant must fit 64 bits, got {value.value}"))
            self._check_value(state, statement, value.value, f"constant {value.value!r}", problems)
        elif isinstance(value, (ir.Global, ir.FreeVar)):
            if isinstance(value.value, (bool, int, float, complex, tuple)):
                statement.value = ir.Const(value.value, value.loc, use_literal_type=False)
                if type(value.value) is int and not -(2**63) <= value.value < 2**64:
                    problems.append(_problem(statement.loc, f"{value.name} must fit 64 bits, got {value.value}"))
            if value.name in _TRY_MARKS:
                problems.append(_problem(statement.loc, _NO_TRY))
            elif _is_exception(value.value):
                statement.value = ir.Const(_Unknown(), value.loc, use_literal_type=False)
            elif not _is_defined(state, value):
                problems.append(_problem(statement.loc, f"name {value.name!r} is not defined"))
                statement.value = ir.Const(_Unknown(), value.loc, use_literal_type=False)
            else:
                self._check_value(state, statement, value.value, f"{value.name}", problems)
        elif isinstance(value, ir.Yield):
            problems.append(_problem(statement.loc, "a kernel cannot yield"))
        elif isinstance(value, ir.Expr):
            if value.op in ("binop", "inplace_binop"):
                value.static_lhs = value.static_rhs = ir.UNDEFINED
            if value.op in _REFUSED:
                problems.append(_problem(statement.loc, _REFUSED[value.op]))

    @staticmethod
    def _check_value(state: Any, statement: Any, value: Any, name: str, problems: list[Problem]) -> None:
        try:
            state.typingctx.resolve_value_type(value)
        except ValueError as error:
            problems.append(_problem(statement.loc, f"{name} {error}"))
            statement.value = ir.Const(_Unknown(), statement.loc, use_literal_type=False)


class _Unknown:
    """A value without a type: what uses it is not looked at, so that one mistake is one problem."""

    def __repr__(self) -> str:
        return "unknown"


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _is_defined(state: Any, value: Any) -> bool:
    if isinstance(value, ir.FreeVar):
        return True
    return value.name in state.func_id.func.__globals__ or hasattr(builtins, value.name)


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(FunctionPass):
    """Finds the type of every variable, or raises `ProblemsFound` with all that stands in the way."""

    _name = "kapi_infer_types"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        assumed: dict[str, types.Type] = {}
        state["kapi_returns"] = state.return_type
        problems = list(state["kapi_problems"])
        for count in itertools.count():
            inferred, settled = self._infer(state, assumed, problems)
            if count >= _FREE_ROUNDS:
                pairs = ((name, settled.get(name, type_), type_) for name, type_ in assumed.items())
                settled |= {name: state.typingctx.unify_pairs(now, before) for name, now, before in pairs}
            if settled == assumed:
                break
            assumed = settled
        state.typemap = inferred.typemap
        state.calltypes = inferred.calltypes
        state.return_type = inferred.return_type
        state.typing_errors = []
        problems = inferred.problems + _literals_out_of_range(state)
        if problems:
            raise ProblemsFound(problems)
        return True

    @staticmethod
    def _infer(
        state: Any, assumed: dict[str, types.Type], problems: list[Problem]
    ) -> tuple[_Inferred, dict[str, types.Type]]:
        warnings = errors.WarningsFixer(errors.NumbaWarning)
        infer = _AssumingInferer(state.typingctx, state.func_ir, warnings, assumed, state["kapi_returns"])
        frame = state.typingctx.callstack.register(state.targetctx.target, infer, state.func_id, state.args)
        with frame, warnings:
            for index, (name, type_) in enumerate(zip(state.func_ir.arg_names, state.args, strict=True)):
                infer.seed_argument(name, index, type_)
            infer.assume(state.func_ir.loc)
            try:
                infer.build_constraint()
                found = infer.propagate(raise_errors=False) or []
                problems = problems + [problem for error in found for problem in _own_problems(error)]
                if problems:
                    raise ProblemsFound(problem for problem in problems if problem.text != CONSEQUENCE)
                if found:
                    raise found[0]
                typemap, return_type, calltypes = infer.unify(raise_errors=True)
            except (errors.TypingError, ValueError) as error:
                own = problems or _own_problems(error)
                loc = getattr(error, "loc", None) or state.func_ir.loc
                raise ProblemsFound(own or [_problem(loc, first_words(error))]) from None
        return _Inferred(typemap, return_type, calltypes, infer.problems), infer.settled(typemap)


class _Inferred:
    def __init__(self, typemap: Any, return_type: types.Type, calltypes: Any, problems: list[Problem]) -> None:
        self.typemap, self.return_type, self.calltypes, self.problems = typemap, return_type, calltypes, problems


class _Constraints(typeinfer.ConstraintNetwork):
    """Numba's constraint network, whose errors keep what caused them."""

    def propagate(self, typeinfer: Any) -> list[Any]:
        found = []
        for constraint in self.constraints:
            try:
                constraint(typeinfer)
            except errors.TypingError as error:
                located = errors.TypingError(str(error), loc=constraint.loc, highlighting=False)
                located.__cause__ = error
                found.append(located)
        return found


class _AssumingInferer(typeinfer.TypeInferer):
    """Numba's type inference, in which some variables have an assumed type, whatever is assigned to them.

    What is assigned to these is collected beside it, the last type from each source counting.
    """

    def __init__(
        self,
        context: KernelTypingContext,
        func_ir: Any,
        warnings: Any,
        assumed: dict[str, types.Type],
        returns: types.Type | None,
    ) -> None:
        super().__init__(context, func_ir, warnings)
        self._returns = returns
        self.problems: list[Problem] = []
        self.constraints = _Constraints()
        self._assumed = assumed
        self._assigned: dict[str, dict[str | None, types.Type]] = {name: {} for name in assumed}
        self._first_types: dict[str, types.Type] = {}

    def assume(self, loc: Any) -> None:
        """Give the assumed types to their variables."""
        for name, type_ in self._assumed.items():
            super().add_type(name, type_, loc)

    def settled(self, typemap: dict[str, types.Type]) -> dict[str, types.Type]:
        """The type of each variable that began weak and turned strong, from what is assigned to it."""
        settled = {name: typemap[name] for name, first in self._first_types.items() if is_weak(first)}
        for name, sources in self._assigned.items():
            if sources:
                settled[name] = functools.reduce(self.context.unify_pairs, sources.values())
        return {name: type_ for name, type_ in settled.items() if not is_weak(type_)}

    def get_return_type(self, typemap: dict[str, types.Type]) -> types.Type:
        """The type given for a kernel, which may return nothing else; else the one that all returns have."""
        if self._returns is not None:
            self.problems = self._returned_values(typemap)
            return self._returns
        try:
            return super().get_return_type(typemap)
        except KernelTypeProblem as problem:
            raise KernelTypeProblem(problem.text.replace("a variable must have", "a function must return")) from None

    def _returned_values(self, typemap: dict[str, types.Type]) -> list[Problem]:
        returns = [block.terminator for block in self.blocks.values() if isinstance(block.terminator, ir.Return)]
        return [
            _problem(each.loc, f"a kernel cannot return a value, got {spell_type(typemap[each.value.name])}")
            for each in returns
            if not isinstance(typemap[each.value.name], types.NoneType)
        ]

    def resolve_value_type(self, inst: Any, val: Any) -> types.Type:
        if isinstance(val, _Unknown):
            return types.undefined
        if inst is None and val not in (*BINARY, *UNARY, *COMPARISONS, *IN_PLACE, *_OTHER_OPERATORS):
            raise KernelTypeProblem(f"operator {_LACKING.get(val.__name__, val.__name__)} is none that kernels have")
        return super().resolve_value_type(inst, val)

    def add_type(self, var: str, tp: types.Type, loc: Any, unless_locked: bool = False) -> None:
        if var in self._assumed:
            self._assigned[var][None] = tp
            return
        super().add_type(var, tp, loc, unless_locked=unless_locked)
        self._first_types.setdefault(var, tp)

    def copy_type(self, src_var: str, dest_var: str, loc: Any) -> None:
        source = self.typevars[src_var]
        if dest_var in self._assumed:
            if source.defined:
                self._assigned[dest_var][src_var] = source.getone()
            return
        if source.defined:
            self._first_types.setdefault(dest_var, source.getone())
        super().copy_type(src_var, dest_var, loc)


def _problem(loc: Any, text: str) -> Problem:
    return Problem(loc.filename, loc.line, text)


def _own_problems(error: BaseException) -> list[Problem]:
    """The problems in the author's words that an error of Numba's wraps; none if it has only Numba's."""
    loc = getattr(error, "loc", None)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KernelTypeProblem) and loc is not None:
            return [_problem(loc, cause.text)]
        if isinstance(cause, ProblemsFound):
            return list(cause.problems)
        cause = cause.__cause__
    return []


def _literals_out_of_range(state: Any) -> list[Problem]:
    """Constants that do not fit the strong integer they meet: NumPy raises OverflowError for these."""
    constants: dict[str, int] = {}
    for block in state.func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            if isinstance(statement.value, ir.Const) and type(statement.value.value) is int:
                constants[statement.target.name] = statement.value.value
    problems = []
    for expression, signature in state.calltypes.items():
        if getattr(expression, "op", None) not in ("binop", "inplace_binop") or signature is None:
            continue
        operation = IN_PLACE.get(expression.fn, expression.fn)
        if operation in COMPARISONS or operation not in BINARY:
            continue
        for operand, type_ in zip((expression.lhs, expression.rhs), signature.args, strict=True):
            value = constants.get(operand.name)
            if value is None or not isinstance(type_, types.Integer) or is_weak(type_):
                continue
            if not type_.minval <= value <= type_.maxval:
                problems.append(_problem(expression.loc, f"literal must fit {spell_type(type_)}, got {value}"))
    return problems
