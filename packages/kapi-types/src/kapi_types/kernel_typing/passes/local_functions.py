"""Local functions and lambdas, inlined where they are called."""

from __future__ import annotations

import inspect
from collections.abc import Collection
from types import CodeType
from typing import Any

from kapi_sim.errors import KernelProblem
from kapi_sim.language.local_functions import FUNCTION_PASSED
from kapi_sim.language.unsupported_syntax import PARAMETERS_OF_LOCAL
from kapi_types._numba_compat import InlineClosureLikes, ir, register_pass
from kapi_types.kernel_typing.problems.problems import ProblemsFound, problem_at

__all__ = ["InlineLocalFunctions"]

_STARRED = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineLocalFunctions(InlineClosureLikes):
    """Numba's pass, for functions that have a local one.

    The pass imports Numba's arrays, lists and texts with all that they can do, 150 ms of the first kernel of a process,
    and knows loops over lists, which kernels do not have. It loses arguments given by name, which are therefore put
    in their places before.
    """

    _name = "kapi_inline_local_functions"

    def run_pass(self, state: Any) -> bool:
        """Inline, if there is something to inline."""
        blocks = state.func_ir.blocks.values()
        if not any(True for block in blocks for _ in block.find_exprs(op="make_function")):
            return False
        _drop_uncalled(blocks)
        problems: list[KernelProblem] = []
        for block in blocks:
            for statement in list(block.find_insts(ir.Assign)):
                if getattr(statement.value, "op", None) == "call":
                    made = _made_function(state.func_ir, statement.value.func)
                    if made is None and _is_one_of_several(state.func_ir, statement.value.func):
                        problems.append(problem_at(statement.loc, *FUNCTION_PASSED))
                    if made is not None:
                        problems += _settle_call(state.func_ir, block, statement, made)
        if problems:
            raise ProblemsFound(problems)
        return bool(super().run_pass(state))


def _drop_uncalled(blocks: Collection[Any]) -> None:
    """Take out local functions that are never called, with the names that they have."""
    assigned = [each for block in blocks for each in block.find_insts(ir.Assign)]
    made = {each.target.name for each in assigned if getattr(each.value, "op", None) == "make_function"}
    made |= {each.target.name for each in assigned if isinstance(each.value, ir.Var) and each.value.name in made}
    made |= {
        each.target.name
        for each in assigned
        if isinstance(each.value, ir.Const) and isinstance(each.value.value, CodeType)
    }
    while made:
        used = {
            variable.name
            for block in blocks
            for each in block.body
            if not isinstance(each, ir.Del)
            for variable in _read(each.value if isinstance(each, ir.Assign) else each)
        }
        unused = made - used
        if not unused:
            return
        made -= unused
        for block in blocks:
            block.body = [
                each
                for each in block.body
                if not (isinstance(each, ir.Assign) and each.target.name in unused)
                and not (isinstance(each, ir.Del) and each.value in unused)
            ]


def _read(part: Any) -> list[Any]:
    """The variables that a statement, or the value of an assignment, reads."""
    if isinstance(part, ir.Var):
        return [part]
    return list(part.list_vars()) if hasattr(part, "list_vars") else []  # constants and arguments have none


def _made_function(func_ir: Any, variable: Any) -> Any:
    try:
        definition = func_ir.get_definition(variable)
    except KeyError:
        return None
    return definition if getattr(definition, "op", None) == "make_function" else None


def _is_one_of_several(func_ir: Any, variable: Any) -> bool:
    """Whether the control-flow path decides which local function is called."""
    names, seen = [variable.name], set[str]()
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for definition in func_ir._definitions.get(name, ()):
            if isinstance(definition, ir.Var):
                names.append(definition.name)
            elif getattr(definition, "op", None) == "phi":
                names += [each.name for each in definition.incoming_values if isinstance(each, ir.Var)]
            elif getattr(definition, "op", None) == "make_function":
                return True
    return False


def _settle_call(func_ir: Any, block: Any, statement: Any, made: Any) -> list[KernelProblem]:
    """Put the arguments of a call in the order of the parameters, or say what is wrong with them."""
    call, code = statement.value, made.code
    if code.co_flags & _STARRED or code.co_kwonlyargcount:
        return [problem_at(made.loc, *PARAMETERS_OF_LOCAL)]
    name = code.co_name
    if name.endswith(("comp>", "expr>")):  # of a comprehension, which is refused elsewhere
        return []
    if call.vararg is not None:
        text = f"{name}(), a local function, must be given its arguments one by one, got *"
        return [problem_at(call.loc, "local-function-call", text)]
    defaults = _defaults(func_ir, made)
    names = code.co_varnames[: code.co_argcount]
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    first_default = len(names) - len(defaults)
    parameters = inspect.Signature(
        [
            inspect.Parameter(
                each, kind, default=empty if location < first_default else defaults[location - first_default]
            )
            for location, each in enumerate(names)
        ]
    )
    try:
        bound = parameters.bind(*call.args, **dict(call.kws))
    except TypeError as error:
        return [problem_at(call.loc, "call-arguments", f"{name}(): {error}")]
    bound.apply_defaults()
    call.args = [_variable(func_ir, block, statement, each) for each in bound.arguments.values()]
    call.kws = ()
    return []


def _defaults(func_ir: Any, made: Any) -> tuple[Any, ...]:
    """The defaults of a local function: variables of the kernel, or constants."""
    defaults = made.defaults
    if isinstance(defaults, ir.Var):
        definition = func_ir.get_definition(defaults)
        defaults = definition.items if isinstance(definition, ir.Expr) else definition.value
    return tuple(defaults or ())


def _variable(func_ir: Any, block: Any, statement: Any, value: Any) -> Any:
    """A variable that holds an argument, assigned before the call if the argument is a constant."""
    if isinstance(value, ir.Var):
        return value
    loc = statement.loc
    variable = block.scope.redefine("$kapi_default", loc)
    assignment = ir.Assign(ir.Const(value, loc, use_literal_type=False), variable, loc)
    block.body.insert(block.body.index(statement), assignment)
    func_ir._definitions[variable.name].append(assignment.value)
    return variable
