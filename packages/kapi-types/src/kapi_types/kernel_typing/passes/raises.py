"""`raise` and `assert` in a kernel: compiled in debug mode; otherwise asserts are assumed, and a raise is refused.

An exception in a kernel has a class of Python's own and constant arguments: the launch raises it, on the host, and only
its number comes back from the device.
"""

from __future__ import annotations

from typing import Any, TypeGuard

from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.language.exceptions import RAISABLE, made_exception
from kapi_types._numba_compat import ConstantInferenceError, FunctionPass, errors, ir, register_pass
from kapi_types.kernel_typing.problems.held_values import held_value
from kapi_types.kernel_typing.problems.problems import problem_at

__all__ = ["SettleRaises"]

_ONLY_IN_DEBUG = Finding(
    "raise-without-debug",
    "a kernel raises in debug mode only: write @kernel(debug=True), or `return` to end the work-item",
)
_NOT_CONSTANT = Finding(
    "raise-value",
    "an exception in a kernel must have constant arguments, got a value of the run: write a constant string",
)


@register_pass(mutates_CFG=True, analysis_only=False)
class SettleRaises(FunctionPass):
    """Makes each `raise` one of a class and constant arguments, and takes asserts out unless `state["kapi_debug"]`."""

    _name = "kapi_settle_raises"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        problems: list[KernelProblem] = []
        func_ir = state.func_ir
        if not state["kapi_debug"]:
            _take_out_asserts(func_ir)
        for block in func_ir.blocks.values():
            statement = block.terminator
            if not isinstance(statement, ir.Raise):
                continue
            class_, args, problem = _raised(func_ir, statement)
            if not state["kapi_debug"]:
                problem = _ONLY_IN_DEBUG
            if problem:
                problems.append(problem_at(statement.loc, *problem))
            _drop_exception(block)
            block.body[-1] = ir.StaticRaise(class_, args, statement.loc)
        state["kapi_problems"] += problems
        return True


def _raised(func_ir: Any, statement: Any) -> tuple[type[BaseException], tuple[Any, ...] | None, Finding | None]:
    """The class and arguments of the exception, and the problem with them."""
    if statement.exception is None:
        said = "a kernel cannot raise without an exception: name one"
        return RuntimeError, None, Finding("raise-class", said)
    class_ = _class_of(func_ir, statement.exception)
    if class_ is None:
        said = "a kernel must raise `Class` or `Class(text)`, with the exception class by its name"
        return RuntimeError, None, Finding("raise-class", said)
    if class_ not in RAISABLE.values():
        why = ", which ends the program or needs objects" if class_.__module__ == "builtins" else ""
        problem = f"a kernel can raise Python's own exceptions only, got {class_.__name__}{why}"
        return RuntimeError, None, Finding("raise-class", problem)
    try:
        constant = func_ir.infer_constant(statement.exception)
    except (ConstantInferenceError, errors.NumbaError):
        return class_, None, _NOT_CONSTANT
    args = tuple(constant[1]) if isinstance(constant, tuple) else None
    if any(not isinstance(each, (str, int, float, bool, type(None))) for each in args or ()):
        return class_, None, _NOT_CONSTANT
    try:
        made_exception(class_.__name__, args or ())
    except ValueError as error:
        said = f"an exception in a kernel must have arguments that suit its class: {error}"
        return class_, None, Finding("raise-value", said)
    return class_, args, None


def _class_of(func_ir: Any, variable: Any) -> type[BaseException] | None:
    """The exception class that a variable holds, or is made by a call of."""
    value: Any = variable
    found: Any
    for _ in range(8):  # copies of copies
        if isinstance(value, ir.Var):
            try:
                value = func_ir.get_definition(value)
            except KeyError:
                return None
        elif isinstance(value, ir.Expr) and value.op == "call":
            value = value.func
        elif isinstance(value, ir.Expr) and value.op == "getattr":
            module = held_value(func_ir, value.value)
            found = getattr(module, value.attr, None)
            return found if _is_exception(found) else None
        else:
            found = value.value if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)) else None
            return found if _is_exception(found) else None
    return None


def _is_exception(value: Any) -> TypeGuard[type[BaseException]]:
    return isinstance(value, type) and issubclass(value, BaseException)


def _take_out_asserts(func_ir: Any) -> None:
    """Remove the failure paths of asserts: branches to them become jumps to their other target."""
    blocks = func_ir.blocks
    for key in list(blocks):
        position = _assert_position(blocks[key])
        if position is None:
            continue
        branches = [block for block in blocks.values() if key in block.terminator.get_targets()]
        if position == 0 and branches and all(_other_target(block, key) is not None for block in branches):
            for block in branches:
                block.body[-1] = ir.Jump(_other_target(block, key), block.terminator.loc)
        else:
            # No condition leads there (`assert False`): the work-item ends.
            _return_at(blocks[key], position)
    _drop_unreachable(blocks)


def _assert_position(block: Any) -> int | None:
    """The index in a block at which the failure of an assert begins: Python's bytecode names its exception."""
    for position, statement in enumerate(block.body):
        if isinstance(statement, ir.Assign) and statement.target.name.startswith("$assertion_error"):
            return position
    return None


def _other_target(block: Any, key: Any) -> Any:
    """The other target of a block's branch to `key`; None if it has none."""
    last = block.terminator
    if not isinstance(last, ir.Branch) or last.truebr == last.falsebr:
        return None
    return last.falsebr if last.truebr == key else last.truebr


def _return_at(block: Any, position: int) -> None:
    """End a block with a return at `position`."""
    loc = block.body[position].loc
    constant = block.scope.redefine("$kapi_none", loc)
    value = block.scope.redefine("$kapi_returned", loc)
    block.body[position:] = [
        ir.Assign(ir.Const(None, loc), constant, loc),
        ir.Assign(ir.Expr.cast(constant, loc), value, loc),
        ir.Return(value, loc),
    ]


def _drop_unreachable(blocks: dict[Any, Any]) -> None:
    reached, pending = set(), [min(blocks)]
    while pending:
        key = pending.pop()
        if key not in reached:
            reached.add(key)
            pending += blocks[key].terminator.get_targets()
    for key in set(blocks) - reached:
        del blocks[key]


def _drop_exception(block: Any) -> None:
    """Remove the temporaries that compute a block's exception; nothing else uses them."""
    wanted = {each.name for each in block.terminator.list_vars()}
    kept: list[Any] = []
    for statement in reversed(block.body[:-1]):
        if isinstance(statement, ir.Assign):
            name = statement.target.name
            if name in wanted and name.startswith("$"):
                wanted |= {each.name for each in statement.list_vars()} - {name}
                continue
        kept.append(statement)
    block.body[:-1] = list(reversed(kept))
