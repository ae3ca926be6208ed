"""LLVM IR of one work-item, with calls that `kapi_cpu.emission` replaces where work-items ask, wait or exchange."""

from __future__ import annotations

from kapi_cpu.code.atomic_instructions import atomic_load, atomic_store, atomic_update, compare_exchange, fence
from kapi_cpu.code.entry import begin_entry, finish_entry
from kapi_cpu.code.group_operations import barrier, broadcast, combine, shuffle, vote
from kapi_cpu.code.library import library_call, print_formatted, text
from kapi_cpu.code.work_items import linear_groups, local_memory, sub_group_query, work_item_query

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
    "local_memory",
    "print_formatted",
    "shuffle",
    "sub_group_query",
    "text",
    "vote",
    "work_item_query",
]
