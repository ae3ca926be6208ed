"""Code of kernels in SPIR-V: OpenCL's built-in functions, and SPIR-V's instructions by name."""

from __future__ import annotations

from kapi_spirv.code.atomic_instructions import atomic_load, atomic_store, atomic_update, compare_exchange
from kapi_spirv.code.builtins import call_builtin as library_call
from kapi_spirv.code.entry import begin_entry, finish_entry, linear_groups
from kapi_spirv.code.group_operations import broadcast, combine, shuffle, vote
from kapi_spirv.code.memory_model import barrier, fence
from kapi_spirv.code.printing import print_formatted, text
from kapi_spirv.code.work_items import sub_group_query, work_item_query

__all__ = [
    "atomic_load",
    "atomic_store",
    "atomic_update",
    "barrier",
    "begin_entry",
    "broadcast",
    "combine",
    "compare_exchange",
    "fence",
    "finish_entry",
    "library_call",
    "linear_groups",
    "print_formatted",
    "shuffle",
    "sub_group_query",
    "text",
    "vote",
    "work_item_query",
]
