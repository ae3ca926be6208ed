"""Fills of private arrays as loops of stores, which lanes execute together; a call of `memset` is one for each lane."""

from __future__ import annotations

from kapi_cpu.emission.vectorize.private_arrays import accessed_bytes, allocation_of
from kapi_lowering.emission.llvm_ir import I64, Builder, Instruction, Module, constant, split_before
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["expand_private_fills"]


@module_pass
def expand_private_fills(module: Module) -> None:
    """Fill private arrays element by element."""
    for function in module.definitions:
        for each in [*function.instructions()]:
            if each.callee.startswith("llvm.memset."):
                _expand(each)


def _expand(fill: Instruction) -> None:
    """Write the loop, if the bytes are a known number of whole elements."""
    pointer, byte, length, _ = fill.arguments
    allocation = allocation_of(pointer)
    size = accessed_bytes(allocation) if allocation is not None else 0
    if not size or byte.integer is None or not length.integer or length.integer % size:
        return
    type_ = f"i{8 * size}"
    value = int.from_bytes(bytes([byte.integer % 256]) * size, "little")
    before = fill.block
    assert before is not None
    function = before.function
    after = split_before(fill, "filled")
    loop = function.add_block("fill", before=after)
    Builder(before).emit("br label ?", loop)
    builder = Builder(loop)
    index = builder.phi(I64, [(0, before), (0, before)])
    address = builder.emit(f"getelementptr {type_}, ptr ?, i64 ?", pointer, index)
    builder.emit(f"store {type_} {value}, ptr ?, align {size}", address)
    following = builder.emit("add nuw nsw i64 ?, 1", index)
    index.rewrite("phi i64 [ 0, ? ], [ ?, ? ]", before, following, loop)
    is_last = builder.emit("icmp eq i64 ?, ?", following, constant(I64, length.integer // size))
    builder.emit("br i1 ?, label ?, label ?", is_last, after, loop)
    fill.erase()
