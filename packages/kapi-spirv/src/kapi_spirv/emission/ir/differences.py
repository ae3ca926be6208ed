"""Values that differ between work-items because of what they are made of."""

from __future__ import annotations

import re

from .functions import NAME, Function

__all__ = ["different_values"]

_ID = re.compile(r"^(?:tail )?call [^@]*@_Z\d+get_(?:global|local)_idj\(i32 ([012])\)")
_CARRYING = re.compile(
    r"^(?:phi|add|sub|mul|shl (?:nuw nsw|nuw|nsw)|[sz]ext|[su]itofp|fadd|fsub|fmul|fdiv|fneg|fpext|getelementptr|load) "
)
"""Operations whose result differs where an operand does, for all that a compiler can find out."""


def different_values(function: Function) -> set[str]:
    """The values of a function that a compiler takes for different ones in each work-item, along each axis.

    They are made of ids, or read at places that are, by operations that let nothing of a difference go. Work-items of a
    vector are neighbours along one axis, and a compiler chooses which. So a value must be made of an id of each axis of
    which the function asks for one. Others may differ, too.
    """
    axes: dict[str, set[int]] = {}
    made_with: dict[str, list[str]] = {}
    for name, (_block, code) in function.made.items():
        own = _ID.match(code)
        if own:
            axes[name] = {int(own[1])}
        elif _CARRYING.match(code):
            for operand in NAME.findall(code):
                made_with.setdefault(operand, []).append(name)
    asked = set().union(*axes.values())
    pending = list(axes)
    while pending:
        operand = pending.pop()
        for name in made_with.get(operand, ()):
            known = axes.setdefault(name, set())
            if not axes[operand] <= known:
                known |= axes[operand]
                pending.append(name)
    return {name for name, own in axes.items() if own == asked}
