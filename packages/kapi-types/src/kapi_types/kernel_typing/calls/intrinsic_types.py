"""Numba types of the intrinsic table's names of types, for parameters and results.

Each check raises a `KernelTypeProblem` that says what to write.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from kapi_sim import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.intrinsics.atomics import ATOMIC_DTYPES
from kapi_sim.language.intrinsics.memory import MAX_RANK
from kapi_sim.language.intrinsics.operators import OPERATORS, Operator, operator_row
from kapi_sim.language.intrinsics.records import unmet_requirement
from kapi_sim.language.table.intrinsics import Intrinsic
from kapi_types._numba_compat import as_dtype, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import AtomicRefType, ConstantType, GroupType, SubGroupType, VecType
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.arrays import element_index
from kapi_types.kernel_typing.rules.promotion import as_strong, is_scalar, resolve_loop
from kapi_types.kernel_typing.rules.records import field_type
from kapi_types.kernel_typing.rules.vectors import element_of, require_length
from kapi_types.records import RecordRefType
from kapi_types.weak import is_weak, weak_bool, weak_int

__all__ = ["ACCEPTED", "CONSTANT_WORDS", "RETURNED", "Call", "operator_of", "problem_with"]


class Call(NamedTuple):
    """One call of a function or method of the table, with a type for each of its parameters.

    - `row`: the function or method.
    - `receiver`: type of the object of a method.
    - `arguments`: by parameter; an omitted one has the type of its default.
    """

    row: Intrinsic
    receiver: Any
    arguments: Mapping[str, types.Type]


def problem_with(
    call: Call, code: str, name: str, requirement: str, given: types.Type, hint: str = ""
) -> KernelTypeProblem:
    """The problem that the argument `name` must be something else than it is."""
    subject = f"{name} of {call.row.key}()"
    return KernelTypeProblem(code, f"{subject} must be {requirement}, got {spell_type(given)}{hint and '; ' + hint}")


# -- parameters: from the type of an argument to the type that it is converted to ------------------------

_Check = Callable[[Call, str, types.Type], types.Type]


def _group(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, (GroupType, SubGroupType)):
        return given
    raise problem_with(
        call, "no-group", name, "a Group or SubGroup", given, "an NdItem's get_group() or get_sub_group() gives one"
    )


def _sub_group(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, SubGroupType):
        return given
    raise problem_with(call, "no-sub-group", name, "a SubGroup", given, "an NdItem's get_sub_group() gives one")


def _scalar(call: Call, name: str, given: types.Type) -> types.Type:
    if is_scalar(given):
        return given
    raise problem_with(call, "group-value", name, "a number or bool", given)


def _predicate(call: Call, name: str, given: types.Type) -> types.Type:
    if is_scalar(given) and not isinstance(given, types.Complex):
        return types.boolean
    raise problem_with(call, "group-predicate", name, "a bool, or a number to be compared with 0", given)


_INTEGER_CODES = {"bits": "bits-of-integer", "random": "random-integer"}


def _integer(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, types.Integer):
        return weak_int
    raise problem_with(call, _INTEGER_CODES.get(call.row.family, "group-integer"), name, "an integer", given)


def _bound(call: Call, name: str, given: types.Type) -> types.Type:
    if given == types.uint64:
        raise problem_with(
            call, "random-integer", name, "an integer that fits int64", given, "convert it with np.int64()"
        )
    return _integer(call, name, given)


def _bits(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, types.Integer):
        return given
    raise problem_with(call, "bits-of-integer", name, "an integer", given)


def _factor(call: Call, name: str, given: types.Type) -> types.Type:
    _bits(call, name, given)
    factors = tuple(call.arguments.values())
    if not all(isinstance(each, types.Integer) for each in factors):
        return given  # the other one is the problem, and is reported
    if all(map(is_weak, factors)):
        return weak_int
    loop = resolve_loop(np.multiply, factors)
    if loop is not None and isinstance(loop.result, types.Integer):
        return loop.result
    raise KernelTypeProblem(
        "bits-of-integer",
        f"x and y of {call.row.key}() must have a common type of integers, "
        f"got {' and '.join(map(spell_type, factors))}; convert one",
    )


def operator_of(given: types.Type) -> Operator | None:
    """The operator that a value of this type is; None if it is none."""
    return operator_row(given.function) if isinstance(given, DeviceFunctionType) else None


def _operator(call: Call, name: str, given: types.Type) -> types.Type:
    if operator_of(given) is not None:
        return given
    names = ", ".join(row.name for row in OPERATORS)
    raise problem_with(
        call, "group-operator", name, f"one of kapi's operators ({names})", given, "write kapi.plus, without a call"
    )


_KINDS = {"b": "bools", "i": "signed integers", "u": "unsigned integers", "f": "floats"}


def _number(call: Call, name: str, given: types.Type) -> types.Type:
    operation = operator_of(call.arguments["op"])
    if operation is None:
        return given  # the operator is the problem, and is reported
    if is_scalar(given) and as_dtype(as_strong(given)).kind in operation.kinds:
        return given
    kinds = ", ".join(words for kind, words in _KINDS.items() if kind in operation.kinds)
    raise problem_with(call, "group-operator-type", name, f"a value that {operation.name} takes ({kinds})", given)


def _member_of(enumeration: type[enum.Enum]) -> _Check:
    def check(call: Call, name: str, given: types.Type) -> types.Type:
        if isinstance(given, ConstantType) and isinstance(given.value, enumeration):
            return given
        example = f"{enumeration.__name__}.{next(iter(enumeration)).name}"
        raise problem_with(
            call, "no-enum-member", name, f"a member of {enumeration.__name__} itself", given, f"write {example}"
        )

    return check


_UNALIGNED = (
    "elements of an AtomicRef must be at multiples of their size in memory, got {}: make the dtype of the records with "
    "align=True"
)


def _atomic_array(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, RecordRefType):
        return given  # which field, and whether it has atomics, the index says
    if isinstance(given, ArrayType) and str(given.dtype) in ATOMIC_DTYPES:
        if not given.aligned:
            raise KernelTypeProblem("atomic-ref", _UNALIGNED.format("those of a sub-array that is not"))
        return given
    raise problem_with(
        call, "atomic-ref", name, f"an array of {', '.join(ATOMIC_DTYPES[:-1])} or {ATOMIC_DTYPES[-1]}", given
    )


def _index(call: Call, name: str, given: types.Type) -> types.Type:
    array = call.arguments["ref"]
    if isinstance(array, RecordRefType):
        return _atomic_field(call, name, array, given)
    if not isinstance(array, ArrayType) or element_index(array, given):
        return given
    raise problem_with(call, "atomic-index", name, f"an integer for each of the array's axes ({array.ndim})", given)


def _atomic_field(call: Call, name: str, record: RecordRefType, given: types.Type) -> types.Type:
    if not isinstance(given, ConstantType) or not isinstance(given.value, str):
        raise problem_with(call, "atomic-index", name, "the name of a field, of a record", given)
    field = field_type(record, given.value)
    if str(field) not in ATOMIC_DTYPES:
        kinds = f"a field of {', '.join(ATOMIC_DTYPES[:-1])} or {ATOMIC_DTYPES[-1]}"
        raise problem_with(call, "atomic-ref", name, kinds, field)
    if not record.is_aligned(given.value):
        raise KernelTypeProblem("atomic-ref", _UNALIGNED.format(f"field {str(given.value)!r}, which is not"))
    return given


def _element(call: Call, name: str, given: types.Type) -> types.Type:
    if is_scalar(given) and not isinstance(given, types.Complex):
        return call.receiver.dtype
    raise problem_with(call, "atomic-value", name, f"a number that becomes {call.receiver.dtype}", given)


def _array_of_element(call: Call, name: str, given: types.Type) -> types.Type:
    dtype = call.receiver.dtype
    if isinstance(given, ArrayType) and given.mutable and (given.dtype, given.ndim) == (dtype, 1):
        return given
    example = f"make one with PrivateArray(1, np.{dtype})"
    raise problem_with(
        call, "atomic-expected", name, f"a writable {dtype} array of rank 1, which gets the value seen", given, example
    )


def _shape(call: Call, name: str, given: types.Type) -> types.Type:
    hint = "write literals, or globals that are integers"
    if not isinstance(given, ConstantType):
        raise problem_with(call, "shape-unknown", name, "known when the kernel is compiled", given, hint)
    extents = given.value if isinstance(given.value, tuple) else (given.value,)
    if 1 <= len(extents) <= MAX_RANK and all(type(each) is int and each >= 1 for each in extents):
        return given
    raise problem_with(call, "array-shape", name, "one to six integers of at least 1", given)


def _dtype(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, (types.DType, types.NumberClass)) and is_scalar(given.dtype):
        return given
    if isinstance(given, types.DType) and isinstance(given.dtype, types.Record):
        unmet = unmet_requirement(as_dtype(given.dtype))
        if unmet:
            raise KernelTypeProblem("array-dtype", f"{name} of {call.row.key}() {unmet}")
        return given
    raise problem_with(
        call, "array-dtype", name, "a NumPy scalar type or an array's dtype", given, "write np.float32, or x.dtype"
    )


def _float_type(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, (types.DType, types.NumberClass)) and given.dtype in (types.float32, types.float64):
        return given
    raise problem_with(call, "random-dtype", name, "np.float32 or np.float64", given)


def _constant_bool(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, ConstantType) and isinstance(given.value, bool):
        return given
    raise problem_with(call, "option-bool", name, "True or False itself", given)


def _elements(call: Call, name: str, given: types.Type) -> types.Type:
    if is_scalar(element_of(given)):
        return given
    raise KernelTypeProblem("vector-element", f"an element of a Vec must be a number or bool, got {spell_type(given)}")


def _vector(call: Call, name: str, given: types.Type) -> types.Type:
    if isinstance(given, VecType):
        return given
    raise problem_with(call, "vector-missing", name, "a Vec", given)


def _vectors(call: Call, name: str, given: types.Type) -> types.Type:
    if not isinstance(given, ArrayType) or given.ndim == 0:
        raise problem_with(call, "vector-array", name, "an array whose last axis has the elements of a vector", given)
    if call.row.name == "store" and not given.mutable:
        raise problem_with(call, "argument-read-only", name, "writable", given, "pass a copy")
    is_complex = isinstance(call.receiver, VecType) and isinstance(call.receiver.dtype, types.Complex)
    if is_complex and not isinstance(given.dtype, (types.Complex, types.Boolean)):
        raise problem_with(call, "imaginary-part", name, "of complex numbers, as the vector is", given)
    return given


def _vector_index(call: Call, name: str, given: types.Type) -> types.Type:
    axes = given.types if isinstance(given, types.BaseTuple) else (given,)
    wanted = getattr(call.arguments["array"], "ndim", 1) - 1
    if len(axes) != wanted:
        raise KernelTypeProblem(
            "too-many-indices",
            f"index of a vector must have {wanted} integers, one for each axis but the last, got {len(axes)}",
        )
    if all(isinstance(axis, types.Integer) for axis in axes):
        return given
    raise problem_with(call, "index-type", name, "made of integers", given)


def _vector_length(call: Call, name: str, given: types.Type) -> types.Type:
    if not isinstance(given, ConstantType):
        raise problem_with(
            call, "shape-unknown", name, "known when the kernel is compiled", given, "write a literal, or a global"
        )
    require_length(given.value)
    return given


ACCEPTED: dict[str, _Check] = {
    "group": _group,
    "SubGroup": _sub_group,
    "scalar": _scalar,
    "number": _number,
    "predicate": _predicate,
    "integer": _integer,
    "bound": _bound,
    "uniform integer": _integer,
    "bits": _bits,
    "factor": _factor,
    "operator": _operator,
    "MemoryOrder": _member_of(MemoryOrder),
    "MemoryScope": _member_of(MemoryScope),
    "AddressSpace": _member_of(AddressSpace),
    "atomic array": _atomic_array,
    "index": _index,
    "element": _element,
    "array of element": _array_of_element,
    "shape": _shape,
    "dtype": _dtype,
    "float type": _float_type,
    "constant bool": _constant_bool,
    "elements": _elements,
    "vector": _vector,
    "array of vectors": _vectors,
    "index of a vector": _vector_index,
    "vector length": _vector_length,
}
"""For a parameter's word, what checks an argument and tells the type that it is converted to."""

