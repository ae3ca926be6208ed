"""Indices of arrays that a loop chooses, as a binary search does: 32 bits hold them where they hold all extents."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    I32,
    I64,
    Block,
    Builder,
    Function,
    Instruction,
    IRValue,
    Module,
    constant,
    defined,
)
from kapi_lowering.emission.passes.packed_arrays import SIZES, Array, array_of, arrays_of, field_of, is_kernel
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["narrow_index_phis"]

_LARGEST = 2**31 - 1


@module_pass
def narrow_index_phis(module: Module) -> None:
    """Choose indices of arrays in 32 bits; for launches with small extents alone.

    A work-item reads and writes elements that exist, so the index of one is less than the array's extent. Therefore a
    binary search, which reads at half the sum of its bounds, has numbers of 31 bits and sums of 32. Vectors of such
    numbers are half as wide as those of 64 bits, and so are reads at them. Only what a loop chooses is changed: a
    counter that all work-items have alike is no vector.
    """
    arrays = arrays_of(module)
    for function in filter(is_kernel, module.definitions):
        _Indices(function, arrays).narrow()


class _Indices:
    """The integers of a function that are never negative and that 31 bits hold."""

    def __init__(self, function: Function, arrays: dict[int, Array]) -> None:
        self._function = function
        self._extents = {offset for array in arrays.values() for offset in array.extents}
        self._accessed = {found for each in function.instructions() if (found := _accessed(each, arrays))}
        values = [each for each in function.instructions() if each.type is I64]
        self._small = {each: parts for each in values if (parts := self._parts(each)) is not None}
        while True:  # what is not small makes what is made of it so, too
            large = {each for each, parts in self._small.items() if not all(map(self._is_small, parts))}
            if not large:
                break
            self._small = {each: parts for each, parts in self._small.items() if each not in large}

    def narrow(self) -> None:
        """Make what loops choose, and what that is made of, of 32 bits."""
        wide = self._made_of([each for each in self._small if self._is_chosen(each)])
        narrow: dict[IRValue, IRValue] = {each: self._narrowed(each) for each in wide}
        for each in wide:
            for position, part in (
                zip(_operand_indices(each), self._small[each], strict=True) if self._small[each] else ()
            ):
                user = narrow[each]
                total = defined(user, "lshr")
                user = total.operands[0] if total else user
                assert isinstance(user, Instruction)
                user.set_operand(position, _low(part, narrow))
        for test in self._function.instructions():
            if test.opcode == "icmp" and not narrow.keys().isdisjoint(test.operands):
                if all(each in narrow or (each.integer is not None and self._is_small(each)) for each in test.operands):
                    words = " ".join((*test.flags, test.predicate))
                    test.rewrite(f"icmp {words} i32 ?, ?", *(_low(each, narrow) for each in test.operands))
        for each in wide:
            if self._small[each]:  # the others are read from the packed argument, in 64 bits
                if any(user not in wide for user in each.users):
                    each.replace_all_uses_with(Builder.after(each).emit("sext i32 ? to i64", narrow[each]))
        for each in wide:
            if self._small[each]:
                for user in [*each.users]:
                    user.replace_operand(each, constant(I64, 0))
                each.erase()

    def _narrowed(self, each: Instruction) -> Instruction:
        """The instruction of 32 bits in place of one of the integers; its operands are set afterwards."""
        name = each.quoted("narrow")
        if not self._small[each]:
            return Builder.after(each).emit("trunc i64 ? to i32", each, name=name)
        builder = Builder.before(each)
        if each.opcode == "phi":
            return builder.phi(I32, [(0, block) for _, block in each.incoming], name=name)
        if each.opcode == "select":
            return builder.emit("select i1 ?, i32 ?, i32 ?", each.operands[0], 0, 0, name=name)
        if each.opcode == "add":
            return builder.emit("add i32 ?, 1", 0, name=name)
        return builder.emit("lshr i32 ?, 1", builder.emit("add i32 ?, ?", 0, 0), name=name)

    def _made_of(self, values: list[Instruction]) -> dict[Instruction, None]:
        """Integers, and the small ones that they are made of."""
        found: dict[Instruction, None] = {}
        pending = [*values]
        while pending:
            each = pending.pop()
            if each not in found:
                found[each] = None
                pending += [part for part in self._small[each] if isinstance(part, Instruction) and part in self._small]
        return found

    def _parts(self, each: Instruction) -> list[IRValue] | None:
        """Return the values whose smallness makes an integer small; None if it may be large, whatever they are."""
        if each.opcode == "phi":
            return [value for value, _ in each.incoming]
        if each.opcode == "select":
            return each.operands[1:]
        if each.opcode in ("lshr", "ashr") and each.operands[1].integer == 1:
            total = defined(each.operands[0], "add")
            return total.operands if total else None
        if each.opcode == "add" and each.operands[1].integer == 1 and (each.operands[0], each.block) in self._accessed:
            return each.operands[:1]
        if each.opcode == "load" and field_of(each.operands[0]) in self._extents:
            return []
        return None

    def _is_small(self, value: IRValue) -> bool:
        number = value.integer
        return value in self._small or (number is not None and 0 <= number <= _LARGEST)

    def _is_chosen(self, value: Instruction) -> bool:
        """Whether a variable is, in the next iteration, what a choice between it and others gave."""
        if value.opcode != "phi":
            return False
        choices = [each for each in self._small[value] if isinstance(each, Instruction) and each in self._small]
        return any(value in self._made_of([each]) for each in choices if each.opcode in ("select", "phi"))


def _accessed(access: Instruction, arrays: dict[int, Array]) -> tuple[IRValue, Block | None] | None:
    """The index at which a block reads or writes an array of one axis, with the block."""
    step = defined(access.operands[-1], "getelementptr") if access.opcode in ("load", "store") else None
    found = array_of(step) if step and len(step.operands) == 2 else None
    known = arrays.get(found[0]) if found and len(found[1]) == 2 else None
    if step is None or known is None or len(known.extents) != 1 or known.size != SIZES.get(str(step.form.element)):
        return None
    return step.operands[1], access.block


def _operand_indices(each: Instruction) -> range:
    """The positions of the parts among the operands of an instruction."""
    if each.opcode == "phi":
        return range(0, len(each.operands), 2)
    return range(1, 3) if each.opcode == "select" else range(2) if each.opcode in ("lshr", "ashr") else range(1)


def _low(value: IRValue, narrow: dict[IRValue, IRValue]) -> IRValue:
    return narrow[value] if value.integer is None else constant(I32, value.integer)
