"""Loops over memory whose step is a variable, such as ``range(i, n, item.get_global_range(0))``, unrolled.

LLVM unrolls a loop whose iterations it can count without a division. With one load of four bytes in flight at a time, a
loop over the grid waits; with four it comes to the speed of memory. So many iterations are run together while there are
as many left; the loop itself runs the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from kapi_lowering.emission.llvm_ir import (
    I64,
    Block,
    Builder,
    FloatType,
    Function,
    Instruction,
    IntType,
    IRValue,
    clone_instruction,
    defined,
    is_pure,
)
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["unroll_strided_loops"]

_BYTES = 16
"""Under way for each thread; a loop that loads so much in an iteration becomes slower by more."""
_LARGEST_BODY = 40
_LARGEST_STEP = 2**59
"""A few steps beyond an extent are then still a number of 64 bits."""
_SLOW = frozenset(("fdiv", "frem", "sdiv", "udiv", "srem", "urem"))
_QUICK = ("llvm.fma.", "llvm.fabs.", "llvm.sqrt.", "llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.")


@dataclass(frozen=True)
class _Loop:
    """A loop of one block that counts by a step of its own: its counter, both its ends, and where it goes then."""

    block: Block
    outside: Block
    exit: Block
    counter: Instruction
    next_: Instruction
    step: IRValue
    bound: IRValue


@function_pass
def unroll_strided_loops(function: Function) -> None:
    """Run up to four iterations of a loop together whose step is a variable."""
    for block in [*function.blocks]:
        loop = _strided(block)
        times = _times(loop) if loop is not None else 1
        if loop is not None and times > 1:
            _unroll(function, loop, times)


def _strided(block: Block) -> _Loop | None:
    """A block as a loop whose counter comes by steps of a variable to a bound; None if it is something else."""
    others = [each for each in block.predecessors if each is not block]
    branch = block.terminator
    if len(others) != 1 or branch.opcode != "br" or len(block.successors) != 2 or block.successors[0] is not block:
        return None
    exit_ = block.successors[1]
    test = defined(branch.operands[0], "icmp")
    if exit_ is block or test is None or test.block is not block:
        return None
    for counter in block.phis:
        next_ = defined(counter.incoming_from(block), "add") if counter.type is I64 else None
        if next_ is None or next_.block is not block or next_.operands[0] is not counter:
            continue
        step = next_.operands[1]
        bound = _bound(test, counter, next_, step)
        if bound is not None and all(_is_outside(each, block) for each in (step, bound)):
            return _Loop(block, others[0], exit_, counter, next_, step, bound)
    return None


def _bound(test: Instruction, counter: Instruction, next_: Instruction, step: IRValue) -> IRValue | None:
    """The bound below which the next counter must be, for another iteration."""
    one, other = test.operands
    if test.predicate == "slt" and one is next_:
        return other
    # Python's ranges compare what is left, which is a number of 64 bits where the next counter may be none.
    left = defined(one, "sub")
    if test.predicate == "ugt" and other is step and left is not None and left.operands[1] is counter:
        return left.operands[0]
    return None


def _is_outside(value: IRValue, block: Block) -> bool:
    return value.integer is None and not (isinstance(value, Instruction) and value.block is block)


def _times(loop: _Loop) -> int:
    """The iterations that are run together: 1 where an iteration writes, takes long, or loads enough by itself."""
    body = loop.block.instructions
    loads = [each for each in body if each.opcode == "load"]
    others = [each for each in body[:-1] if each.opcode != "load"]
    is_quick = all(is_pure(each) or each.callee.startswith(_QUICK) for each in others)
    is_slow = any(each.opcode in _SLOW for each in body)
    if is_slow or not is_quick or len(body) > _LARGEST_BODY or not all(each.form.is_plain for each in loads):
        return 1
    loaded = [each.type for each in loads if str(each.operands[0].type) == "ptr addrspace(1)"]
    if not loaded or not all(isinstance(each, IntType | FloatType) for each in loaded):
        return 1
    return min(4, 8 * _BYTES // sum(each.bits for each in loaded if isinstance(each, IntType | FloatType)))


def _unroll(function: Function, loop: _Loop, times: int) -> None:
    block = loop.block
    guard = function.add_block(block.quoted("guard"), before=block)
    unrolled = function.add_block(block.quoted("unrolled"), before=block)
    rest = function.add_block(block.quoted("rest"), before=block)
    done = function.add_block(block.quoted("done"), before=block)
    loop.outside.terminator.replace_operand(block, guard)

    starts: dict[IRValue, IRValue] = {phi: phi.incoming_from(loop.outside) for phi in block.phis}
    builder = Builder(guard)
    start = starts[loop.counter]
    ahead = builder.emit("mul i64 ?, ?", loop.step, times - 1)
    left = builder.emit("sub i64 ?, ?", loop.bound, start)
    before = builder.emit("add i64 ?, -1", loop.step)
    signs = builder.emit("or i64 ?, ?", start, loop.bound)
    tests = [
        builder.emit("icmp ult i64 ?, ?", before, _LARGEST_STEP),
        builder.emit("icmp sge i64 ?, 0", signs),
        builder.emit("icmp sgt i64 ?, ?", left, ahead),
    ]
    both = builder.emit("and i1 ?, ?", tests[0], tests[1])
    both = builder.emit("and i1 ?, ?", both, tests[2])
    builder.emit("br i1 ?, label ?, label ?", both, unrolled, block)

    builder = Builder(unrolled)
    phis: dict[IRValue, Instruction] = {
        phi: builder.phi(phi.type, [(starts[phi], guard)], name=phi.quoted("u")) for phi in block.phis
    }
    current: dict[IRValue, IRValue] = dict(phis)
    copies: dict[IRValue, IRValue] = {}
    for _ in range(times):
        copies = dict(current)
        for each in block.instructions[len(block.phis) : -1]:
            builder.insert(clone_instruction(each, copies))
        current = {phi: copies.get(value, value) for phi in block.phis for value in [phi.incoming_from(block)]}
    for phi, copy in phis.items():
        last = current[phi]
        copy.rewrite(f"phi {phi.type} [ ?, ? ], [ ?, ? ]", starts[phi], guard, last, unrolled)
    steps = builder.emit("mul i64 ?, ?", loop.step, times)
    left = builder.emit("sub i64 ?, ?", loop.bound, copies[loop.counter])
    builder.emit("br i1 ?, label ?, label ?", builder.emit("icmp sgt i64 ?, ?", left, steps), unrolled, rest)

    builder = Builder(rest)
    builder.emit("br i1 ?, label ?, label ?", builder.emit("icmp sgt i64 ?, ?", left, loop.step), block, done)
    for phi in block.phis:
        following = phi.incoming_from(block)
        phi.rewrite(
            f"phi {phi.type} [ ?, ? ], [ ?, ? ], [ ?, ? ]", starts[phi], guard, current[phi], rest, following, block
        )
    _give_to_exit(loop, rest, done, copies)


def _give_to_exit(loop: _Loop, rest: Block, done: Block, copies: dict[IRValue, IRValue]) -> None:
    """Let what follows the loop have the values of its last iteration, whichever block ran it."""
    loop.block.terminator.replace_operand(loop.exit, done)
    builder = Builder(done)
    for value in loop.block.instructions[:-1]:
        users = [each for each in dict.fromkeys(value.users) if each.block is not loop.block]
        users = [each for each in users if each.block is not rest]
        if users:
            merged = builder.phi(value.type, [(value, loop.block), (copies[value], rest)])
            for user in users:
                user.replace_operand(value, merged)
    builder.emit("br label ?", loop.exit)
    for phi in loop.exit.phis:
        phi.replace_operand(loop.block, done)
