"""The kernel language, on the device: the suite that the simulator passes, too. By day it is a sample."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
import pytest

import kapi_runtime
from kapi_runtime import Kernel
from kapi_sim.language import KernelOptions
from kapi_sim.testing.conformance import CASES


class Device:
    kapi = kapi_runtime

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return dpnp.asarray(array) if array.dtype.names is None else kapi_runtime.memory.asarray(array)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array.asnumpy())


@pytest.mark.nightly(one_in=8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: Any) -> None:
    case.run(Device())


@pytest.mark.nightly(one_in=80)
@pytest.mark.parametrize("options", [{"debug": True}, {"inline": "never"}], ids=["debug", "without-inlining"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_whatever_the_options(case: Any, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks and calls change no result."""
    made = Kernel.__init__

    def with_options(self: Kernel, function: Any, _options: Any = None, target: Any = None) -> None:
        made(self, function, KernelOptions(**options), target)

    monkeypatch.setattr(Kernel, "__init__", with_options)
    case.run(Device())


def test_conformance_suite_is_not_empty() -> None:
    assert len(CASES) > 20
