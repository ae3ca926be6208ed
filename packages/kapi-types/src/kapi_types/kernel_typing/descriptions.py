"""Texts of type errors: the requirement on a call, an operator, an index or a value in a kernel."""

from __future__ import annotations

import operator
from typing import Any

from kapi_sim import AddressSpace
from kapi_sim.errors import Finding
from kapi_sim.items.misused_intrinsics import atomic_operator, index_hint, other_work_item
from kapi_sim.language.other_systems import hint
from kapi_sim.language.table.intrinsics import INTRINSICS
from kapi_sim.language.unsupported_syntax import INSTEAD_OF_OPERATORS
from kapi_types._numba_compat import types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import EnumerationType
from kapi_types.kernel_typing.problems.problems import CONSEQUENCE, spell_type
from kapi_types.kernel_typing.rules.arrays import SliceType
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, INPLACE, UNARY, negative_power
from kapi_types.kernel_typing.rules.records import unfit_value
from kapi_types.kernel_typing.rules.vectors import ELEMENTWISE, lengths_differ

__all__ = ["describe_call", "describe_missing_attribute", "is_consequence"]

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "neg": "-", "pos": "+", "invert": "~",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_CALLABLE = (types.Callable, types.FunctionType, types.MakeFunctionLiteral, EnumerationType)
_CONTAINERS = (types.List, types.LiteralList, types.DictType, types.LiteralStrKeyDict, types.Set, types.Generator)
_FORMS = {row.key: f"{row.key}({', '.join(name for name, *_ in row.parameters)})" for row in INTRINSICS}
_ARRAY_HINT = "write a loop over its elements, or compute with the array outside of the kernel"
_OTHER_FORM = "make that of it outside of the kernel, and pass it as an argument"
_FORMS_OF_ARRAYS = frozenset("flat flatten ravel reshape swapaxes transpose view".split())
_METHODS_OF_ARRAYS = frozenset(
    "all any argmax argmin astype copy cumsum dot fill flat flatten max mean min nonzero prod ravel reshape sort std "
    "sum tolist transpose var view".split()
)


def is_consequence(*operands: Any) -> bool:
    """Whether an operand has no type for another problem, reported elsewhere: a list, a dict, nothing at all."""
    return any(each is types.undefined or isinstance(each, _CONTAINERS) for each in operands)


def describe_missing_attribute(type_: types.Type, name: str) -> Finding:
    """The problem with `value.name` where kernels have no such attribute."""
    if is_consequence(type_):
        return CONSEQUENCE
    if isinstance(type_, types.Module):
        module = type_.pymod.__name__
        meant = hint((*module.split("."), name))
        return Finding("module-attribute", f"module {module} has no {name!r} in a kernel{meant}")
    said = f"{spell_type(type_)} has no {name!r} in a kernel"
    if isinstance(type_, ArrayType) and name in _FORMS_OF_ARRAYS:
        return Finding("array-attribute", f"{said}: {_OTHER_FORM}")
    if isinstance(type_, ArrayType) and name in _METHODS_OF_ARRAYS:
        return Finding("array-attribute", f"{said}: {_ARRAY_HINT}")
    return Finding("attribute-unknown", said + other_work_item(spell_type(type_), name))


