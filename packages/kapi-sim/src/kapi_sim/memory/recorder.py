"""The recorder of a running launch: arrays that note each access, lines and barriers."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any

import numpy as np

from kapi_sim.errors import DataRaceError
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.source import expression_span, line_of
from kapi_sim.memory.records import Record
from kapi_sim.memory.views import View
from kapi_sim.numbers.arithmetic import stored_integer
from kapi_sim.tracing.record import MOST_CELLS, Launch, TracedArray, TracedEvent, TracedFailure, plain

__all__ = ["TraceRecorder", "TracedView"]


class TraceRecorder:
    """Notes the events of one launch."""

    __slots__ = ("_clock", "_instructions", "_location_numbers", "_phase", "_private", "_refused", "_traced", "launch")

    def __init__(self, launch: Launch, clock: ScheduleState) -> None:
        self.launch = launch
        self._traced = launch
        self._clock = clock
        self._refused: int | None = None
        self._phase = 0
        self._private: dict[tuple[str, tuple[int, ...], str], int] = {}
        self._instructions: dict[tuple[CodeType, int, str], tuple[int, int]] = {}
        self._location_numbers: dict[tuple[CodeType, str, Any], int] = {}

    def start_anew(self) -> None:
        """Note another order besides the first, which is shown unless another one fails."""
        self._refused = None
        self.launch = replace(self._traced, events=[], dropped=0)

    def note_refused(self, kind: str, array: int, element: int, value: Any, frame: FrameType) -> None:
        """Note an access that a check does not let pass."""
        launch = self.launch
        kept = len(launch.events)
        self.note_access(kind, array, element, value, frame)
        if len(launch.events) == kept:  # there is always room for this one
            launch.limit, limit = kept + 1, launch.limit
            launch.dropped -= 1
            self.note_access(kind, array, element, value, frame)
            launch.limit = limit
        self._refused = kept

    def note_failure(self, error: Exception) -> None:
        """Note what ended the launch, and show the order in which it did."""
        launch, traced = self.launch, self._traced
        traced.events, traced.dropped = launch.events, launch.dropped
        report = self._clock.in_words("\n".join([str(error), *getattr(error, "__notes__", ())]))
        race = getattr(error, "race", None)
        if race is None or self._refused is None:
            own = (n for n in reversed(range(len(launch.events))) if launch.events[n].item == self._clock.uid)
            traced.failure = TracedFailure(type(error).__name__, report, next(own, None))
            return
        other = self._find(race.earlier, _KINDS.get(race.did, "atomic"))
        traced.failure = TracedFailure(type(error).__name__, report, self._refused, other, race.barrier)

    def _find(self, access: Any, kind: str) -> int | None:
        """Return the number of the event of a recorded access."""
        item, _, code, instruction, view, index = access[:6]
        if not isinstance(view, TracedView):
            return None
        line, position = line_of(code, instruction), (view.number, view.element_at(index))
        for number in reversed(range(self._refused or 0)):
            event = self.launch.events[number]
            if (event.item, event.kind, event.array, event.element) == (item, kind, *position):
                if self.launch.sites[event.site][2] == line:
                    return number
        return None

    def start_group(self) -> None:
        """Begin a group's first phase."""
        self._phase = 0

    def note_line(self, file: str, function: int, line: int) -> None:
        """Note that the running work-item comes to a line."""
        launch = self.launch
        launch.add(TracedEvent("line", self._clock.uid, self._phase, launch.site(file, function, line)))

    def note_convergence(self, kind: str, item: int, file: str, line: int, name: str) -> None:
        """Note that a work-item has come to a barrier or a group algorithm."""
        launch = self.launch
        known = next((site for site in launch.sites if site[0] == file and site[2] == line), (file, line, line))
        launch.add(TracedEvent(kind, item, self._phase, launch.site(*known), value=name))

    def pass_convergence(self) -> None:
        """Begin a group's next phase."""
        self._phase += 1

    def note_access(self, kind: str, array: int, element: int, value: Any, frame: FrameType) -> None:
        """Note a read or a write."""
        key = (frame.f_code, frame.f_lasti, kind)
        known = self._instructions.get(key)
        launch = self.launch
        if known is None:
            code = frame.f_code
            site = launch.site(code.co_filename, code.co_firstlineno, line_of(code, frame.f_lasti))
            # An instruction that Python specialises after some runs is at another offset from then on.
            position = (code, kind, expression_span(code, frame.f_lasti))
            known = self._instructions[key] = (
                site,
                self._location_numbers.setdefault(position, len(self._location_numbers)),
            )
        launch.add(TracedEvent(kind, self._clock.uid, self._phase, known[0], array, element, plain(value), known[1]))

    def add_array(self, array: np.ndarray[Any, Any], name: str, space: str) -> int:
        """Make an array known, and return its number.

        The private arrays that the work-items make on one line, one each, are one array of the trace.
        """
        key = (name, array.shape, str(array.dtype))
        if space == "private" and key in self._private:
            return self._private[key]
        is_kept = space == "global" and array.size <= MOST_CELLS
        initial = [plain(value) for value in array.reshape(-1)] if is_kept else None
        self.launch.arrays.append(TracedArray(name, space, array.shape, str(array.dtype), array.itemsize, initial))
        number = len(self.launch.arrays) - 1
        if space == "private":
            self._private[key] = number
        return number


