"""Work-items on threads, for kernels with barriers whose source is not available.

Such a kernel cannot be rewritten to a generator, so each work-item gets a thread that stops in
`group_barrier`.  One thread runs at a time, and the scheduler says which: a run is as exact, and as
repeatable, as one of generators, only slower.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from kapi_sim.errors import KernelCompilationError
from kapi_sim.instrument.iteration_counter import IterationCounter
from kapi_sim.items.convergence import ALGORITHM, Converging, Yielded, is_algorithm, is_convergent
from kapi_sim.language.intrinsics.outside import CARRIED_OUT
from kapi_sim.memory.infinite_loops import SPIN, Loop

__all__ = ["ThreadedItem"]


class _Abandoned(BaseException):
    """Ends the thread of a work-item that will not run again."""


class ThreadedItem:
    """One work-item's run, with the surface of a generator.

    - `iteration_limit`: after how many iterations of a loop it lets others run.
    - `*arguments`: what it is called with.
    """

    __slots__ = (
        "_answer",
        "_arguments",
        "_back",
        "_error",
        "_function",
        "_is_done",
        "_is_started",
        "_iteration_limit",
        "_loops",
        "_may_run",
        "_thrown",
        "_tracer",
        "_words",
        "_yielded",
        "calls",
    )

    def __init__(self, iteration_limit: int, function: Callable[..., Any], *arguments: Any) -> None:
        self._iteration_limit = iteration_limit
        self._loops = 0
        self._function = function
        self._arguments = arguments
        # What this thread carries out by itself, as the launching thread does.
        self._words = CARRIED_OUT[get_ident()]
        tracer = sys.gettrace()
        self._tracer = tracer if isinstance(tracer, IterationCounter) else None
        self._answer: object = None
        self._may_run = allocate_lock()
        self._back = allocate_lock()
        self._may_run.acquire()
        self._back.acquire()
        self._is_started = False
        self._is_done = False
        self._error: BaseException | None = None
        self._thrown: BaseException | None = None
        self._yielded: Yielded | None = None
        self.calls: tuple[tuple[str, int, int], ...] = ()

    @property
    def gi_frame(self) -> object:
        """`None` once the work-item has ended, as a generator has it."""
        return None if self._is_done else self

    def __iter__(self) -> ThreadedItem:
        return self

    def __next__(self) -> Yielded:
        return self.send(None)

    def send(self, answer: object) -> Yielded:
        """Let the work-item go on, with the result of what it converged with others for."""
        self._answer = answer
        if self._is_done:
            raise StopIteration
        if self._is_started:
            self._may_run.release()
        else:
            self._start()
        self._back.acquire()
        error, self._error = self._error, None
        if error is not None:
            raise error
        if self._is_done or self._yielded is None:
            raise StopIteration
        return self._yielded

    def throw(self, error: BaseException) -> Yielded:
        """Raise `error` where the work-item waits."""
        self._thrown = error
        return next(self)

    def close(self) -> None:
        """End the work-item's thread."""
        if self._is_started and not self._is_done:
            try:
                self.throw(_Abandoned())
            except StopIteration:
                return

    def _start(self) -> None:
        self._is_started = True
        # Controls such as NumPy's errstate are the launching thread's.
        context = copy_context()
        try:
            start_new_thread(context.run, (self._run,))
        except RuntimeError as error:
            self._is_done = True
            raise KernelCompilationError(
                f"source of `{self._function.__name__}` must be available, since it has a barrier and no thread can "
                f"be started here: {error}; put the function in a file",
                code="source-missing",
            ) from None

    def _run(self) -> None:
        CARRIED_OUT[get_ident()] = self._carry_out
        if self._tracer is not None:
            sys.settrace(self._tracer.with_end(self._iteration_limit, self._hand_over))
        try:
            self._function(*self._arguments)
        except _Abandoned:
            pass
        except BaseException as error:
            self._error = error
        finally:
            del CARRIED_OUT[get_ident()]
            self._is_done = True
            self._back.release()

    def _carry_out(self, word: Any, arguments: tuple[Any, ...]) -> object:
        """Carry out a word of the language; called in the work-item's thread."""
        return self._converge(word, arguments) if is_convergent(word) else self._words(word, arguments)

    def _converge(self, word: Any, arguments: tuple[Any, ...]) -> object:
        """Wait until the scheduler comes back, and return what it has for the work-item."""
        frame = sys._getframe(4)
        own = self._convergence_site(frame)
        calls = []
        while frame.f_back is not None and frame.f_back.f_code is not ThreadedItem._run.__code__:
            frame = frame.f_back
            calls.append(self._convergence_site(frame))
        self.calls = tuple(reversed(calls))
        if isinstance(word, Converging):
            self._yielded = word.arrive(own, *arguments)
        elif is_algorithm(word):
            group, value, *others = arguments
            self._yielded = (own, group, ALGORITHM, word, value, others[0] if others else None)
        else:
            group, fence_scope = arguments
            self._yielded = (own, group, fence_scope)
        self._wait_to_run()
        return self._answer

    def _hand_over(self, loop: Loop) -> None:
        """Let others run, for a loop runs for long."""
        self._loops += 1
        self._yielded = (loop, self._loops, SPIN, self._iteration_limit, None)
        self._wait_to_run()

    def _wait_to_run(self) -> None:
        self._back.release()
        self._may_run.acquire()
        thrown, self._thrown = self._thrown, None
        if thrown is not None:
            raise thrown

    @staticmethod
    def _convergence_site(frame: Any) -> tuple[str, int, int]:
        return (frame.f_code.co_filename, frame.f_lineno, frame.f_lasti)
