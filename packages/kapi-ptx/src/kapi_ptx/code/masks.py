"""Which work-items a sub-group has, as a mask of bits."""

from __future__ import annotations

from llvmlite import ir

from kapi_lowering.llvm_calls import I32
from kapi_ptx.code.work_items import sub_group_size

__all__ = ["members"]


def members(builder: ir.IRBuilder) -> ir.Value:
    """A bit for each work-item of the sub-group: the last one of a group may have fewer than 32."""
    return builder.lshr(I32(-1), builder.sub(I32(32), sub_group_size(builder)))
