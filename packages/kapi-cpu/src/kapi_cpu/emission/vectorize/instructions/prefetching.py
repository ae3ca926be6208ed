"""Software prefetching in loops whose iterations read far from each other, such as at the ends of a grid's stride.

No processor foresees such addresses, most of which are on another page, and it waits for a few at once. So code asks
for their memory some iterations ahead. That halves the time of what is not in a cache, and adds a twentieth to that of
what is. Loops over the rows of an array gain a tenth at most, and those in a cache lose more, such as of products of
matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_cpu.emission.vectorize.type_sizes import element_steps, size_of
from kapi_lowering.emission.llvm_ir import I64, Instruction, IRValue, NaturalLoop, StructType, declare

if TYPE_CHECKING:
    from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter

__all__ = ["FarLoad", "far_loads"]

_ITERATIONS_AHEAD = 8
_LINE_BYTES = 64


@dataclass(frozen=True, slots=True)
class FarLoad:
    """A load whose address grows with each iteration by what is known at run time only.

    - `step`: what a number of the loop grows by, before the loop.
    - `factor`: bytes of the address for one of that number.
    """

    step: IRValue
    factor: int

    def prefetch(self, emitter: LaneEmitter, address: IRValue, nbytes: int) -> None:
        """Ask for the memory of a later iteration, wherever lines of the cache begin.

        - `address`, `nbytes`: what this one loads.
        """
        builder = emitter.builder
        declare(emitter.function, "void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        distance = builder.emit(f"mul i64 ?, {self.factor * _ITERATIONS_AHEAD}", emitter.scalar(self.step))
        later = builder.emit("getelementptr i8, ptr ?, i64 ?", address, distance)
        for offset in (*range(0, nbytes, _LINE_BYTES), nbytes - 1):
            at = builder.emit(f"getelementptr i8, ptr ?, i64 {offset}", later)
            builder.emit("call void @llvm.prefetch.p0(ptr ?, i32 0, i32 3, i32 1)", at)


def far_loads(shapes: Shapes) -> dict[Instruction, FarLoad]:
    """Find the loads of neighbouring elements that innermost loops repeat at a distance of run time.

    - `shapes`: of the kernel, for vectors.
    """
    found: dict[Instruction, FarLoad] = {}
    for loop in shapes.flow.loops:
        steps = {} if loop.inner else _steps(loop, shapes)
        if not steps:
            continue
        for block in loop.blocks:
            for each in block.instructions:
                if each.opcode != "load" or not each.form.is_plain or isinstance(each.type, StructType):
                    continue
                if shapes[each.operands[0]] != size_of(each.type):
                    continue
                for phi, step in steps.items():
                    if factor := _factor(each.operands[0], phi, loop, {}):
                        found[each] = FarLoad(step, factor)
    return found


def _steps(loop: NaturalLoop, shapes: Shapes) -> dict[Instruction, IRValue]:
    """The numbers of a loop that grow by a uniform value of run time, which is there before the loop."""
    found: dict[Instruction, IRValue] = {}
    if loop.header is None or loop.latch is None:
        return found
    for phi in loop.header.phis:
        following = phi.incoming_from(loop.latch)
        if isinstance(following, Instruction) and following.opcode == "add" and phi in following.operands:
            step = following.operands[following.operands[0] is phi]
            if phi.type is I64 and step.integer is None and shapes[step] == 0 and _is_outside(step, loop):
                found[phi] = step
    return found


def _is_outside(value: IRValue, loop: NaturalLoop) -> bool:
    return not isinstance(value, Instruction) or value.block not in loop.blocks or value.callee.startswith(QUERY)


def _factor(value: IRValue, phi: Instruction, loop: NaturalLoop, known: dict[IRValue, int | None]) -> int | None:
    """The growth of a value for each step of the loop's number; None if that is not known."""
    if value is phi:
        return 1
    if not isinstance(value, Instruction) or _is_outside(value, loop):
        return 0
    if value not in known:
        known[value] = None  # of a phi, until it is known
        steps = element_steps(value) if value.opcode == "getelementptr" else None
        scales: list[int] = []
        if steps is not None:
            scales = [1, *steps]
        elif value.opcode in ("add", "sub"):
            scales = [1, 1 if value.opcode == "add" else -1]
        elif value.opcode in ("mul", "shl") and (number := value.operands[1].integer) is not None:
            scales = [number if value.opcode == "mul" else 1 << number, 0]
        parts = [_factor(each, phi, loop, known) for each in value.operands[: len(scales)]]
        if scales and None not in parts:
            known[value] = sum(scale * (part or 0) for scale, part in zip(scales, parts, strict=True))
    return known[value]
