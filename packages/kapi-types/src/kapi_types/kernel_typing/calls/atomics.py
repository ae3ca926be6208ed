"""The types of atomic references, of what is done with them, and of fences.

References
----------
SYCL 2020 specification, section 4.15.3, "Atomic references".
"""

from __future__ import annotations

import kapi_sim
from kapi_sim import AddressSpace, MemoryOrder
from kapi_sim.language.intrinsics.atomics import ATOMIC_KINDS
from kapi_sim.language.table.intrinsics import rows
from kapi_types._numba_compat import as_dtype, templates, types
from kapi_types.kernel_api import AtomicRefType
from kapi_types.kernel_typing.calls.intrinsic_calls import Demand, LanguageFunctionType, LanguageMethodType
from kapi_types.kernel_typing.calls.intrinsic_types import Call
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, spell_type

__all__ = ["registry"]

registry = templates.Registry()

_REFUSED_ORDERS = {
    "load": (MemoryOrder.RELEASE, "a load releases nothing: make the AtomicRef with ACQUIRE, ACQ_REL or SEQ_CST"),
    "store": (MemoryOrder.ACQUIRE, "a store acquires nothing: make the AtomicRef with RELEASE, ACQ_REL or SEQ_CST"),
}
_METHODS = {row.name: row for row in rows(owner="AtomicRef")}


def _demand_address_space(call: Call) -> None:
    """The address space must be the one that the array is in, which its type knows."""
    array, named = call.arguments["ref"], call.arguments["address_space"].value
    if array.address_space is AddressSpace.PRIVATE:
        raise KernelTypeProblem(
            "atomic-of-private",
            f"ref of AtomicRef() must be in memory that work-items share, got {spell_type(array)}: "
            "no other work-item sees its elements, so use them directly",
        )
    if named not in (array.address_space, AddressSpace.GENERIC):
        raise KernelTypeProblem(
            "atomic-address-space",
            f"address_space of AtomicRef() must be AddressSpace.{array.address_space.name}, where ref is, "
            f"got AddressSpace.{named.name}",
        )


def _demand_operation(call: Call) -> None:
    """The array must be writable, the element's kind one that the operation has, the order one that it can have."""
    name, reference = call.row.name, call.receiver
    if name != "load" and not reference.array.mutable:
        raise KernelTypeProblem(
            "argument-read-only", f"array of AtomicRef.{name}() must be writable, got {spell_type(reference.array)}"
        )
    if as_dtype(reference.dtype).kind not in ATOMIC_KINDS[name]:
        raise KernelTypeProblem(
            "atomic-needs-integer", f"element of AtomicRef.{name}() must be an integer, got {reference.dtype}"
        )
    order, reason = _REFUSED_ORDERS.get(name, (None, ""))
    if reference.order is order:
        raise KernelTypeProblem("atomic-order", f"AtomicRef.{name}() cannot have MemoryOrder.{order.name}: {reason}")


_DEMANDS: dict[str, Demand] = {"AtomicRef": _demand_address_space}

for _row in rows(family="atomic"):
    if _row.kind == "function":
        _function = LanguageFunctionType(_row, _DEMANDS.get(_row.name))
        registry.register_global(getattr(kapi_sim, _row.name), _function)


@registry.register_attr
class _AtomicRefAttributes(templates.AttributeTemplate):
    key = AtomicRefType

    def generic_resolve(self, reference: AtomicRefType, name: str) -> types.Type | None:
        row = _METHODS.get(name)
        return None if row is None else LanguageMethodType(row, reference, _demand_operation)
