"""The kernel language on the CPU platform: the suite that the simulator passes, too, over the same NumPy arrays.

Here all of it runs each day. Other targets and platforms have a sample by day, and all of it at night.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kapi_runtime
from kapi_runtime import Kernel
from kapi_runtime.cpu import plan
from kapi_runtime.cpu.execution import launch, thread_pool
from kapi_sim.language import KernelOptions
from kapi_sim.testing.conformance import CASES


class Host:
    kapi = kapi_runtime

    def to_device(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array.copy()

    def to_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return array


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_on_the_cpu(case: Any) -> None:
    """A kernel that the disk cache has does what the compiled one did: its module knows types by name alone."""
    for _ in ("compiled", "cached"):
        case.run(Host())


@pytest.mark.nightly(one_in=40)
@pytest.mark.parametrize("options", [{"debug": True}, {"inline": "never"}], ids=["debug", "without-inlining"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_on_the_cpu_whatever_the_options(
    case: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checks and calls change no result."""
    made = Kernel.__init__

    def with_options(self: Kernel, function: Any, _options: Any = None, target: Any = None) -> None:
        made(self, function, KernelOptions(**options), target)

    monkeypatch.setattr(Kernel, "__init__", with_options)
    case.run(Host())


@pytest.mark.nightly(one_in=8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_on_the_cpu_with_every_launch_split(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four threads share the work-groups of each launch, however few and short: each has memory of its own."""
    monkeypatch.setattr(launch, "SHORT_NS", 0)
    monkeypatch.setattr(launch, "LONG_NS", 0)
    monkeypatch.setattr(launch, "_PER_THREAD", 1)
    monkeypatch.setattr(plan, "LONG_NS", 0)
    for module in (launch, thread_pool):
        monkeypatch.setattr(module, "thread_count", lambda: 4)
    case.run(Host())
