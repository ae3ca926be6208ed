"""The kernel language, on the device: the suite that the simulator passes, too."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
import pytest

import kapi_runtime
from kapi_sim.testing.conformance import CASES


class Device:
    kapi = kapi_runtime

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return dpnp.asarray(array)

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array.asnumpy())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: Any) -> None:
    case.run(Device())


def test_conformance_suite_is_not_empty() -> None:
    assert len(CASES) > 20
