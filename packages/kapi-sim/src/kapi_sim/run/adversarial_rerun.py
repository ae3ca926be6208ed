"""Reruns of a launch in other orders of work-items, chosen by what its first run did.

A loop that waits for another work-group ends if that one has run before; a lock that one work-item takes without
an acquire is in order for all that come after it.  Which launches may have such, the first run tells: then a
work-group that heard of another one runs alone, as if it came first, and a launch with locks runs backwards.
"""

from __future__ import annotations

from collections.abc import Callable

from kapi_sim.checks.ordered_races import CrossGroupReads, HappensBeforeShadowMemory
from kapi_sim.errors import DeadlockError
from kapi_sim.instrument.instrumented_function import Compiled
from kapi_sim.memory.arguments import Bound
from kapi_sim.memory.infinite_loops import BoundedWaitError, waiting_for_another_group
from kapi_sim.run.execution_order import Order
from kapi_sim.settings.breakpoints import is_debugged

__all__ = ["AdversarialRerun"]


class AdversarialRerun:
    """Runs a launch, and what of it is worth another run."""

    __slots__ = ("_before", "_bound", "_run")

    def __init__(self, bound: Bound, compiled: Compiled, run: Callable[[Order], None]) -> None:
        self._bound = bound
        self._run = run
        shadow = bound.shadow
        is_able = isinstance(shadow, HappensBeforeShadowMemory) and shadow.finds_races
        # A trace shows one run, and a debugger stops in one.
        is_able &= bound.recorder is None and not is_debugged()
        self._before = bound.snapshot() if is_able else None
        if isinstance(shadow, HappensBeforeShadowMemory):
            shadow.observes_others = is_able and compiled.waits

    def rerun(self) -> None:
        """Run again, if the run that has just ended gives cause; leave the arrays as that run did.

        Raises `KapiError`: what a check finds then; `Exception`: what the kernel raises then.
        """
        bound, shadow = self._bound, self._bound.shadow
        if self._before is None or not isinstance(shadow, HappensBeforeShadowMemory) or bound.ordering is None:
            return
        observed = shadow.observed
        depends_on_order = bound.ordering.depends_on_order
        if not observed and not depends_on_order:
            return
        after = bound.snapshot()
        shadows = [each for each in (shadow, bound.local_shadow) if each is not None]
        kept = [each.set_aside() for each in shadows]
        bound.is_rerun = True
        try:
            for location, (group, hearings) in enumerate(observed.items(), 1):
                # Groups are alike: of many, few are looked at.
                if location & (location - 1) == 0:
                    self._run_alone(group, list(hearings.values()))
            if depends_on_order:
                self._run_backwards()
        finally:
            bound.is_rerun = False
            bound.restore(after)
            for each, accesses in zip(shadows, kept, strict=True):
                each.resume(accesses)

    def _start(self) -> None:
        assert self._before is not None
        self._bound.restore(self._before)
        self._bound.forget()

    def _run_alone(self, group: int, observed: list[CrossGroupReads]) -> None:
        self._start()
        try:
            self._run(Order(only=group))
        except BoundedWaitError:
            # It goes on without the others at some time.
            return
        except DeadlockError as error:
            raise waiting_for_another_group(self._bound, observed).with_traceback(error.__traceback__) from None
        except Exception as error:
            error.add_note("found with this work-group running before all others")
            raise

    def _run_backwards(self) -> None:
        self._start()
        try:
            self._run(Order(is_reversed=True))
        except BoundedWaitError:
            return
        except Exception as error:
            error.add_note(
                "found with the work-items in reverse order: in program order, atomics happen to order these accesses"
            )
            raise
