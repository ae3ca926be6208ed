"""Arrays in a run whose accesses are not recorded, but proved to be of one work-item each."""

from __future__ import annotations

import sys
from typing import Any, ClassVar

import numpy as np

from kapi_sim.checks.ownership import SHARED, UNTOUCHED, OwnershipMemory
from kapi_sim.memory.views import View

__all__ = ["OwnedView"]

_getframe = sys._getframe


class OwnedView(View):
    """A `View` that looks up the owner of an element where the element is.

    - `as_python`: types of elements that the kernel gets as Python's numbers.
    """

    __slots__ = ("_first", "_is_followed", "_owned_stride", "_owned_width_stride", "_reach", "_states", "_take")

    as_python: ClassVar[frozenset[type[Any]]] = frozenset()

    def __init__(self, array: np.ndarray[Any, Any], *details: Any) -> None:
        super().__init__(array, *details)
        # Of a vector that is all of its memory, so many elements are looked up by their index.
        self._reach = 0
        self._is_followed = False
        shadow = self._shadow
        owners = shadow.owners_at(self._base, array.itemsize) if isinstance(shadow, OwnershipMemory) else None
        if owners is None or array.dtype.names is not None or any(step % array.itemsize for step in array.strides):
            return
        self._states = owners.states
        self._take = array.item if self.kind in self.as_python else array.__getitem__
        if self._is_vector and self._base == owners.low and self._stride == array.itemsize:
            self._reach = self._length
        self._is_followed = True
        self._first = (self._base - owners.low) // array.itemsize
        self._owned_stride = self._stride // array.itemsize
        self._owned_width_stride = self._width_stride // array.itemsize

    def __getitem__(self, index: Any) -> Any:
        position = index if index.__class__ is int and 0 <= index < self._reach else self._position(index)
        if position >= 0:
            states, uid = self._states, self._clock.uid
            state = states[position]
            if state == uid or state == SHARED or state == -2 - uid:
                return self._take(index)
            if state == UNTOUCHED and not self.starts_unwritten:
                states[position] = uid
                return self._take(index)
        return self._get(index, _getframe(1))

    def __setitem__(self, index: Any, value: Any) -> None:
        if value.__class__ is self._stored:
            position = index if index.__class__ is int and 0 <= index < self._reach else self._position(index)
            if position >= 0:
                states, uid = self._states, self._clock.uid
                state = states[position]
                if state == UNTOUCHED or state == uid:
                    states[position] = state = -2 - uid
                if state == -2 - uid:
                    self._array[index] = value
                    return
        self._set(index, value, _getframe(1))

    def _position(self, index: Any) -> int:
        """Return which of the states is that of an element; -1 if `View` is to check the access."""
        if not self._is_followed:
            return -1
        if index.__class__ is tuple:
            if len(index) == 2 and self._is_matrix:
                i, j = index
                if i.__class__ is int and j.__class__ is int and 0 <= i < self._length and 0 <= j < self._width:
                    return self._first + i * self._owned_stride + j * self._owned_width_stride
        elif index.__class__ is int and self._is_vector and 0 <= index < self._length:
            return self._first + index * self._owned_stride
        return -1
