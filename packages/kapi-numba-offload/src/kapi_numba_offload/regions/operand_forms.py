"""The form of a region's operands: all that its kernel depends on, without the lengths of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from kapi_numba_offload.elements.operands import number_key
from kapi_numba_offload.libraries.installed import library_of

__all__ = ["Form", "form_of"]

_Key = tuple[Any, ...]


class Form(NamedTuple):
    """The form of operands that broadcast together.

    - `key`: equal for operands of equal types and orders, whose axes of length 1 serve others at the same places.
    - `lengths`: lengths of the axes that all of them have together.
    """

    key: _Key
    lengths: tuple[int, ...]

    def template(self, shape: Sequence[int]) -> tuple[int | None, ...]:
        """The axis of `lengths` that each axis of a shape is as long as; None for one of a single element."""
        first = len(self.lengths) - len(shape)
        return tuple(
            None if length == 1 and self.lengths[axis] != 1 else axis for axis, length in enumerate(shape, first)
        )

    def shape(self, template: tuple[int | None, ...]) -> tuple[int, ...]:
        """The shape of a template, for operands of a form with the same key."""
        return tuple([1 if axis is None else self.lengths[axis] for axis in template])


def form_of(leaves: Sequence[Any], queue: Any) -> Form | None:
    """The form of operands on a queue; None for arrays that do not broadcast together."""
    key: list[Any] = [queue]
    shape: tuple[int, ...] = ()
    is_alike = True
    for leaf in leaves:
        own = library_of(leaf)
        if own is None:
            key.append(number_key(leaf))
            continue
        its, flags = leaf.shape, leaf.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        key.append((leaf.dtype, len(its), order, own.kind_of(leaf)))
        if its and its != shape:
            is_alike, shape = is_alike and not shape, its
    if is_alike:
        return Form(tuple(key), shape)
    shapes = [leaf.shape for leaf in leaves if library_of(leaf) is not None]
    lengths: list[int] = []
    for behind in zip_longest(*(reversed(each) for each in shapes), fillvalue=1):
        others = set(behind) - {1}
        if len(others) > 1:
            return None
        lengths.append(others.pop() if others else 1)
    key += [tuple([length == 1 for length in each]) for each in shapes]
    return Form(tuple(key), tuple(reversed(lengths)))
