"""Checks of the constants of a kernel, once every variable has a type."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from kapi_sim.errors import KernelProblem
from kapi_types._numba_compat import ir, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import KernelApiType
from kapi_types.kernel_typing.library.number_functions import divmod_
from kapi_types.kernel_typing.passes.constant_propagation import constant_of, definitions_of, made_of, members_of
from kapi_types.kernel_typing.problems.problems import problem_at, spell_type
from kapi_types.kernel_typing.rules.arrays import SliceType
from kapi_types.kernel_typing.rules.iteration import RangeType
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, INPLACE, operator_loop
from kapi_types.records import RecordRefType, value_type
from kapi_types.weak import is_weak, weak_int, wide_int

__all__ = ["constant_problems"]


def constant_problems(state: Any) -> list[KernelProblem]:
    """Constants out of range: of a strong integer, an axis, a dimension."""
    definitions = definitions_of(state.func_ir)
    problems: list[KernelProblem] = [*_unpacked_non_tuples(state), *_chosen_out_of_range(definitions, state)]
    for expression, signature in state.calltypes.items():
        if signature is None:
            continue
        kind = getattr(expression, "op", None)
        if kind in ("binop", "inplace_binop"):
            problems += _operands_out_of_range(definitions, expression, signature)
            problems += _wide_with_signed(definitions, expression, signature)
        elif kind == "unary":
            problems += _wide_alone(expression, signature)
        elif kind == "call" and isinstance(signature.recvr, KernelApiType):
            problems += _dimensions_out_of_range(definitions, expression, signature.recvr)
        elif kind == "call" and isinstance(state.typemap.get(expression.func.name), types.NumberClass):
            problems += _cast_out_of_range(definitions, expression, signature.return_type)
        elif kind == "call" and isinstance(signature.return_type, RangeType):
            problems += _steps_of_zero(definitions, expression, "range()")
            problems += _wide_ends(definitions, expression)
        elif kind == "call" and isinstance(signature.return_type, SliceType):
            problems += _steps_of_zero(definitions, expression, "a slice")
        elif kind == "call":
            function = state.typemap.get(expression.func.name)
            problems += _arguments_out_of_range(definitions, function, expression, signature)
            problems += _bounds_beyond(definitions, function, expression, signature)
            problems += _of_members_out_of_range(definitions, function, expression, signature)
            problems += _wide_arguments(definitions, state.typemap, expression, signature)
            problems += _negative_exponents(definitions, function, expression, signature)
            if isinstance(signature.return_type, types.Record) and expression.args:
                problems += _held_out_of_range(definitions, expression, expression.args[0], signature.return_type)
        elif isinstance(expression, (ir.SetAttr, ir.StaticSetItem)) and isinstance(signature.args[0], RecordRefType):
            problems += _stored_out_of_range(definitions, expression, signature.args[-1])
        elif isinstance(expression, (ir.SetItem, ir.StaticSetItem)) or kind in ("getitem", "static_getitem"):
            if isinstance(signature.args[0], ArrayType):
                problems += _stored_out_of_range(definitions, expression, signature.args[0].dtype)
            elif isinstance(signature.args[0], types.BaseTuple):
                problems += _members_out_of_range(definitions, expression, signature.args[0])
        for variable, taken in _taken_as(expression, kind, signature):
            problems += _members_that_do_not_fit(definitions, state.typemap, expression, variable, taken)
    return problems


def _operands_out_of_range(definitions: dict[str, Any], expression: Any, signature: Any) -> Iterator[KernelProblem]:
    """NumPy raises OverflowError for these."""
    operation = INPLACE.get(expression.fn, expression.fn)
    if operation in COMPARISONS or operation not in BINARY:
        return
    left, right = (constant_of(definitions, operand) for operand in (expression.lhs, expression.rhs))
    are_known = left is not None and right is not None and is_weak(signature.return_type)
    if are_known and _leaves_64_bits(operation, left, right, signature.return_type):
        text = f"a constant must fit 64 bits, got {left} {BINARY[operation].__name__} {right}"
        yield problem_at(expression.loc, "integer-too-wide", text)
    for value, type_ in zip((left, right), signature.args, strict=True):
        if value is None or not isinstance(type_, types.Integer) or is_weak(type_):
            continue
        if not type_.minval <= value <= type_.maxval:
            yield problem_at(expression.loc, "number-unfit", f"literal must fit {spell_type(type_)}, got {value}")


def _is_wide(value: int | None) -> bool:
    """Whether a constant is one that a uint64 holds, and no signed integer."""
    return value is not None and value >= 2**63


def _holds_wide(type_: types.Type) -> bool:
    """Whether a number of this type can be combined with such a constant: it is as wide, or no integer."""
    return type_ in (types.uint64, wide_int) if isinstance(type_, (types.Integer, types.Boolean)) else True


def _unfit_wide(statement: Any, value: int | None) -> KernelProblem:
    number = "a literal of 2**63 or more" if value is None else value
    text = f"literal must fit int64 where it meets no uint64, got {number}: write np.uint64({value or '...'})"
    return problem_at(statement.loc, "number-unfit", text)


def _wide_with_signed(definitions: dict[str, Any], expression: Any, signature: Any) -> Iterator[KernelProblem]:
    """`i + 2**63`: weak integers have 64 bits with a sign."""
    if signature.return_type != wide_int:
        return
    known = [constant_of(definitions, operand) for operand in (expression.lhs, expression.rhs)]
    if None in known:
        wide = (value for value, type_ in zip(known, signature.args, strict=True) if _is_wide(value))
        yield _unfit_wide(expression, next(wide, None))


def _wide_alone(expression: Any, signature: Any) -> Iterator[KernelProblem]:
    """`-x`, where `x` is such a constant."""
    if signature.return_type == wide_int and expression.fn is not operator.pos:
        yield _unfit_wide(expression, None)


def _wide_arguments(
    definitions: dict[str, Any], typemap: Any, expression: Any, signature: Any
) -> Iterator[KernelProblem]:
    """The same for functions of numbers: `min(i, 2**63)`, `int(2**64 - 1)`."""
    function = typemap.get(expression.func.name)
    # Python's, the table's, and those that are written in the kernel language here; a user's have parameters of a type.
    names = ("function(", "device_function(kapi_types.")
    is_of_numbers = isinstance(function, types.Function) or str(function).startswith(names)
    is_real = isinstance(signature.return_type, types.Float) and str(function).startswith("function(math.")
    if not is_of_numbers or is_real or isinstance(signature.return_type, types.Boolean):
        return
    known = [(constant_of(definitions, each), typemap[each.name]) for each in expression.args]
    others = [type_ for value, type_ in known if value is None and type_ != wide_int]
    if str(function) == "function(numpy.where)":
        others = others[1:]
    is_unfit = not all(map(_holds_wide, others)) if others else isinstance(signature.return_type, types.Integer)
    for value, type_ in known:
        if type_ == wide_int and is_unfit:
            yield _unfit_wide(expression, value)


def _cast_out_of_range(definitions: dict[str, Any], expression: Any, type_: types.Type) -> Iterator[KernelProblem]:
    """`numpy.int8(300)`, for which NumPy raises OverflowError."""
    value = constant_of(definitions, expression.args[0])
    if value is not None and isinstance(type_, types.Integer) and not type_.minval <= value <= type_.maxval:
        yield problem_at(expression.loc, "number-unfit", f"literal must fit {spell_type(type_)}, got {value}")


def _leaves_64_bits(operation: Any, left: Any, right: Any, type_: Any) -> bool:
    """Whether an operator on two Python ints gives one that its type, of 64 bits, does not hold."""
    if operation in (operator.pow, operator.lshift) and right > 64:
        return abs(left) > 1 or (operation is operator.lshift and left != 0)
    try:
        value = operation(left, right)
    except (ArithmeticError, ValueError):  # by zero, or a shift by less than nothing: the operator's own rules
        return False
    return isinstance(value, int) and isinstance(type_, types.Integer) and not type_.minval <= value <= type_.maxval


def _dimensions_out_of_range(
    definitions: dict[str, Any], expression: Any, receiver: KernelApiType
) -> Iterator[KernelProblem]:
    for variable in (*expression.args, *(each for _name, each in expression.kws)):
        dim = constant_of(definitions, variable)
        if dim is not None and not 0 <= dim < receiver.ndim:
            last = receiver.ndim - 1
            text = f"dim must be from 0 to {last} in a space of {receiver.ndim} dimensions, got {dim}"
            yield problem_at(expression.loc, "dim-out-of-range", text)


def _steps_of_zero(definitions: dict[str, Any], expression: Any, subject: str) -> Iterator[KernelProblem]:
    if len(expression.args) == 3 and constant_of(definitions, expression.args[2]) == 0:
        yield problem_at(expression.loc, "step-of-zero", f"step of {subject} must not be zero")


def _does_not_fit(definitions: dict[str, Any], variable: Any, type_: Any) -> int | None:
    """The number that a variable always holds, if it is to be of a NumPy integer type that does not hold it."""
    value = constant_of(definitions, variable)
    return value if _is_unfit(value, type_) else None


def _is_unfit(value: Any, type_: Any) -> bool:
    """Whether a Python int is to be of a type of integers, strong or without a sign, that does not hold it."""
    if type(value) is not int or not isinstance(type_, types.Integer) or (is_weak(type_) and type_ != wide_int):
        return False
    return not type_.minval <= value <= type_.maxval


def _arguments_out_of_range(
    definitions: dict[str, Any], function: Any, expression: Any, signature: Any
) -> Iterator[KernelProblem]:
    """Arguments that a function converts: `min(uint8_array[i], -1)`, `divmod(uint8_array[i], 300)`."""
    if expression.kws or len(expression.args) != len(signature.args):
        return
    taken = signature.args
    if getattr(function, "function", None) is divmod_ and isinstance(signature.return_type, types.UniTuple):
        taken = tuple(signature.return_type)
    for variable, type_ in zip(expression.args, taken, strict=True):
        value = _does_not_fit(definitions, variable, type_)
        if value is not None:
            yield problem_at(expression.loc, "number-unfit", f"literal must fit {spell_type(type_)}, got {value}")


def _bounds_beyond(
    definitions: dict[str, Any], function: Any, expression: Any, signature: Any
) -> Iterator[KernelProblem]:
    """`np.clip(uint8_array[i], 300, 400)`, which could give nothing but 300."""
    type_ = signature.return_type
    if str(function) != "function(numpy.clip)" or len(expression.args) != 3 or not isinstance(type_, types.Integer):
        return
    low, high = (constant_of(definitions, each) for each in expression.args[1:])
    for value, is_beyond in (
        (low, low is not None and low > type_.maxval),
        (high, high is not None and high < type_.minval),
    ):
        if is_beyond:
            yield problem_at(expression.loc, "number-unfit", f"literal must fit {spell_type(type_)}, got {value}")


def _of_members_out_of_range(
    definitions: dict[str, Any], function: Any, expression: Any, signature: Any
) -> Iterator[KernelProblem]:
    """Members of a tuple that a function converts, or a start: `max((int8_array[i], 300))`, `sum(int8_array, 300)`."""
    called = getattr(function, "typing_key", None)
    if called not in (min, max, sum) or not 1 <= len(expression.args) <= 2 or expression.kws:
        return
    container, type_ = signature.args[0], signature.return_type
    if called is sum and isinstance(container, ArrayType):
        members: list[Any] = [None]
        kinds = [container.dtype]
    elif isinstance(container, types.BaseTuple):
        members, kinds = members_of(definitions, expression.args[0]), list(container.types)
    else:
        return
    values = [constant_of(definitions, each) for each in members]
    if called is sum:
        start = (
            (0, weak_int)
            if len(expression.args) == 1
            else (constant_of(definitions, expression.args[1]), signature.args[1])
        )
        found = list(_unfit_in_sum(start, list(zip(values, kinds, strict=False))))
    else:
        found = [(value, type_) for value in values if value is not None and _is_unfit(value, type_)]
    for number, wanted in found:
        yield problem_at(expression.loc, "number-unfit", f"literal must fit {spell_type(wanted)}, got {number}")
    if called is not sum and type_ == wide_int and None in values:
        yield _unfit_wide(expression, None)


def _unfit_in_sum(start: tuple[Any, Any], members: list[tuple[Any, Any]]) -> Iterator[tuple[int, Any]]:
    """The numbers of a sum that do not fit the type of what they are added to, each with that type."""
    total, type_ = start
    for value, kind in members:
        loop = operator_loop(operator.add, (type_, kind))
        if loop is None:
            return
        yield from ((number, loop.result) for number in (total, value) if _is_unfit(number, loop.result))
        are_known = type(total) is int and type(value) is int and is_weak(loop.result)
        total, type_ = total + value if are_known else None, loop.result


def _chosen_out_of_range(definitions: dict[str, Any], state: Any) -> Iterator[KernelProblem]:
    """Values of a variable on one of several control-flow paths: `x = a[i] if c else -3`."""
    for block in state.func_ir.blocks.values():
        for statement in block.find_insts(ir.Assign):
            value = statement.value
            if isinstance(value, ir.Expr) and value.op == "phi":
                sources = [each for each in value.incoming_values if isinstance(each, ir.Var)]
            elif isinstance(value, ir.Expr) and value.op == "cast":
                sources = [value.value]
            else:
                sources = [value] if isinstance(value, (ir.Var, ir.Const)) else []
            type_ = state.typemap.get(statement.target.name)
            operands = [each for each in sources if isinstance(each, ir.Var)]
            types_ = [state.typemap[each.name] for each in operands if constant_of(definitions, each) is None]
            for source in operands:
                wide = constant_of(definitions, source)
                if _is_wide(wide) and types_ and not all(map(_holds_wide, types_)):
                    yield _unfit_wide(statement, wide)
            for source in sources:
                number = _does_not_fit(definitions, source, type_)
                if number is not None:
                    yield problem_at(
                        statement.loc, "number-unfit", f"literal must fit {spell_type(type_)}, got {number}"
                    )


def _wide_ends(definitions: dict[str, Any], expression: Any) -> Iterator[KernelProblem]:
    """Ends of a range that a Python integer of 64 bits does not hold."""
    for end in (constant_of(definitions, each) for each in expression.args):
        if end is not None and end >= 2**63:
            yield problem_at(expression.loc, "number-unfit", f"ends of range() must fit int64, got {end}")


def _negative_exponents(
    definitions: dict[str, Any], function: Any, expression: Any, signature: Any
) -> Iterator[KernelProblem]:
    """`pow(n, -1)` of integers, which has one type for all exponents."""
    is_power = getattr(function, "typing_key", None) in (pow, operator.pow)
    if is_power and len(expression.args) == 2 and isinstance(signature.return_type, types.Integer):
        exponent = constant_of(definitions, expression.args[1])
        if exponent is not None and exponent < 0:
            text = f"exponent of pow() must not be negative where both are integers, got {exponent}; write `**`"
            yield problem_at(expression.loc, "negative-exponent", text)


def _stored_out_of_range(definitions: dict[str, Any], expression: Any, type_: types.Type) -> Iterator[KernelProblem]:
    """NumPy raises OverflowError where such an int is assigned."""
    if isinstance(expression, (ir.SetAttr, ir.SetItem, ir.StaticSetItem)):
        yield from _held_out_of_range(definitions, expression, expression.value, type_)


def _held_out_of_range(
    definitions: dict[str, Any], statement: Any, variable: Any, type_: types.Type
) -> Iterator[KernelProblem]:
    """Literals that a memory location does not hold, those in a tuple that becomes a record or a part of one too."""
    made = made_of(definitions, variable)
    if isinstance(made, ir.Expr) and made.op == "build_tuple":
        for member, held in zip(made.items, _parts(type_), strict=False):
            yield from _held_out_of_range(definitions, statement, member, held)
    else:
        is_tuple = isinstance(made, (ir.Const, ir.Global, ir.FreeVar)) and isinstance(made.value, tuple)
        for value, held in _unfit_parts(made.value if is_tuple else constant_of(definitions, variable), type_):
            yield problem_at(statement.loc, "number-unfit", f"literal must fit {spell_type(held)}, got {value}")


def _parts(type_: types.Type) -> list[types.Type]:
    """The types of what a tuple is converted to: the fields of a record, or the members."""
    if isinstance(type_, types.Record):
        return [value_type(type_.typeof(name)) for name in type_.fields]
    return [*type_.types] if isinstance(type_, types.BaseTuple) else []


def _unfit_parts(value: Any, type_: types.Type) -> Iterator[tuple[int, types.Type]]:
    """The integers in a constant that their types do not hold."""
    if isinstance(value, tuple):
        for member, held in zip(value, _parts(type_), strict=False):
            yield from _unfit_parts(member, held)
    elif isinstance(value, int) and isinstance(type_, types.Integer) and not type_.minval <= value <= type_.maxval:
        yield value, type_


def _members_out_of_range(definitions: dict[str, Any], expression: Any, container: Any) -> Iterator[KernelProblem]:
    is_static = getattr(expression, "op", None) == "static_getitem"
    index = expression.index if is_static else constant_of(definitions, expression.index)
    if isinstance(index, int) and not -len(container) <= index < len(container):
        text = f"index of a {spell_type(container)} must be less than {len(container)}, got {index}"
        yield problem_at(expression.loc, "tuple-index", text)


def _taken_as(expression: Any, kind: str | None, signature: Any) -> list[tuple[Any, Any]]:
    """The operands of an expression with the types it converts them to: a loop gives a tuple's members one type."""
    if kind in ("getitem", "getiter"):
        return [(expression.value, signature.args[0])]
    return list(zip(expression.args, signature.args, strict=False)) if kind == "call" else []


