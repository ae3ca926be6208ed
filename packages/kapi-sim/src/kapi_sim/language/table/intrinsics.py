"""THE table of what kernels can ask and call.

The simulator implements it, the compiler lowers it, the documentation prints it.  A row stands here
when both worlds have it; tests fail when a row lacks its implementation or its conformance case.
"""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np

from kapi_sim.language.table.function_rows import FUNCTION_ROWS
from kapi_sim.language.table.row import Family, Intrinsic, Parameter

__all__ = ["INTRINSICS", "Intrinsic", "Parameter", "rows"]

# Headings have the family and the section of SYCL; SYCL has no random numbers in its language: oneMKL's generators for
# devices are the nearest.  A row is the signature, with the type words, then the SPIR-V operation, of which `...`
# stands for the one of its family that fits operator and dtype, and the meaning.
_OWN_ROWS = """
# index 4.9.1.4
Item.get_id(dim: dimension) -> weak int | GlobalInvocationId | index along a dimension
Item.get_linear_id() -> weak int | GlobalLinearId | index through all dimensions
Item.get_range(dim: dimension) -> weak int | GlobalSize | extent of the space along a dimension
Item.get_linear_range() -> weak int | GlobalSize | number of work-items
# index 4.9.1.5
NdItem.get_global_id(dim: dimension) -> weak int | GlobalInvocationId | index in the whole space along a dimension
NdItem.get_global_linear_id() -> weak int | GlobalLinearId | index in the whole space
NdItem.get_global_range(dim: dimension) -> weak int | GlobalSize | extent of the space along a dimension
NdItem.get_global_linear_range() -> weak int | GlobalSize | number of work-items in the space
NdItem.get_local_id(dim: dimension) -> weak int | LocalInvocationId | index in the group along a dimension
NdItem.get_local_linear_id() -> weak int | LocalInvocationIndex | index in the group
NdItem.get_local_range(dim: dimension) -> weak int | WorkgroupSize | extent of a group along a dimension
NdItem.get_local_linear_range() -> weak int | WorkgroupSize | number of work-items in a group
NdItem.get_group() -> Group | none | the work-item's group
NdItem.get_sub_group() -> SubGroup | none | the work-item's sub-group
# index 4.9.1.7
Group.get_group_id(dim: dimension) -> weak int | WorkgroupId | index of the group along a dimension
Group.get_group_linear_id() -> weak int | WorkgroupId | index of the group
Group.get_group_range(dim: dimension) -> weak int | NumWorkgroups | number of groups along a dimension
Group.get_group_linear_range() -> weak int | NumWorkgroups | number of groups
Group.get_local_id(dim: dimension) -> weak int | LocalInvocationId | the work-item's index in the group
Group.get_local_linear_id() -> weak int | LocalInvocationIndex | the work-item's index in the group
Group.get_local_range(dim: dimension) -> weak int | WorkgroupSize | extent of the group along a dimension
Group.get_local_linear_range() -> weak int | WorkgroupSize | number of work-items in the group
# index 4.9.1.8
SubGroup.get_group_id() -> weak int | SubgroupId | index of the sub-group in the work-group
SubGroup.get_group_range() -> weak int | NumSubgroups | number of sub-groups in the work-group
SubGroup.get_local_id() -> weak int | SubgroupLocalInvocationId | the work-item's index in the sub-group
SubGroup.get_local_range() -> weak int | SubgroupSize | number of work-items in this sub-group
SubGroup.get_max_local_range() -> weak int | SubgroupMaxSize | largest number of work-items in a sub-group
# index 4.9.1.4
Item.dimensions -> weak int | none | number of dimensions
# index 4.9.1.5
NdItem.dimensions -> weak int | none | number of dimensions
# index 4.9.1.7
Group.dimensions -> weak int | none | number of dimensions
Group.leader -> bool | LocalInvocationIndex | whether the work-item is the group's first
# index 4.9.1.8
SubGroup.leader -> bool | SubgroupLocalInvocationId | whether the work-item is the sub-group's first
# convergence 4.17.3
group_barrier(group: group, fence_scope: MemoryScope = MemoryScope.WORK_GROUP) -> none | OpControlBarrier
    | wait for the whole group and make its memory operations visible
# group 4.17.3
group_broadcast(group: group, x: scalar, linear_id: uniform integer = 0) -> argument | OpGroupBroadcast
    | the value of one work-item, to all of the group
# group 4.17.4
reduce_over_group(group: group, x: number, op: operator) -> argument | OpGroup... Reduce
    | all values combined by an operator, to all of the group
inclusive_scan_over_group(group: group, x: number, op: operator) -> argument | OpGroup... InclusiveScan
    | the values up to and with the work-item's own, combined
exclusive_scan_over_group(group: group, x: number, op: operator) -> argument | OpGroup... ExclusiveScan
    | the values before the work-item's own, combined; the identity for the first
any_of_group(group: group, pred: predicate) -> bool | OpGroupAny | whether any work-item's value is true
all_of_group(group: group, pred: predicate) -> bool | OpGroupAll | whether all work-items' values are true
none_of_group(group: group, pred: predicate) -> bool | OpGroupAny | whether no work-item's value is true
shift_group_left(group: SubGroup, x: scalar, delta: uniform integer = 1) -> argument | OpGroupNonUniformShuffleDown
    | the value of the work-item that comes delta after; undefined if there is none
shift_group_right(group: SubGroup, x: scalar, delta: uniform integer = 1) -> argument | OpGroupNonUniformShuffleUp
    | the value of the work-item that comes delta before; undefined if there is none
permute_group_by_xor(group: SubGroup, x: scalar, mask: uniform integer) -> argument | OpGroupNonUniformShuffleXor
    | the value of the work-item whose id is the own one xor mask; undefined if there is none
select_from_group(group: SubGroup, x: scalar, remote_local_id: integer) -> argument | OpGroupNonUniformShuffle
    | the value of the work-item that has this id in the sub-group
# memory 4.7.7
PrivateArray(shape: shape, dtype: dtype, fill_zeros: constant bool = False) -> private array | OpVariable Function
    | an array of the work-item's own, uninitialised unless filled with zeros
# atomic 4.15.1
atomic_fence(memory_order: MemoryOrder, memory_scope: MemoryScope) -> none | OpMemoryBarrier
    | order the memory operations before and after it, for others
# atomic 4.15.3
AtomicRef(ref: atomic array, index: index, memory_order: MemoryOrder = MemoryOrder.RELAXED,
    memory_scope: MemoryScope = MemoryScope.DEVICE, address_space: AddressSpace = AddressSpace.GENERIC)
    -> AtomicRef | none
    | an element to be read and changed as a whole
AtomicRef.load() -> element | OpAtomicLoad | the element
AtomicRef.store(value: element) -> none | OpAtomicStore | write the element
AtomicRef.exchange(value: element) -> element | OpAtomicExchange | write the element; what it was before
AtomicRef.compare_exchange(expected: array of element, desired: element, expected_idx: integer = 0)
    -> bool | OpAtomicCompareExchange
    | write the element if it is as expected; what was seen goes to `expected`
AtomicRef.fetch_add(value: element) -> element | OpAtomicIAdd or OpAtomicFAddEXT | add; what it was before
AtomicRef.fetch_sub(value: element) -> element | OpAtomicISub or OpAtomicFAddEXT | subtract; what it was before
AtomicRef.fetch_mul(value: element) -> element | OpAtomicCompareExchange | multiply; what it was before
AtomicRef.fetch_inc(limit: element) -> element | OpAtomicCompareExchange
    | add 1, or 0 from the limit on; what it was before
AtomicRef.fetch_dec(limit: element) -> element | OpAtomicCompareExchange
    | subtract 1, or the limit from 0 and from above the limit; what it was before
AtomicRef.fetch_min(value: element) -> element | OpAtomic...Min | keep the smaller; what it was before
AtomicRef.fetch_max(value: element) -> element | OpAtomic...Max | keep the larger; what it was before
AtomicRef.fetch_and(value: element) -> element | OpAtomicAnd | keep the bits of value; what it was before
AtomicRef.fetch_or(value: element) -> element | OpAtomicOr | set the bits of value; what it was before
AtomicRef.fetch_xor(value: element) -> element | OpAtomicXor | flip the bits of value; what it was before
# bits 4.17.6
clz(x: bits) -> argument | OpenCL.std clz | number of zeros above the highest bit set; of 0, the number of bits
ctz(x: bits) -> argument | OpenCL.std ctz | number of zeros below the lowest bit set; of 0, the number of bits
popcount(x: bits) -> argument | OpBitCount | number of bits set, of a negative integer in two's complement
rotate(x: bits, n: integer) -> argument | composed
    | bits moved up by n places, those beyond the highest coming in below; down, for a negative n
mul_hi(x: factor, y: factor) -> product | composed | upper half of the product, which has twice as many bits
# random none
random.philox(seed: integer, counter: integer, stream: integer = 0) -> four words | composed
    | four random words of 32 bits
random.uniform(seed: integer, counter: integer, stream: integer = 0, dtype: float type = numpy.float32)
    -> float type | composed
    | a random number of at least 0 and below 1
random.normal(seed: integer, counter: integer, stream: integer = 0, dtype: float type = numpy.float32)
    -> float type | composed
    | a random number of mean 0 and standard deviation 1, normally distributed
random.randint(seed: integer, counter: integer, low: bound, high: bound, stream: integer = 0) -> weak int | composed
    | a random integer of at least low and below high
# vector 4.14.2
Vec(elements: elements) -> vector | composed | a vector of 2, 3, 4, 8 or 16 numbers of one type
static Vec.load(array: array of vectors, index: index of a vector, n: vector length) -> vector | composed
    | the vector of the first n elements along the last axis
Vec.store(array: array of vectors, index: index of a vector) -> none | composed | write the elements along the last axis
# vector 4.17.8
dot(v: vector, w: vector) -> vector's | composed | sum of the products of the elements, from the first on
cross(v: vector, w: vector) -> vector's | composed | vector at right angles to two vectors of three elements
length(v: vector) -> vector's | composed | square root of the sum of the squares of the elements
distance(v: vector, w: vector) -> vector's | composed | length of the difference
normalize(v: vector) -> vector's | composed | the vector divided by its length
"""

