"""Kernels written at random do the same on the device, in the simulator and in plain Python over NumPy's scalars."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kapi_runtime
import kapi_sim
from kapi_sim.spec.operators import OPERATORS, identity


def beside(name: str) -> Any:
    """A module of this folder, which is on no path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


random_kernels = beside("random_kernels")
IN_CI, IN_NIGHTLY = 200, 2000
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
ROWS = {row.name: row for row in OPERATORS}


def launch(world: Any, program: Any, arrays: list[Any]) -> list[np.ndarray[Any, Any]]:
    """What is in the arrays after a launch in a world."""
    kernel = world.kernel(program.function(world))
    given = [dpnp.asarray(array) if world is kapi_runtime else array.copy() for array in arrays]
    space, tile = world.Range(random_kernels.ITEMS), []
    if program.has_groups:
        space = world.NdRange(random_kernels.ITEMS, random_kernels.GROUP)
        tile = [world.LocalAccessor(random_kernels.GROUP, np.int32)]
    world.call_kernel(kernel, space, *given, *tile)
    return [array.asnumpy() if world is kapi_runtime else array for array in given]


def compare(program: Any, seed: int) -> None:
    """Run a program in three ways."""
    arrays = program.arrays(seed)
    wanted = [array.copy() for array in arrays]
    random_kernels.run_plainly(program, wanted, lambda name, dtype: identity(ROWS[name], dtype))
    for world in (kapi_sim, kapi_runtime):
        found = launch(world, program, arrays)
        for name, result, right in zip(program.parameters, found, wanted, strict=True):
            np.testing.assert_array_equal(result, right, err_msg=f"{name} differs in {world.__name__}")


@settings(max_examples=IN_CI, derandomize=True, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_agree(program, seed):
    compare(program, seed)


@pytest.mark.nightly
@settings(max_examples=IN_NIGHTLY, **QUIET)
@given(program=random_kernels.programs(), seed=st.integers(0, 1000))
def test_random_kernels_agree_at_length(program, seed):
    compare(program, seed)
