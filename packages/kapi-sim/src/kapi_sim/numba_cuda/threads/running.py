"""The launch that runs: which thread of which block is at work, and what memory its block has."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.language.intrinsics.index_space import NdRange, Range
from kapi_sim.numba_cuda.wording import in_cuda_words
from kapi_sim.settings.simulation_settings import current_settings

if TYPE_CHECKING:
    from kapi_sim.memory.arguments import Bound

__all__ = ["CudaClock", "Triple", "begin", "configured", "is_running", "running", "shared_bytes"]

_running: ContextVar[CudaClock | None] = ContextVar("kapi_sim_numba_cuda", default=None)
_shared_bytes: ContextVar[int] = ContextVar("kapi_sim_numba_cuda_shared", default=0)

Triple = tuple[int, int, int]


class CudaClock(ScheduleState):
    """A launch's position in its schedule, in CUDA's words, and what each block has of its own.

    Attributes
    ----------
    block_dim, grid_dim : tuple of int
        Threads of a block and blocks of the grid, along x, y and z.
    bound : Bound
        The launch's arguments.
    shared : dict
        What kernels have made, by the number of the block that it belongs to (-1 for all) and by what made it.
    sizes : dict
        Bytes of the shared arrays, by the place that makes them.
    is_linear : bool
        Whether blocks and grid have one axis, along which a thread's number is its index.
    wraps_around : bool
        Whether computed negative indices count from the end.
    """

    __slots__ = (
        "_latest",
        "_threads",
        "block_dim",
        "bound",
        "grid_dim",
        "is_linear",
        "shared",
        "sizes",
        "wraps_around",
    )

    def __init__(self, space: Range | NdRange, sub_group_size: int) -> None:
        assert isinstance(space, NdRange)
        z, y, x = space.local_range
        self.block_dim: Triple = (x, y, z)
        z, y, x = space.group_range
        self.grid_dim: Triple = (x, y, z)
        self.is_linear = self.block_dim[1:] == self.grid_dim[1:] == (1, 1)
        self.shared: dict[tuple[int, object], Any] = {}
        self.sizes: dict[object, int] = {}
        self.bound: Bound | None = None
        self.wraps_around = current_settings().wraparound
        self._latest = -1, 0, 0, 0
        x, y, z = self.block_dim
        self._threads = [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]
        super().__init__(space, sub_group_size)

    def restart(self) -> None:
        """Go back to the start of the launch."""
        super().restart()
        self.shared.clear()
        self.sizes.clear()

    def end_group(self, group: int) -> None:
        for key in [key for key in self.shared if key[0] == group]:
            del self.shared[key]

    @property
    def thread_idx(self) -> Triple:
        """The running thread, along x, y and z."""
        return self._threads[self.uid % self.group_size]

    @property
    def block_idx(self) -> Triple:
        """Its block, along x, y and z."""
        return self.block_of(self.uid)

    @property
    def lane(self) -> int:
        """Its place in its warp."""
        return self.uid % self.group_size % self.sub_group_size

    @property
    def extents(self) -> tuple[int, ...]:
        """Threads of the grid along the axes that it has."""
        x, y, z = map(operator.mul, self.grid_dim, self.block_dim)
        return (x, y, z) if z > 1 else (x, y) if y > 1 else (x,)

    def global_id(self) -> tuple[int, ...]:
        """Return the running thread's index in the grid, along the axes that this has."""
        return self.grid_index(self.uid)[: len(self.extents)]

    def grid_index(self, uid: int) -> Triple:
        """Return a thread's index in the grid, along x, y and z."""
        number, local = divmod(uid, self.group_size)
        if number != self._latest[0]:
            # Most threads ask while their block runs, so its corner is known.
            x, y, z = map(operator.mul, _triple(number, self.grid_dim), self.block_dim)
            self._latest = number, x, y, z
        (_, x, y, z), (i, j, k) = self._latest, self._threads[local]
        return x + i, y + j, z + k

    def describe(self, uid: int | None = None) -> str:
        """Name a thread, the running one if none is given, and its block."""
        number = self.uid if uid is None else uid
        block = _spelled(self.block_of(number), self.grid_dim)
        return f"{self.describe_in_launch(number)} of block {block}"

    def describe_in_launch(self, uid: int) -> str:
        """Name a thread by its index in its block."""
        return f"thread {_spelled(self._threads[uid % self.group_size], self.block_dim)}"

    def label(self, uid: int) -> str:
        x, y, z = map(operator.mul, self.grid_dim, self.block_dim)
        return _spelled(self.grid_index(uid), (x, y, z))

    def block_of(self, uid: int) -> Triple:
        """Return a thread's block, along x, y and z."""
        return _triple(uid // self.group_size, self.grid_dim)

    @property
    def spelled_space(self) -> str:
        blocks, threads = (
            _spelled(extents, extents if extents[2] > 1 else (1, extents[1], 1))
            for extents in (self.grid_dim, self.block_dim)
        )
        return f"{blocks} blocks of {threads} threads"

    def in_words(self, text: str) -> str:
        return in_cuda_words(text)


def _triple(number: int, extents: Triple) -> Triple:
    number, x = divmod(number, extents[0])
    z, y = divmod(number, extents[1])
    return x, y, z


def _spelled(index: Triple, extents: Triple) -> str:
    """Return an index as far as the launch has axes: ``3``, ``(3, 1)`` or ``(3, 1, 0)``, x first."""
    if extents[2] > 1:
        return str(index)
    return str(index[:2]) if extents[1] > 1 else str(index[0])


def running(word: str) -> CudaClock:
    """Return the launch that runs.

    Raises
    ------
    KernelLaunchError
        If none does: `word` was used outside of a kernel.
    """
    clock = _running.get()
    if clock is None:
        raise KernelLaunchError(
            f"cuda.{word} must be used inside a kernel, got a use outside of one: launch a kernel",
            code="outside-kernel",
        )
    return clock


def is_running() -> bool:
    """Return whether a kernel runs here."""
    return _running.get() is not None


def shared_bytes() -> int:
    """Return how many bytes of dynamic shared memory the launch asked for."""
    return _shared_bytes.get()


@contextmanager
def configured(nbytes: int) -> Iterator[None]:
    """Let a launch begin that has so many bytes of dynamic shared memory, and end."""
    tokens = _shared_bytes.set(nbytes), _running.set(None)
    try:
        yield
    finally:
        _shared_bytes.reset(tokens[0])
        _running.reset(tokens[1])


def begin(bound: Bound) -> None:
    """Make the launch known whose arguments are bound."""
    clock = bound.clock
    assert isinstance(clock, CudaClock)
    clock.bound = bound
    _running.set(clock)
