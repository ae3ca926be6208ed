"""Cost model: whether a kernel is faster as scalar code of one work-item, or as code of a vector of them.

Each instruction costs as much as it keeps a processor busy, in units of an addition, and counts eight times for each
loop around it. A vector pays for each register that it fills, and for each lane of what no vector instruction does: a
gather is a load, and two moves between registers. One instruction that gathers takes as long, and gains much only
where scalar code cannot load ahead: in loops that lanes leave in different iterations, and at addresses that depend on
comparisons of what was loaded. Lanes of a loop that they leave in different iterations wait for the last one. Scalar
code pays for branches that a processor cannot foresee, which are those on which lanes part.

So kernels are vectorised but for those that spend their time in loops of few operations on elements that are far from
each other, such as the rows of a sparse matrix. The model reads the IR and the features of the processor alone:
the same kernel is always compiled alike.

A loop in which each iteration waits for the one before keeps a processor busy only with two vectors at once, and so
does a long chain of operations. Such kernels get twice the lanes, if registers hold them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kapi_cpu.emission.vectorize.divergence import VARYING, Shapes
from kapi_cpu.emission.vectorize.processor import Processor
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_lowering.emission.llvm_ir import Block, FloatType, Instruction, IRType, IRValue, StructType

__all__ = [
    "Costs",
    "costs_of",
    "needs_lane_loop",
    "vectors_worth_alignment",
    "waits_for_itself",
    "waits_for_operands",
    "widest_bits",
]

_ITERATIONS = 8
_DEEPEST = 3
_IMBALANCE = 1.5
"""The factor for lanes that wait for the last one of a loop."""

_MISPREDICTED = 15.0
_FORESEEN = 0.7
"""The share of branches on data that a processor foresees."""

_GATHERED, _SCATTERED, _LOOPED = 3.0, 3.0, 6.0
"""An element that is loaded, stored, or worked on by a loop over lanes."""

_GATHERED_FAST, _GATHERED_AWAITED = 3.75, 1.5
"""An element of one instruction that gathers: where scalar code loads ahead, which takes little time too, and where it
cannot, as it mispredicts when a loop ends, or waits for what the address is chosen by."""

_WIDEST, _HELD, _LONGEST = 512, (8, 20), 48
"""The bits of registers of which there are 32 and not 16; registers that loops may hold on to; their instructions."""

_AHEAD, _PORTS = 128, 2
"""Instructions of which a processor has several iterations at work; those that it begins in a cycle."""

_LATENCY_OF_FLOATS = 4
_LATENCIES = {"fdiv": 16, "sqrt": 20, "load": 7, "select": 3, "fcmp": 3, "icmp": 3, "fneg": 1, "fabs": 1, "copysign": 1}

_FREE = ("phi", "br", "ret", "alloca", "extractvalue", "insertvalue", "freeze", "bitcast", "ptrtoint", "inttoptr")
_SLOW = {"fdiv": 4.0, "frem": 40.0, "sdiv": 10.0, "udiv": 10.0, "srem": 10.0, "urem": 10.0}
_BY_LANE = ("frem", "atomicrmw", "cmpxchg")
_SHORTEST_ALIGNED, _MASKED = 16, 1.5
"""Vectors of the shortest rows that are aligned; how much longer masked instructions take."""

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_DIVIDED = 5.0
"""A division of integers in one lane, by floats."""

_FUNCTIONS = {"sqrt": 5.0, "exp": 20.0, "log": 20.0, "sin": 25.0, "cos": 25.0, "pow": 50.0}


@dataclass(frozen=True)
class Costs:
    """Costs of a work-item.

    - `scalar`, `vector`: as scalar code, and as one lane of a vector.
    """

    scalar: float
    vector: float

    @property
    def prefers_scalar(self) -> bool:
        """Whether scalar code is faster by more than the model errs."""
        return self.scalar < 0.9 * self.vector


def costs_of(shapes: Shapes, lanes: int, processor: Processor, within: Collection[Block] | None = None) -> Costs:
    """Estimate what a work-item costs.

    - `shapes`: of the kernel, for vectors.
    - `lanes`: those of a vector.
    - `processor`: which it is.
    - `within`: the blocks to count; None for all.
    """
    everywhere = {*shapes.flow.reverse_postorder}
    chosen = _chosen_values(shapes) if processor.has_fast_gathers else set[IRValue]()
    scalar = vector = 0.0
    for block in shapes.flow.reverse_postorder:
        if within is not None and block not in within:
            continue
        weight, waiting = _weights(block, shapes)
        loop = shapes.loop_of(block)
        is_part = shapes.parts_within(block, loop.blocks if loop is not None else everywhere)
        taken = weight / 2 if is_part else weight
        for each in block.instructions:
            cost = _cost(each)
            scalar += taken * cost
            if each.opcode == "load" and _is_irregular(each, shapes):
                is_awaited = each.operands[0] in chosen or (loop is not None and loop.header in shapes.divergent_loops)
                vector += waiting * _cost_of_gather(processor, is_awaited)
            else:
                vector += waiting * _cost_of_lane(each, cost, shapes, lanes, processor.vector_bits)
        if block in shapes.divergent_branches:
            is_exit = loop is not None and any(target not in loop.blocks for target in block.successors)
            scalar += taken * _MISPREDICTED * (1 / _ITERATIONS if is_exit else 1 - _FORESEEN)
            vector += waiting * 4 / lanes
    return Costs(scalar, vector)


def vectors_worth_alignment(shapes: Shapes, lanes: int, processor: Processor) -> int:
    """The vectors from which on a row takes less time with one more and with aligned accesses.

    Each access across two lines of the cache takes one cycle more, and a further vector as much as its instructions,
    which are under masks.

    - `shapes`, `lanes`, `processor`: as for `costs_of`.
    """
    accesses = 0.0
    for block in shapes.flow.reverse_postorder:
        _, waiting = _weights(block, shapes)
        for each in block.instructions:
            if each.opcode in ("load", "store"):
                type_ = each.type if each.opcode == "load" else each.operands[0].type
                is_contiguous = not isinstance(type_, StructType) and shapes[each.operands[-1]] == size_of(type_)
                accesses += waiting * is_contiguous
    work = lanes * costs_of(shapes, lanes, processor).vector
    return round(max(_SHORTEST_ALIGNED, _MASKED * work / max(1.0, accesses)))


def _weights(block: Block, shapes: Shapes) -> tuple[float, float]:
    """The executions of a block, for one work-item, and for its vector."""
    weight, waiting, depth = 1.0, 1.0, 0
    loop = shapes.loop_of(block)
    while loop is not None:
        if depth < _DEEPEST:
            weight, waiting = weight * _ITERATIONS, waiting * _ITERATIONS
        if loop.header in shapes.divergent_loops:
            waiting *= _IMBALANCE
        loop, depth = loop.parent, depth + 1
    return weight, waiting


def _cost(each: Instruction) -> float:
    """The cost as scalar code; addresses are a part of the accesses."""
    if each.opcode in _FREE or each.opcode == "getelementptr" or each.callee.startswith(("kapi.", "llvm.assume")):
        return 0.0
    if each.opcode == "call":
        known = next((cost for name, cost in _FUNCTIONS.items() if each.callee.startswith(f"llvm.{name}")), None)
        return known if known is not None else 1.0 if each.callee.startswith("llvm.") else 30.0
    if each.opcode == "select":
        return 2.0  # waits for its condition
    return 20.0 if each.opcode in ("atomicrmw", "cmpxchg") else _SLOW.get(each.opcode, 1.0)


def _cost_of_lane(each: Instruction, cost: float, shapes: Shapes, lanes: int, vector_bits: int) -> float:
    """The cost of one lane of an instruction for all, unless it gathers."""
    if not cost:
        return 0.0
    if each.opcode in ("load", "store"):
        if _is_irregular(each, shapes):
            return _SCATTERED
        stride = shapes[each.operands[-1]]
        assert isinstance(stride, int)
        type_ = each.type if each.opcode == "load" else each.operands[0].type
        registers = _registers(type_, lanes, vector_bits) * (abs(stride) // size_of(type_))
        return cost * (registers if stride else 1) / lanes
    if not each.form.is_void and shapes[each] is not VARYING:
        return cost / lanes
    if needs_lane_loop(each):
        return cost + _LOOPED
    if each.opcode in _DIVISIONS:
        return _DIVIDED
    return cost * _registers(each.type, lanes, vector_bits) / lanes


def _is_irregular(each: Instruction, shapes: Shapes) -> bool:
    """Whether a load gathers or a store scatters: addresses of lanes are unknown, or more than two elements apart."""
    stride = shapes[each.operands[-1]]
    type_ = each.type if each.opcode == "load" else each.operands[0].type
    return not isinstance(stride, int) or abs(stride) > 2 * size_of(type_)


def _cost_of_gather(processor: Processor, is_awaited: bool) -> float:
    """The cost of one lane of a gather, where scalar code may be unable to load ahead."""
    if not processor.has_fast_gathers:
        return _GATHERED
    return _GATHERED_AWAITED if is_awaited else _GATHERED_FAST


def _chosen_values(shapes: Shapes) -> set[IRValue]:
    """The values that depend on comparisons of what lanes load, such as the bounds of a search."""
    loads = [each for each in shapes.function.instructions() if each.opcode == "load" and shapes[each] is VARYING]
    from_memory = _dependent(loads)
    chosen: list[Instruction] = []
    for block in shapes.flow.reverse_postorder:
        above = shapes.flow.dominators.parent.get(block)
        is_join = above in shapes.divergent_branches and above.terminator.operands[0] in from_memory
        for each in block.instructions:
            if (each.opcode == "phi" and is_join) or (each.opcode == "select" and each.operands[0] in from_memory):
                chosen.append(each)
    return _dependent(chosen)


def _dependent(values: Iterable[Instruction]) -> set[IRValue]:
    """Values, and all that are computed from them."""
    pending, found = [*values], set[IRValue]()
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            pending += each.users
    return found


def needs_lane_loop(each: Instruction) -> bool:
    """Whether no vector instruction does the same for varying operands."""
    if each.opcode == "call":
        return not each.callee.startswith(("llvm.", "kapi."))
    return each.opcode in _BY_LANE


def widest_bits(shapes: Shapes) -> int:
    """The bits of the widest numbers that vary, such as those of bytes that are only compared.

    - `shapes`: of the kernel, for vectors.
    """
    varying = [each for each in shapes.function.instructions() if not each.form.is_void and shapes[each] is VARYING]
    return max((8 * size_of(each.type) for each in varying if not isinstance(each.type, StructType)), default=32)


def waits_for_itself(shapes: Shapes, vector_bits: int) -> bool:
    """Whether loops compute on values that lanes carry from iteration to iteration, and two vectors fit in registers.

    - `shapes`: of the kernel, for vectors.
    - `vector_bits`: bits of a register.
    """
    loops = [loop for loop in shapes.flow.loops if loop.header is not None]
    outer = {loop.parent for loop in loops}
    carries = False
    for loop in loops:
        assert loop.header is not None
        gathers = size = 0
        held = sum(shapes[phi] is VARYING for phi in loop.header.phis)
        from_outside: set[IRValue] = set()
        for block in loop.blocks:
            for each in block.instructions:
                if needs_lane_loop(each) or (each.opcode == "store" and not isinstance(shapes[each.operands[-1]], int)):
                    return False
                gathers += each.opcode == "load" and shapes[each.operands[0]] not in (0, size_of(each.type))
                size += not each.form.is_void and shapes[each] is VARYING
                from_outside |= {
                    operand
                    for operand in each.operands
                    if isinstance(operand, Instruction)
                    and operand.block not in loop.blocks
                    and shapes[operand] is VARYING
                }
        if gathers > 1 or size > _LONGEST or 2 * (held + len(from_outside)) > _HELD[vector_bits == _WIDEST]:
            return False
        carries |= held > 0 and loop not in outer
    return carries


def waits_for_operands(shapes: Shapes, vector_bits: int) -> bool:
    """Whether most of a kernel without loops is one chain of operations, too long for a processor to look beyond it.

    - `shapes`: of the kernel, for vectors.
    - `vector_bits`: bits of a register.
    """
    if shapes.flow.loops or vector_bits < _WIDEST:
        return False
    depths: dict[IRValue, int] = {}
    count = 0
    for block in shapes.flow.reverse_postorder:
        for each in block.instructions:
            if each.form.is_void or shapes[each] is not VARYING:
                continue
            if needs_lane_loop(each):
                return False
            latency = _latency(each)
            count += latency > 0
            depths[each] = latency + max((depths.get(operand, 0) for operand in each.operands), default=0)
    return count >= _AHEAD and max(depths.values()) > count / _PORTS


def _latency(each: Instruction) -> int:
    if each.opcode in _FREE:
        return 0
    name = each.callee.removeprefix("llvm.").partition(".")[0] if each.opcode == "call" else each.opcode
    return _LATENCIES.get(name, _LATENCY_OF_FLOATS if isinstance(each.type.scalar, FloatType) else 1)


def _registers(type_: IRType, lanes: int, vector_bits: int) -> float:
    """The registers that a vector of a type fills."""
    bits = 8 * size_of(type_) if type_.text != "void" else 32
    return max(1.0, bits * lanes / vector_bits)
