"""Type inference over weak and strong types, every problem reported at once.

Numba's type variables only widen. A variable that starts weak and becomes strong can therefore leave a wider type in a
variable computed from it before: in a loop, `t = s * i16[i]` is float64 while `s = 0.0` has no other type,
and float32 once `s = f32[i]` is seen. So inference is repeated, with the types that such variables turned out to have
assumed from the start, until what is assigned to each is what was assumed of it.

By Numba's rules for integers, types do not only widen: uint64 and a signed integer give int64. There a variable has the
latest type of what is assigned to it, not that of all it had on the way.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import Counter
from typing import Any

from kapi_sim.errors import KernelProblem
from kapi_sim.language.unsupported_syntax import INSTEAD_OF_OPERATORS
from kapi_types._numba_compat import FunctionPass, errors, ir, register_pass, typeinfer, types
from kapi_types.kernel_typing.context import KernelTypingContext
from kapi_types.kernel_typing.passes.constant_checks import constant_problems
from kapi_types.kernel_typing.passes.constant_propagation import is_negative_literal
from kapi_types.kernel_typing.passes.name_resolution import Unknown
from kapi_types.kernel_typing.passes.private_lifetimes import private_array_problems
from kapi_types.kernel_typing.problems.problems import (
    CONSEQUENCE,
    KernelTypeProblem,
    ProblemsFound,
    first_words,
    problem_at,
    spell_type,
)
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, INPLACE, UNARY, negative_power
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.vectors import element_of
from kapi_types.weak import is_weak

__all__ = ["InferTypes"]

_LACKING = {
    "is_": "is", "is_not": "is not", "delitem": "del", "matmul": "@", "imatmul": "@",
}  # fmt: skip
_OTHER_OPERATORS = (operator.not_, operator.getitem, operator.setitem, operator.contains)
_MOST_REPLACEMENTS = 32  # of a variable's type; beyond, it only widens, which comes to an end
_FREE_ROUNDS = 8  # no kernel seen needed more than three; afterwards assumptions only widen, which comes to an end


@register_pass(mutates_CFG=True, analysis_only=False)
class InferTypes(FunctionPass):
    """Finds the type of every variable, or raises `ProblemsFound` with all that prevents it."""

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
        problems = inferred.problems + constant_problems(state) + private_array_problems(state)
        if problems:
            raise ProblemsFound(problems)
        return True

    @staticmethod
    def _infer(
        state: Any, assumed: dict[str, types.Type], problems: list[KernelProblem]
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
                    raise ProblemsFound(problem for problem in problems if problem.text != CONSEQUENCE.text)
                if found:
                    raise found[0]
                typemap, return_type, calltypes = infer.unify(raise_errors=True)
            except (errors.NumbaError, ValueError) as error:
                own = problems or _own_problems(error)
                loc = getattr(error, "loc", None) or state.func_ir.loc
                said = error.finding if isinstance(error, KernelTypeProblem) else first_words(error)
                raise ProblemsFound(own or [problem_at(loc, *said)]) from None
        return _Inferred(typemap, return_type, calltypes, infer.problems), infer.settled(typemap)


class _Inferred:
    def __init__(self, typemap: Any, return_type: types.Type, calltypes: Any, problems: list[KernelProblem]) -> None:
        self.typemap, self.return_type, self.calltypes, self.problems = typemap, return_type, calltypes, problems


class _Constraints(typeinfer.ConstraintNetwork):
    """Numba's constraint network, whose errors keep what caused them."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[int, Any] = {}  # of functions with problems of their own, by source location

    def propagate(self, typeinfer: Any) -> list[Any]:
        found = []
        for location, constraint in enumerate(self.constraints):
            if location in self._calls:
                found.append(self._calls[location])
                continue
            try:
                constraint(typeinfer)
            except (errors.TypingError, ProblemsFound) as error:
                located = errors.TypingError(str(error), loc=constraint.loc, highlighting=False)
                located.__cause__ = error
                found.append(located)
                if isinstance(error, ProblemsFound):
                    self._calls[location] = located
        return found


