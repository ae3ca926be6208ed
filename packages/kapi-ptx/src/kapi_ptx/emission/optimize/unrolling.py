"""The loops that LLVM unrolls: those over private arrays fully, and none that would copy functions of libdevice.

A private array is in registers once all its indices are numbers, else it is in memory, some hundred cycles away. LLVM
knows that of no target but AMD's, and counts a function of libdevice, which is inlined later, as one instruction: a
loop of sines that it unrolls leaves the processor's instruction cache.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from kapi_lowering.emission.llvm_ir import (
    ControlFlow,
    FloatType,
    Function,
    Instruction,
    IntType,
    IRArrayType,
    IRType,
    IRValue,
    Module,
    NaturalLoop,
    defined,
)

from ..libdevice.mathematics import FUNCTION_PATTERN

__all__ = ["guide_unrolling", "needs_guide"]

_MOST_INSTRUCTIONS = 6000
"""Of a function whose loops are unrolled for its private arrays."""
_MOST_BYTES = 512
"""Of a private array in registers: half of the 255 that a thread has, each of four bytes."""
_MOST_ITERATIONS = 256
_UNKNOWN_ITERATIONS = 4
"""The factor by which LLVM unrolls a loop of an unknown number of iterations."""
_LARGEST_BODY = 300
"""LLVM's own limit for what it unrolls fully."""
_SIZES = {"float": 30, "double": 60}
"""Instructions of a function of libdevice, about."""

_CALL = re.compile(rf"call [^\n]*@\"?{FUNCTION_PATTERN.pattern}")
_ARRAY = re.compile(r"= alloca \[")
_LINEAR = frozenset(("add", "sub", "mul", "shl", "or", "sext", "zext", "trunc"))


def needs_guide(sources: list[str], optimised: str) -> bool:
    """Whether LLVM left a private array in memory, or copied functions of libdevice."""
    calls = sum(len(_CALL.findall(each)) for each in sources)
    return _ARRAY.search(optimised) is not None or len(_CALL.findall(optimised)) > calls


def guide_unrolling(module: Module) -> None:
    """Mark loops to be fully unrolled, or not at all."""
    for function in module.definitions:
        loops = _Loops(function)
        for loop in loops.of_private_arrays():
            _mark(module, loop, "full")
        for loop in loops.flow.loops:
            if loop not in loops.marked and loops.copies_functions(loop):
                _mark(module, loop, "disable")


def _mark(module: Module, loop: NaturalLoop, what: str) -> None:
    node = module.add_metadata(f'!{{!"llvm.loop.unroll.{what}"}}')
    of_loop = module.add_metadata(f"distinct !{{{{}}, {node}}}")
    for latch in loop.latches:
        latch.terminator.attach("llvm.loop", of_loop)