_getframe = sys._getframe
_KINDS = {"read": "read", "wrote": "write"}


def _stored(value: Any, array: np.ndarray[Any, Any]) -> Any:
    """Return what an element of the array takes of a value."""
    made = np.empty((), array.dtype)
    made[()] = stored_integer(value, array.dtype) if array.dtype.kind in "iu" else value
    return made[()]


class TracedView(View):
    """A `View` that notes each access."""

    __slots__ = ("_element_numbers", "_number", "_recorder", "_root")

    def trace(self, recorder: TraceRecorder) -> TracedView:
        """Start to note accesses, and return itself."""
        self._recorder = recorder
        self._number = recorder.add_array(self._array, self.name, self.space)
        self._root = self._array
        self._element_numbers: dict[int, int] | None = None
        return self

    def _like(self, array: np.ndarray[Any, Any], name: str) -> View:
        made = super()._like(array, name)
        assert isinstance(made, TracedView)
        made._recorder, made._number, made._root = self._recorder, self._number, self._root
        made._element_numbers = self._element_numbers
        return made

    def __getitem__(self, index: Any) -> Any:
        return self._get(index, _getframe(1))

    def _get(self, index: Any, frame: FrameType) -> Any:
        try:
            value = super()._get(index, frame)
        except DataRaceError:
            self._refuse("read", index, self._array[index], frame)
            raise
        if not isinstance(value, (View, Record)):  # of a record, the fields are accessed
            self._recorder.note_access("read", self._number, self._element(index), value, frame)
        return value

    def __setitem__(self, index: Any, value: Any) -> None:
        self._set(index, value, _getframe(1))

    def _set(self, index: Any, value: Any, frame: FrameType) -> None:
        try:
            super()._set(index, value, frame)
        except DataRaceError:
            self._refuse("write", index, _stored(value, self._array), frame)
            raise
        if self._array.dtype.names is None:
            self._recorder.note_access("write", self._number, self._element(index), self._array[index], frame)

    def note_atomic(self, address: int, index: Any, frame: FrameType, *details: Any) -> None:
        try:
            super().note_atomic(address, index, frame, *details)
        except DataRaceError:
            self._refuse("atomic", index, self._array[index], frame)
            raise

    def _refuse(self, kind: str, index: Any, value: Any, frame: FrameType) -> None:
        self._recorder.note_refused(kind, self._number, self._element(index), value, frame)

    @property
    def number(self) -> int:
        """Index into the launch's arrays."""
        return self._number

    def element_at(self, index: Any) -> int:
        """Return the linear index, in the whole array, of an element of this view."""
        return self._element(index)

    def trace_atomic(self, index: Any, frame: FrameType) -> None:
        self._recorder.note_access("atomic", self._number, self._element(index), self._array[index], frame)

    def _element(self, index: Any) -> int:
        """Return the linear index, in the whole array, of the element at `index` of this view."""
        position = index if isinstance(index, tuple) else (index,)
        strides = self._array.strides
        address = self._base + sum(int(i) * step for i, step in zip(position, strides, strict=False))
        root = self._root
        start: int = root.__array_interface__["data"][0]
        if root.flags.c_contiguous:
            return (address - start) // root.itemsize
        if self._element_numbers is None:
            offsets = sum(
                np.arange(extent).reshape((-1,) + (1,) * (root.ndim - axis - 1)) * root.strides[axis]
                for axis, extent in enumerate(root.shape)
            )
            self._element_numbers = {int(offset): i for i, offset in reversed(list(enumerate(np.ravel(offsets))))}
        return self._element_numbers[address - start]
