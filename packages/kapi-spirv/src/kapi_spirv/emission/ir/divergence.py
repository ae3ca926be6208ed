"""Values that differ between work-items because of what they are made of."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import Function, IRValue

from .queries import id_axis

__all__ = ["different_values"]

_CARRYING = frozenset(
    "phi add sub mul shl sext zext uitofp sitofp fadd fsub fmul fdiv fneg fpext getelementptr load".split()
)
"""Operations whose result differs where an operand does, for all that a compiler can find out."""


def different_values(function: Function) -> set[IRValue]:
    """The values of a function that a compiler takes for different ones in each work-item, along each axis.

    They are made of ids, or read at indices that are, by operations that let nothing of a difference go. Work-items of
    a vector are neighbours along one axis, and a compiler chooses which. So a value must be made of an id of each axis
    of which the function asks for one. Others may differ, too.
    """
    axes: dict[IRValue, set[int]] = {}
    for each in function.instructions():
        if found := id_axis(each):
            axes[each] = {found[1]}
    asked = set().union(*axes.values())
    pending = [*axes]
    while pending:
        value = pending.pop()
        for user in getattr(value, "users", ()):
            if user.opcode in _CARRYING:
                known = axes.setdefault(user, set())
                if not axes[value] <= known:
                    known |= axes[value]
                    pending.append(user)
    return {value for value, own in axes.items() if own == asked}