class _Loops:
    """The loops of a function, and how often they run."""

    def __init__(self, function: Function) -> None:
        self.flow = ControlFlow(function)
        self.marked: set[NaturalLoop] = set()
        self._function = function
        self._headers = {loop.header: loop for loop in self.flow.loops if loop.header is not None}

    def of_private_arrays(self) -> set[NaturalLoop]:
        """The loops whose counters index private arrays, if all indices are of such, and the code stays small."""
        for array in self._function.entry.instructions:
            if array.opcode == "alloca" and (found := self._indexing(array)):
                self.marked |= found
        if self._size(None) > _MOST_INSTRUCTIONS:
            self.marked.clear()
        return self.marked

    def _indexing(self, array: Instruction) -> set[NaturalLoop] | None:
        """The loops whose counters index a private array; None if something else does, or it does not fit."""
        if not isinstance(array.form.element, IRArrayType) or _bytes_of(array.form.element) > _MOST_BYTES:
            return None
        found: set[NaturalLoop] = set()
        pending: list[Instruction] = [array]
        while pending:
            pointer = pending.pop()
            for user in pointer.users:
                if user.opcode == "getelementptr" and user.operands[0] is pointer:
                    if not all(self._is_linear(index, found, set()) for index in user.operands[1:]):
                        return None
                    pending.append(user)
                elif not _reads_or_writes(user, pointer):
                    return None
        return found if all(self._iterations(loop) for loop in found) else None

    def _is_linear(self, value: IRValue, found: set[NaturalLoop], seen: set[Instruction]) -> bool:
        """Whether a value is a number once loops are unrolled, which are added to what was found."""
        if not isinstance(value, Instruction):
            return value.integer is not None
        if value in seen:
            return True
        seen.add(value)
        if value.opcode == "phi":
            loop = self._headers.get(value.block) if value.block else None
            if loop is None:
                return False
            found.add(loop)
            return all(self._is_linear(each, found, seen) for each, _ in value.incoming)
        return value.opcode in _LINEAR and all(self._is_linear(each, found, seen) for each in value.operands)

    def _iterations(self, loop: NaturalLoop) -> int | None:
        """The iterations of a loop: None if unknown, an estimate if outer loops are to be unrolled first."""
        for block in loop.exiting:
            test = defined(block.terminator.operands[0], "icmp")
            if test is None or test.operands[1].integer is None:
                continue
            leaves = block.successors[0] not in loop.blocks
            for phi in loop.header.phis if loop.header else ():
                outside = [value for value, from_ in phi.incoming if from_ not in loop.blocks]
                following = [defined(value, "add") for value, from_ in phi.incoming if from_ in loop.blocks]
                if len(outside) != 1 or len(following) != 1 or following[0] is None:
                    continue
                step = following[0].operands[1].integer
                if step is None or following[0].operands[0] is not phi or test.operands[0] not in (phi, following[0]):
                    continue
                if outside[0].integer is None:
                    return _MOST_ITERATIONS // 16 if self._is_linear(outside[0], set(), set()) else None
                offset = step if test.operands[0] is following[0] else 0
                return _count(outside[0].integer, step, offset, test.predicate, test.operands[1].integer, leaves)
        return None

    def _size(self, loop: NaturalLoop | None) -> int:
        """The instructions of a loop, or of the function, once what is marked is unrolled."""
        inner = loop.inner if loop else [each for each in self.flow.loops if each.parent is None]
        within = {block for each in inner for block in each.blocks}
        blocks = (each for each in self._function.blocks if each not in within and (not loop or each in loop.blocks))
        body = sum(map(_size_of, (each for block in blocks for each in block.instructions))) + sum(
            map(self._size, inner)
        )
        return body * (self._iterations(loop) or 1) if loop in self.marked and loop else body

    def copies_functions(self, loop: NaturalLoop) -> bool:
        """Whether unrolling a loop would make much of functions of libdevice."""
        if not any(FUNCTION_PATTERN.fullmatch(each.callee) for each in loop.instructions()):
            return False
        return self._size(loop) * (self._iterations(loop) or _UNKNOWN_ITERATIONS) > _LARGEST_BODY


def _count(start: int, step: int, offset: int, predicate: str, bound: int, leaves: bool) -> int | None:
    """The iterations of a loop that tests its counter, with an offset, against a number; None beyond the limit."""
    compare = _COMPARISONS[predicate]
    for count in range(1, _MOST_ITERATIONS + 1):
        if compare(start + offset, bound) == leaves:
            return count
        start += step
    return None


def _unsigned(value: int) -> int:
    return value % 2**64


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda one, other: one == other,
    "ne": lambda one, other: one != other,
    "slt": lambda one, other: one < other,
    "sle": lambda one, other: one <= other,
    "sgt": lambda one, other: one > other,
    "sge": lambda one, other: one >= other,
    "ult": lambda one, other: _unsigned(one) < _unsigned(other),
    "ule": lambda one, other: _unsigned(one) <= _unsigned(other),
    "ugt": lambda one, other: _unsigned(one) > _unsigned(other),
    "uge": lambda one, other: _unsigned(one) >= _unsigned(other),
}


def _size_of(each: Instruction) -> int:
    if each.opcode in ("phi", "br"):
        return 0
    return _SIZES.get(each.type.text, 60) if FUNCTION_PATTERN.fullmatch(each.callee) else 1


def _reads_or_writes(user: Instruction, pointer: Instruction) -> bool:
    if user.opcode == "store":
        return user.operands[0] is not pointer
    return user.opcode == "load" or user.callee.startswith(("llvm.lifetime.", "llvm.memset.", "llvm.memcpy."))


def _bytes_of(type_: IRType | None) -> int:
    """The size of what may be in registers; more than fits for anything else."""
    if isinstance(type_, IRArrayType):
        return type_.count * _bytes_of(type_.element)
    return math.ceil(type_.bits / 8) if isinstance(type_, IntType | FloatType) else _MOST_BYTES + 1