CONSTANT_WORDS = frozenset({"shape", "constant bool", "vector length"})
"""Words whose arguments must be found out before types are inferred, for they are no type of their own."""


# -- results ---------------------------------------------------------------------------------------------


def _atomic_ref(call: Call) -> types.Type:
    array, order, scope = (call.arguments[name] for name in ("ref", "memory_order", "memory_scope"))
    if isinstance(array, RecordRefType):  # the field of one record is an array without axes
        field = field_type(array, call.arguments["index"].value)
        array = ArrayType(field, 0, "C", readonly=not array.mutable, address_space=array.address_space)
    return AtomicRefType(array, order.value, scope.value)


def _private_array(call: Call) -> types.Type:
    shape = call.arguments["shape"].value
    rank = len(shape) if isinstance(shape, tuple) else 1
    return ArrayType(call.arguments["dtype"].dtype, rank, "C", address_space=AddressSpace.PRIVATE)


RETURNED: dict[str, Callable[[Call], types.Type]] = {
    "none": lambda call: types.none,
    "bool": lambda call: weak_bool,
    "weak int": lambda call: weak_int,
    "argument": lambda call: call.arguments["x"],
    "product": lambda call: _factor(call, "x", call.arguments["x"]),
    "float type": lambda call: call.arguments["dtype"].dtype,
    "four words": lambda call: types.UniTuple(types.uint32, 4),
    "element": lambda call: call.receiver.dtype,
    "AtomicRef": _atomic_ref,
    "private array": _private_array,
    "vector's": lambda call: types.none,  # known when the function that computes it is compiled
    "vector": lambda call: VecType(call.arguments["array"].dtype, call.arguments["n"].value),
}
"""For a result's word, the type of a call whose arguments are all accepted."""
