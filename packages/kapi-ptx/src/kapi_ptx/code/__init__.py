"""Code of kernels in PTX: LLVM's intrinsics for it, and its own instructions where LLVM has none."""

from __future__ import annotations

from kapi_ptx.code.atomic_instructions import atomic_load, atomic_store, atomic_update, compare_exchange
from kapi_ptx.code.entry import begin_entry, finish_entry
from kapi_ptx.code.group_operations import broadcast, shuffle, vote
from kapi_ptx.code.library import library_call, print_formatted, text
from kapi_ptx.code.memory_model import barrier, fence
from kapi_ptx.code.shared_memory import local_memory
from kapi_ptx.code.work_items import sub_group_query

__all__ = [
    "atomic_load",
    "atomic_store",
    "atomic_update",
    "barrier",
    "begin_entry",
    "broadcast",
    "compare_exchange",
    "fence",
    "finish_entry",
    "library_call",
    "local_memory",
    "print_formatted",
    "shuffle",
    "sub_group_query",
    "text",
    "vote",
]
