"""THE table of what kernels can ask and call.

The simulator implements it, the compiler lowers it, the documentation prints it.  A row stands here
when both worlds have it; tests fail when a row lacks its implementation or its conformance case.
"""

from __future__ import annotations

from kapi_sim.language.table.bit_rows import BIT_ROWS
from kapi_sim.language.table.function_rows import FUNCTION_ROWS
from kapi_sim.language.table.group_rows import GROUP_ROWS
from kapi_sim.language.table.memory_rows import MEMORY_ROWS
from kapi_sim.language.table.random_rows import RANDOM_ROWS
from kapi_sim.language.table.row import Intrinsic, Parameter
from kapi_sim.language.table.vector_rows import VECTOR_ROWS

__all__ = ["INTRINSICS", "Intrinsic", "Parameter", "rows"]

_DIM: tuple[Parameter, ...] = (("dim", "dimension", None),)

# owner, its SYCL section, and its queries: name, takes a dimension, result, meaning, SPIR-V
_QUERIES: tuple[tuple[str, str, tuple[tuple[str, bool, str, str, str], ...]], ...] = (
    (
        "Item",
        "4.9.1.4",
        (
            ("get_id", True, "weak int", "index along a dimension", "GlobalInvocationId"),
            ("get_linear_id", False, "weak int", "index through all dimensions", "GlobalLinearId"),
            ("get_range", True, "weak int", "extent of the space along a dimension", "GlobalSize"),
            ("get_linear_range", False, "weak int", "number of work-items", "GlobalSize"),
        ),
    ),
    (
        "NdItem",
        "4.9.1.5",
        (
            (
                "get_global_id",
                True,
                "weak int",
                "index in the whole space along a dimension",
                "GlobalInvocationId",
            ),
            ("get_global_linear_id", False, "weak int", "index in the whole space", "GlobalLinearId"),
            ("get_global_range", True, "weak int", "extent of the space along a dimension", "GlobalSize"),
            ("get_global_linear_range", False, "weak int", "number of work-items in the space", "GlobalSize"),
            ("get_local_id", True, "weak int", "index in the group along a dimension", "LocalInvocationId"),
            ("get_local_linear_id", False, "weak int", "index in the group", "LocalInvocationIndex"),
            ("get_local_range", True, "weak int", "extent of a group along a dimension", "WorkgroupSize"),
            ("get_local_linear_range", False, "weak int", "number of work-items in a group", "WorkgroupSize"),
            ("get_group", False, "Group", "the work-item's group", "none"),
            ("get_sub_group", False, "SubGroup", "the work-item's sub-group", "none"),
        ),
    ),
    (
        "Group",
        "4.9.1.7",
        (
            ("get_group_id", True, "weak int", "index of the group along a dimension", "WorkgroupId"),
            ("get_group_linear_id", False, "weak int", "index of the group", "WorkgroupId"),
            ("get_group_range", True, "weak int", "number of groups along a dimension", "NumWorkgroups"),
            ("get_group_linear_range", False, "weak int", "number of groups", "NumWorkgroups"),
            ("get_local_id", True, "weak int", "the work-item's index in the group", "LocalInvocationId"),
            (
                "get_local_linear_id",
                False,
                "weak int",
                "the work-item's index in the group",
                "LocalInvocationIndex",
            ),
            ("get_local_range", True, "weak int", "extent of the group along a dimension", "WorkgroupSize"),
            (
                "get_local_linear_range",
                False,
                "weak int",
                "number of work-items in the group",
                "WorkgroupSize",
            ),
        ),
    ),
    (
        "SubGroup",
        "4.9.1.8",
        (
            ("get_group_id", False, "weak int", "index of the sub-group in the work-group", "SubgroupId"),
            ("get_group_range", False, "weak int", "number of sub-groups in the work-group", "NumSubgroups"),
            (
                "get_local_id",
                False,
                "weak int",
                "the work-item's index in the sub-group",
                "SubgroupLocalInvocationId",
            ),
            ("get_local_range", False, "weak int", "number of work-items in this sub-group", "SubgroupSize"),
            (
                "get_max_local_range",
                False,
                "weak int",
                "largest number of work-items in a sub-group",
                "SubgroupMaxSize",
            ),
        ),
    ),
)

# owner, SYCL section, name, result, meaning, SPIR-V
_PROPERTIES = (
    ("Item", "4.9.1.4", "dimensions", "weak int", "number of dimensions", "none"),
    ("NdItem", "4.9.1.5", "dimensions", "weak int", "number of dimensions", "none"),
    ("Group", "4.9.1.7", "dimensions", "weak int", "number of dimensions", "none"),
    (
        "Group",
        "4.9.1.7",
        "leader",
        "bool",
        "whether the work-item is the group's first",
        "LocalInvocationIndex",
    ),
    (
        "SubGroup",
        "4.9.1.8",
        "leader",
        "bool",
        "whether the work-item is the sub-group's first",
        "SubgroupLocalInvocationId",
    ),
)


def _index_rows() -> list[Intrinsic]:
    methods = [
        Intrinsic(name, "index", owner, "method", _DIM if has_dim else (), returns, meaning, sycl, spirv)
        for owner, sycl, queries in _QUERIES
        for name, has_dim, returns, meaning, spirv in queries
    ]
    properties = [
        Intrinsic(name, "index", owner, "property", (), returns, meaning, sycl, spirv)
        for owner, sycl, name, returns, meaning, spirv in _PROPERTIES
    ]
    return methods + properties


INTRINSICS: tuple[Intrinsic, ...] = (
    *_index_rows(),
    Intrinsic(
        "group_barrier",
        "convergence",
        None,
        "function",
        (("group", "group", None), ("fence_scope", "MemoryScope", "MemoryScope.WORK_GROUP")),
        "none",
        "wait for the whole group and make its memory operations visible",
        "4.17.3",
        "OpControlBarrier",
    ),
    *GROUP_ROWS,
    *MEMORY_ROWS,
    *BIT_ROWS,
    *RANDOM_ROWS,
    *VECTOR_ROWS,
    *FUNCTION_ROWS,
)
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