_DEFAULTS: dict[str, Any] = {"0": 0, "1": 1, "False": False, "numpy.float32": np.float32}
_SIGNATURE = re.compile(r"(static )?(?:(\w+)\.)?(\w+)(?:\((.*)\))? -> (.+)")


def _parameter(text: str) -> Parameter:
    declared, _, default = text.partition(" = ")
    name, word = declared.split(": ")
    return name, word, _DEFAULTS.get(default, default) if default else None


def _own_rows() -> list[Intrinsic]:
    found, family, sycl = [], "", ""
    for line in _OWN_ROWS.strip().replace("\n    ", " ").splitlines():
        if line.startswith("# "):
            _, family, sycl = line.split()
            continue
        signature, spirv, meaning = line.split(" | ")
        static, owner, name, parameters, returns = cast("re.Match[str]", _SIGNATURE.fullmatch(signature)).groups()
        is_member = owner not in (None, "random") and not static
        found.append(
            Intrinsic(
                name,
                cast("Family", family),
                owner,
                ("property" if parameters is None else "method") if is_member else "function",
                tuple(_parameter(each) for each in parameters.split(", ")) if parameters else (),
                returns,
                meaning,
                sycl,
                spirv,
            )
        )
    return found


INTRINSICS: tuple[Intrinsic, ...] = (*_own_rows(), *FUNCTION_ROWS)
"""All rows, each with a key of its own."""


def rows(owner: str | None = None, family: str | None = None) -> tuple[Intrinsic, ...]:
    """Return the rows of one owner, one family, or both.

    Parameters
    ----------
    owner : str, optional
        ``"Item"``, ``"NdItem"``, ``"Group"``, ``"SubGroup"``, ``"AtomicRef"``, ``"Vec"``, ``"random"``, ``"math"``,
        ``"cmath"``, ``"numpy"``; all owners if left out.
    family : str, optional
        ``"index"``, ``"convergence"``, ``"group"``, ``"atomic"``, ``"memory"``, ``"bits"``, ``"random"``,
        ``"vector"``, ``"math"``; all families if left out.

    Examples
    --------
    >>> [row.name for row in rows(family="convergence")]
    ['group_barrier']
    """
    return tuple(
        row for row in INTRINSICS if (owner is None or row.owner == owner) and (family is None or row.family == family)
    )
