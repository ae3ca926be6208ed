"""The types of what a kernel does with records: fields by name and by attribute, copies, records made of numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

import kapi_sim
from kapi_sim.errors import Finding
from kapi_sim.language.intrinsics.records import field_view_problem
from kapi_types._numba_compat import as_dtype, ir, templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type
from kapi_types.kernel_typing.rules.arrays import element_index
from kapi_types.kernel_typing.rules.promotion import is_scalar
from kapi_types.kernel_typing.rules.rule_registry import RuleRegistry
from kapi_types.records import RecordRefType, field_view, value_type

__all__ = ["MAKE_RECORD", "FieldName", "assigned_field", "field_type", "names_of_fields", "registry", "unfit_value"]

registry = RuleRegistry()

MAKE_RECORD = np.void
"""The function that a kernel calls to make a record, and the key of its lowering."""


class FieldName(str):
    """The name of a field as a constant of a kernel."""

    __slots__ = ()


def names_of_fields(func_ir: Any) -> Iterator[str]:
    """The variables whose constant texts are names of fields: indices, and arguments of `AtomicRef`."""
    for block in func_ir.blocks.values():
        for statement in block.body:
            done = statement.value if isinstance(statement, ir.Assign) else statement
            is_static = isinstance(done, ir.StaticSetItem) or getattr(done, "op", "") == "static_getitem"
            if is_static and isinstance(done.index, str) and done.index_var is not None:
                yield done.index_var.name
            elif getattr(done, "op", "") == "call" and _is_atomic_ref(func_ir, done.func):
                yield from (each.name for each in (*done.args, *(value for _, value in done.kws)))


def _is_atomic_ref(func_ir: Any, variable: Any) -> bool:
    try:
        made = func_ir.get_definition(variable)
    except KeyError:
        return False
    if isinstance(made, (ir.Global, ir.FreeVar)):
        return made.value is kapi_sim.AtomicRef
    return getattr(made, "op", "") == "getattr" and made.attr == "AtomicRef"


def field_type(owner: types.Type, name: str) -> types.Type:
    """The type of a field of a record; a `KernelTypeProblem` if it has no such field."""
    record = owner.record if isinstance(owner, RecordRefType) else owner
    if name not in record.fields:
        raise KernelTypeProblem(
            "attribute-unknown", f"field of a {spell_type(owner)} must be one of these, got {str(name)!r}"
        )
    return owner.field(name) if isinstance(owner, RecordRefType) else value_type(record.typeof(name))


def assigned_field(owner: types.Type, name: str, value: types.Type) -> types.Type:
    """The type that a value is converted to where it is assigned to a field; a `KernelTypeProblem` if it cannot be."""
    if isinstance(owner, types.Record):
        raise KernelTypeProblem(
            "record-value-changed",
            "a field must be of an array's element to be assigned to, got that of a record's value: make another with "
            "numpy.void((...), dtype), or keep the record in a PrivateArray",
        )
    if isinstance(owner, types.BaseTuple):
        raise KernelTypeProblem(
            "tuple-changed", f"a {spell_type(owner)} cannot be changed: make a new one, or use kapi.PrivateArray"
        )
    if not isinstance(owner, RecordRefType):
        raise KernelTypeProblem(
            "attribute-assigned", "a kernel cannot assign an attribute, only a field of a record: write to an array"
        )
    field_type(owner, name)
    if not owner.mutable:
        raise KernelTypeProblem(
            "argument-read-only",
            f"a kernel cannot store to a read-only array, got a field {name!r} of one: pass a copy",
        )
    return _stored(value, owner.record.typeof(name), f"field {name!r}")


def _stored(value: types.Type, held: types.Type, target: str) -> types.Type:
    """The type that a value is converted to for a memory location; a `KernelTypeProblem` if it cannot be."""
    if not _fits(value, value_type(held)):
        raise KernelTypeProblem(*unfit_value(value, held, target))
    return value_type(held)


def unfit_value(value: types.Type, held: types.Type, target: str) -> Finding:
    """The problem with what is stored to a memory location."""
    wanted, kind = value_type(held), "a number"
    if isinstance(wanted, types.Record):
        kind = f"a {spell_type(wanted)} of the same dtype, or a tuple of its fields"
    elif isinstance(wanted, types.BaseTuple):
        kind = f"a tuple of {len(wanted)} members"
    return Finding("stored-value", f"what is stored to {target} must be {kind}, got {spell_type(value)}")


def _fits(value: types.Type, wanted: types.Type) -> bool:
    if isinstance(wanted, types.Record):
        if isinstance(value, types.BaseTuple):
            members = [value_type(wanted.typeof(name)) for name in wanted.fields]
            return len(value) == len(members) and all(map(_fits, value.types, members))
        given = value.record if isinstance(value, RecordRefType) else value
        is_alike = isinstance(given, types.Record) and as_dtype(given) == as_dtype(wanted)
        return is_alike and list(given.fields) == list(wanted.fields)
    if isinstance(wanted, types.BaseTuple):
        is_alike = isinstance(value, types.BaseTuple) and len(value) == len(wanted)
        return is_alike and all(map(_fits, value.types, wanted.types))
    takes_imaginary = isinstance(wanted, (types.Complex, types.Boolean))
    return is_scalar(value) and (takes_imaginary or not isinstance(value, types.Complex))


@registry.rule("static_getitem")
def _field_by_name(context: Any, owner: types.Type, name: Any) -> Any:
    if not isinstance(name, str):
        return None
    if isinstance(owner, ArrayType) and isinstance(owner.dtype, types.Record):
        field_type(owner.dtype, name)
        problem = field_view_problem(as_dtype(owner.dtype), name)
        if problem:
            raise KernelTypeProblem("field-of-all", problem)
        return templates.signature(field_view(owner, name), owner, types.literal(name))
    if not isinstance(owner, (RecordRefType, types.Record)):
        return None
    return templates.signature(field_type(owner, name), owner, types.literal(name))


@registry.rule(operator.setitem)
def _set_element(context: Any, array: types.Type, index: types.Type, value: types.Type) -> Any:
    is_of_records = isinstance(array, ArrayType) and isinstance(array.dtype, types.Record)
    if not is_of_records or not array.mutable or not element_index(array, index):
        return None
    return templates.signature(types.none, array, index, _stored(value, array.dtype, "an element"))


@registry.rule(MAKE_RECORD)
def _make(context: Any, value: types.Type, dtype: types.Type) -> Any:
    if not isinstance(dtype, types.DType) or not isinstance(dtype.dtype, types.Record):
        return None
    return templates.signature(dtype.dtype, _stored(value, dtype.dtype, "a record"), dtype)


class _Copy(templates.AbstractTemplate):
    key = "record.copy"

    def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        record = self.this.record if isinstance(self.this, RecordRefType) else self.this
        return None if args or kws else templates.signature(record, recvr=self.this)


class _RecordAttributes(templates.AttributeTemplate):
    def generic_resolve(self, owner: types.Type, name: str) -> types.Type:
        record = owner.record if isinstance(owner, RecordRefType) else owner
        if name not in record.fields and name == "copy":
            return types.BoundFunction(_Copy, owner)
        if name not in record.fields and name == "dtype":
            return types.DType(record)
        return field_type(owner, name)


for _class in (RecordRefType, types.Record):
    registry.register_attr(type(f"_{_class.__name__}Attributes", (_RecordAttributes,), {"key": _class}))