def describe_call(func: Any, args: tuple[Any, ...], kws: dict[str, types.Type]) -> Finding:
    """The requirement on a call or an operator, and the types that it got."""
    if is_consequence(func, *args, *kws.values()):
        return CONSEQUENCE
    spelled = [spell_type(arg) for arg in args] + [f"{name}={spell_type(arg)}" for name, arg in kws.items()]
    key = getattr(func, "typing_key", func)
    if key is operator.getitem or key is operator.setitem:
        return _describe_indexing(args)
    if key == "getiter":
        return Finding(
            "loop-over", f"a loop must be over range(...), an array or a tuple of one type, got {spelled[0]}"
        )
    if key is operator.contains:
        return Finding("in-array", f"operator in must have a tuple on its right, got {spelled[1]} in {spelled[0]}")
    if isinstance(func, types.Type) and not isinstance(func, _CALLABLE):
        return Finding("called-value", f"{spell_type(func)} cannot be called, since it is not a function")
    if key is negative_power:
        return Finding(
            "negative-exponent",
            f"exponent of ** must not be negative with a base of {spelled[0]}: convert the base, as in `float(...)`",
        )
    key = INPLACE.get(key, key) if callable(key) else key
    if key in ELEMENTWISE and (differ := lengths_differ(args)):
        return differ
    if key is operator.not_ or (key is bool and args):
        return Finding("array-as-condition", f"a condition must be a number or bool, got {spelled[0]}")
    if key in (operator.matmul, operator.imatmul):
        return Finding("operator-unknown", f"kernels do not have operator @; write {INSTEAD_OF_OPERATORS['@']}")
    symbol = _SYMBOLS.get(getattr(key, "__name__", "")) if key in (*BINARY, *UNARY, *COMPARISONS) else None
    hint_text = f": {_ARRAY_HINT}" if any(isinstance(arg, ArrayType) for arg in args) else ""
    if symbol and len(args) == 2:
        hint_text = hint_text or atomic_operator(spelled[0], symbol)
        spelled_operation = f"{spelled[0]} {symbol} {spelled[1]}"
        return Finding(
            "operator-operands", f"operator {symbol} does not have these operands: {spelled_operation}{hint_text}"
        )
    if symbol and len(args) == 1:
        return Finding(
            "operator-operands", f"operator {symbol} does not have this operand: {symbol}{spelled[0]}{hint_text}"
        )
    name = _function_name(func, key)
    hint_text = "" if hasattr(func, "this") else hint_text
    form = f"; it is {_FORMS[name]}" if name in _FORMS else ""
    return Finding(
        "call-arguments", f"{name}() does not take these arguments in a kernel: ({', '.join(spelled)}){form}{hint_text}"
    )


def _function_name(func: Any, key: Any) -> str:
    if hasattr(func, "this"):  # a method: its key is Class.method
        return str(key)
    if isinstance(func, types.NumberClass):
        return spell_type(func)
    if isinstance(key, types.NumberClass):
        return spell_type(key)
    return str(getattr(key, "__name__", key))


def _describe_indexing(args: tuple[types.Type, ...]) -> Finding:
    container, index = args[:2]
    if isinstance(container, ArrayType):
        if len(args) == 3 and not container.mutable and container.address_space is AddressSpace.PRIVATE:
            return Finding(
                "outside-array-stored",
                "array must be an argument to be assigned to, got one from outside, which is constant in a kernel",
            )
        if len(args) == 3 and not container.mutable:
            return Finding(
                "argument-read-only",
                f"a kernel cannot store to a read-only array, got {spell_type(container)}: pass a copy",
            )
        indices = index.types if isinstance(index, types.BaseTuple) else (index,)
        if len(args) == 3 and any(isinstance(each, SliceType) for each in indices):
            return Finding(
                "whole-array",
                "a kernel stores to one element at a time, got a store to a slice: write a loop over its elements",
            )
        if len(indices) != container.ndim:
            count = f"{container.ndim} integer{'s' * (container.ndim != 1)}"
            return Finding("too-many-indices", f"index must have {count}, one for each axis, got {len(indices)}")
        if not all(isinstance(each, types.Integer) for each in indices):
            kinds = [spell_type(each) for each in indices]
            hint_text = next(filter(None, map(index_hint, kinds)), "")
            said = f"index must be made of integers, got {', '.join(kinds)}"
            return Finding("index-type", f"{said}: {hint_text}" if hint_text else said)
        if isinstance(container.dtype, types.Record):
            return unfit_value(args[2], container.dtype, "an element")
        if isinstance(args[2], types.Complex):
            return Finding(
                "imaginary-part",
                f"an element of a {spell_type(container)} cannot hold an imaginary part, got {spell_type(args[2])}; "
                "store its .real",
            )
        return Finding(
            "stored-value", f"an element of a {spell_type(container)} must be a number, got {spell_type(args[2])}"
        )
    if isinstance(container, types.BaseTuple) and len(args) == 3:
        return Finding(
            "tuple-changed", f"a {spell_type(container)} cannot be changed: make a new one, or use kapi.PrivateArray"
        )
    if isinstance(container, types.BaseTuple) and isinstance(index, types.Integer):
        return Finding(
            "tuple-index",
            f"index of a {spell_type(container)}, whose members differ in type, must be a constant in its range",
        )
    hint_text = ": pass an array" if isinstance(container, types.Number) else ""
    return Finding(
        "indexed-value", f"{spell_type(container)} cannot be indexed, got an index of {spell_type(index)}{hint_text}"
    )