def _members_that_do_not_fit(
    definitions: dict[str, Any], typemap: Any, expression: Any, variable: Any, taken: Any
) -> Iterator[KernelProblem]:
    """`(int8_array[i], 300)[k]`: the variable that gets the member has one type."""
    made = made_of(definitions, variable)
    if not isinstance(taken, types.UniTuple) or not isinstance(made, ir.Expr) or made.op != "build_tuple":
        return
    others = [typemap[each.name] for each in made.items if constant_of(definitions, each) is None]
    for member in made.items:
        value = constant_of(definitions, member)
        if _is_wide(value) and others and not all(map(_holds_wide, others)):
            yield _unfit_wide(expression, value)
        elif _does_not_fit(definitions, member, taken.dtype) is not None:
            text = f"literal must fit {spell_type(taken.dtype)}, got {value}"
            yield problem_at(expression.loc, "number-unfit", text)


def _unpacked_non_tuples(state: Any) -> Iterator[KernelProblem]:
    """Assignments to several names of what is no tuple."""
    for block in state.func_ir.blocks.values():
        for expression in block.find_exprs(op="exhaust_iter"):
            type_ = state.typemap[expression.value.name]
            if not isinstance(type_, types.BaseTuple):
                text = f"a kernel can unpack tuples only, got a {spell_type(type_)}"
                yield problem_at(expression.loc, "unpacking", text)
