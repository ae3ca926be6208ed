"""Queues of the CPU: work that a thread of the queue's does in the order in which it was submitted.

A launch that its caller waits for is run by the caller, once the queue has nothing left to do.  Such launches of
several threads run at once, unless the queue was made to keep them in order.
"""

from __future__ import annotations

import queue as queues
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from kapi_runtime.cpu.devices.device import CpuDevice, cpu_device
from kapi_runtime.cpu.queues import keep_alive
from kapi_runtime.cpu.queues.events import CpuEvent, Running, native_events
from kapi_runtime.platform import callbacks, recorder
from kapi_runtime.platform.handles import Queue, describe_device
from kapi_sim.forks import in_children, reinit_after_fork

__all__ = ["CpuQueue", "default_queue", "describe_queue", "every_queue"]

_LINGER = 5.0
"""Seconds without work after which a queue's thread ends."""

_LONGEST_NAP = 1e-3


@dataclass(slots=True, eq=False)
class _Task:
    event: CpuEvent
    work: Callable[[], None]
    before: list[CpuEvent]
    running: list[Any]


class CpuQueue(Queue):
    """A queue of the CPU.

    - `is_in_order`: whether also launches that several threads wait for run one after the other.
    - `last`: the event of what was submitted last to the queue's thread; None if all of it is done.
    - `running`: the launches that callers run by themselves at present; its keys alone count.
    """

    __slots__ = ("__weakref__", "_lock", "_tasks", "_worker", "is_in_order", "last", "number", "running")

    has_enable_profiling = True

    def __init__(self, is_in_order: bool = False) -> None:
        self.is_in_order = is_in_order
        self._lock = reinit_after_fork(threading.Lock())
        self.forget_work()
        with _lock:
            global _count
            self.number = _count
            _count += 1
            _queues.add(self)

    def forget_work(self) -> None:
        """Begin without any work: that of a parent process is its own."""
        self.last: CpuEvent | None = None
        self.running: Running = {}
        self._tasks: queues.SimpleQueue[_Task] = queues.SimpleQueue()
        self._worker: threading.Thread | None = None

    @property
    def device(self) -> CpuDevice:
        """The CPU."""
        return cpu_device()

    @property
    def sycl_device(self) -> CpuDevice:
        """The device, by the name that queues of SYCL have for it."""
        return cpu_device()

    @property
    def is_idle(self) -> bool:
        """Whether a launch may be run by its caller at once."""
        return self.last is None and not (self.is_in_order and self.running)

    def enqueue(self, work: Callable[[], None], before: Sequence[CpuEvent] = ()) -> CpuEvent:
        """Submit work to the queue's thread, after these events and all earlier work, and return its event."""
        event = CpuEvent()
        worker = self._worker
        if worker is not None and worker.ident == threading.get_ident():
            # A destructor launches: the thread cannot wait for itself.
            _do(_Task(event, work, list(before), []))
            return event
        with self._lock:
            self._tasks.put(_Task(event, work, list(before), list(self.running)))
            self.last = event
            if self._worker is not None:
                return event
            worker = self._worker = threading.Thread(target=self._serve, name="kapi-queue", daemon=True)
        try:
            worker.start()
        except RuntimeError:  # no thread can be started any more, as at the interpreter's exit
            self._worker = threading.current_thread()
            self._serve(linger=0.0)
        return event

    def run_here(self, work: Callable[[], None]) -> None:
        """Do work in the calling thread, after all that was submitted before and before all that is submitted later."""
        if not self.is_idle:
            self.wait()
        key = object()
        self.running[key] = None
        try:
            work()
        finally:
            del self.running[key]

    def synchronize(self) -> None:
        """Wait for all work that was submitted to the queue, and for its callbacks, as `Queue.synchronize` says."""
        recorder.require_no_graph("synchronize of a queue")
        self.wait()
        callbacks.wait_until_called(self)
        keep_alive.release()

    def wait(self) -> None:
        """Wait for all work that was submitted so far.  Other threads run meanwhile, and Ctrl-C is heard."""
        worker = self._worker
        if worker is not None and worker.ident == threading.get_ident():
            return
        running, last = list(self.running), self.last
        _wait_until_gone(running, self.running)
        if last is not None:
            _wait_quietly(last)

    def submit_barrier(self, dependent_events: Any = ()) -> CpuEvent:
        """Return an event that is done when these events are; without any, when all earlier work is."""
        return self.enqueue(_nothing, native_events(list(dependent_events)))

    @property
    def is_done(self) -> bool:
        """Whether all work that was submitted so far is done; waits for nothing."""
        return self.last is None and not self.running

    def _serve(self, linger: float = _LINGER) -> None:
        tasks = self._tasks
        while True:
            try:
                task = tasks.get(timeout=linger)
            except queues.Empty:
                with self._lock:
                    if not tasks.empty():
                        continue
                    self._worker = None
                    return
            _wait_until_gone(task.running, self.running)
            _do(task, self._forget)
            del task

    def _forget(self, event: CpuEvent) -> None:
        with self._lock:
            if self.last is event:
                self.last = None

    def _described(self) -> str:
        return describe_queue(self)


def _do(task: _Task, done: Callable[[CpuEvent], None] | None = None) -> None:
    """Do the work of a task, call `done`, and tell those who wait for it: they find the queue idle."""
    event, error = task.event, None
    try:
        for each in task.before:
            _wait_quietly(each)
        event.started = time.perf_counter_ns()
        task.work()
    except BaseException as raised:
        error = raised
    if done is not None:
        done(event)
    event.finish(error)


def _wait_quietly(event: CpuEvent) -> None:
    """Wait for an event; what its work raised, its own waiters get."""
    try:
        event.wait()
    except BaseException as error:
        if error is not event.error:
            raise


def _wait_until_gone(keys: Sequence[Any], running: Running) -> None:
    start = time.perf_counter()
    for key in keys:
        while key in running:
            time.sleep(min((time.perf_counter() - start) / 20, _LONGEST_NAP))


def _nothing() -> None:
    """Do nothing: a barrier's work."""


_lock = reinit_after_fork(threading.Lock())
_count = 0
_queues: WeakSet[CpuQueue] = WeakSet()
_default: CpuQueue | None = None


def every_queue() -> list[CpuQueue]:
    """Return all queues that are held."""
    with _lock:
        return list(_queues)


def default_queue() -> CpuQueue:
    """Return the queue of arrays, which name none; always the same object."""
    global _default
    found = _default
    if found is None:
        made = CpuQueue()
        with _lock:
            if _default is None:
                _default = made
            found = _default
    return found


def describe_queue(queue: CpuQueue) -> str:
    """Name a queue in a few words, for messages."""
    name = "the default queue" if queue is _default else f"queue {queue.number}"
    return f"{name} of {describe_device(queue.device)}"


def _after_fork_in_child() -> None:
    for each in list(_queues):
        each.forget_work()


in_children(_after_fork_in_child)