class _AssumingInferer(typeinfer.TypeInferer):
    """Numba's type inference, in which some variables have an assumed type, whatever is assigned to them.

    The types assigned to them are collected apart from it; the last type from each source counts.
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
        self.problems: list[KernelProblem] = []
        self.constraints = _Constraints()
        self._assumed = assumed
        self._assigned: dict[str, dict[str | None, types.Type]] = {name: {} for name in assumed}
        self._first_types: dict[str, types.Type] = {}
        self._replacements: Counter[str] = Counter()
        self._signatures: dict[Any, Any] = {}  # of calls, each of which is resolved again in every round

    def assume(self, loc: Any) -> None:
        """Give the assumed types to their variables."""
        for name, type_ in self._assumed.items():
            super().add_type(name, type_, loc)

    def settled(self, typemap: dict[str, types.Type]) -> dict[str, types.Type]:
        """The type of each variable that began weak and turned strong, from what is assigned to it."""
        settled = {name: typemap[name] for name, first in self._first_types.items() if is_weak(element_of(first))}
        for name, sources in self._assigned.items():
            if sources:
                settled[name] = functools.reduce(self.context.unify_pairs, sources.values())
        return {name: type_ for name, type_ in settled.items() if not is_weak(element_of(type_))}

    def get_return_type(self, typemap: dict[str, types.Type]) -> types.Type:
        """The type given for a kernel, which may return nothing else; else the one that all returns have."""
        if self._returns is not None:
            self.problems = self._returned_values(typemap)
            return self._returns
        try:
            return super().get_return_type(typemap)
        except KernelTypeProblem as problem:
            code, text = problem.finding
            said = text.replace("a variable must have", "a function must return")
            raise KernelTypeProblem("return-types" if said != text else code, said) from None

    def _returned_values(self, typemap: dict[str, types.Type]) -> list[KernelProblem]:
        returns = [block.terminator for block in self.blocks.values() if isinstance(block.terminator, ir.Return)]
        found = [(each.loc, typemap[self._before_cast(each.value).name]) for each in returns]
        return [
            problem_at(
                loc, "return-value", f"a kernel cannot return a value, got {spell_type(type_)}: write it to an array"
            )
            for loc, type_ in found
            if not isinstance(type_, types.NoneType)
        ]

    def _before_cast(self, returned: Any) -> Any:
        """The variable that a return statement names; Numba returns a copy cast to what the function returns."""
        definitions = self.func_ir._definitions[returned.name]
        is_cast = len(definitions) == 1 and getattr(definitions[0], "op", None) == "cast"
        return definitions[0].value if is_cast else returned

    def resolve_value_type(self, inst: Any, val: Any) -> types.Type:
        if isinstance(val, Unknown):
            return types.undefined
        if inst is None and val not in (*BINARY, *UNARY, *COMPARISONS, *INPLACE, *_OTHER_OPERATORS):
            sign = _LACKING.get(val.__name__, val.__name__)
            hint = f"; write {INSTEAD_OF_OPERATORS[sign]}" if sign in INSTEAD_OF_OPERATORS else ""
            raise KernelTypeProblem("operator-unknown", f"kernels do not have operator {sign}{hint}")
        return super().resolve_value_type(inst, val)

    def resolve_call(self, fnty: types.Type, pos_args: Any, kw_args: dict[str, types.Type]) -> Any:
        call = (fnty, tuple(pos_args), tuple(kw_args.items()))
        found = self._signatures.get(call)
        if found is None:
            found = self._signatures[call] = super().resolve_call(fnty, pos_args, kw_args)
        return found

    def typeof_intrinsic_call(self, inst: Any, target: Any, func: Any, *args: Any) -> None:
        if func in (operator.pow, operator.ipow) and is_negative_literal(self.func_ir, args[1]):
            func = negative_power
        super().typeof_intrinsic_call(inst, target, func, *args)

    def add_type(self, var: str, tp: types.Type, loc: Any, unless_locked: bool = False) -> None:
        if var in self._assumed:
            self._assigned[var][None] = tp
            return
        if not self._replace(var, tp):
            super().add_type(var, tp, loc, unless_locked=unless_locked)
        self._first_types.setdefault(var, tp)

    def _replace(self, var: str, tp: types.Type) -> bool:
        """Let a variable have a type in place of an earlier one, where types may narrow; whether that is so."""
        known = self.typevars[var]
        if not self.context.has_numba_integers or known.locked or not (is_scalar(tp) and is_scalar(known.type)):
            return False
        if tp != known.type:
            self._replacements[var] += 1
        if self._replacements[var] > _MOST_REPLACEMENTS:
            return False
        known.type = tp
        return True

    def copy_type(self, src_var: str, dest_var: str, loc: Any) -> None:
        source = self.typevars[src_var]
        if dest_var in self._assumed:
            if source.defined:
                self._assigned[dest_var][src_var] = source.getone()
            return
        if source.defined:
            self._first_types.setdefault(dest_var, source.getone())
            latest = self._latest(dest_var, source.getone())
            if latest is not None and self._replace(dest_var, latest):
                return
        super().copy_type(src_var, dest_var, loc)

    def _latest(self, var: str, tp: types.Type) -> types.Type | None:
        """The type of a variable that is given one of this type, from what all that it may be given has now."""
        definitions: list[Any] = self.func_ir._definitions.get(var, [])
        if len(definitions) != 1:
            return None
        (definition,) = definitions
        if getattr(definition, "op", None) != "phi":
            return tp
        given = [self.typevars[each.name].type for each in definition.incoming_values if each is not ir.UNDEFINED]
        known = [each for each in given if each is not None]
        return functools.reduce(self.context.unify_pairs, known) if all(map(is_scalar, known)) else None


def _own_problems(error: BaseException) -> list[KernelProblem]:
    """The problems in the author's words that an error of Numba's wraps; none if it has only Numba's."""
    loc = getattr(error, "loc", None)
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KernelTypeProblem) and loc is not None:
            return [problem_at(loc, *cause.finding)]
        if isinstance(cause, ProblemsFound):
            return list(cause.problems)
        cause = cause.__cause__
    return []
