"""Kernels written at random do the same on the device, in the simulator and in plain Python over NumPy's scalars."""

from __future__ import annotations

import importlib.util
import os
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
from kapi_sim.spec.math_functions import MATH_FUNCTIONS
from kapi_sim.spec.operators import OPERATORS, identity


def beside(name: str) -> Any:
    """A package of this folder, which is on no path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).parent / name / "__init__.py")
    package = importlib.util.module_from_spec(specification)
    sys.modules[name] = package
    specification.loader.exec_module(package)
    return package


random_kernels = beside("random_kernels")
FIXED, OF_THE_DAY = int(os.environ.get("KAPI_RANDOM_KERNELS", "100")), 100
IN_NIGHTLY = 1000  # the session starts a process for each thousand, since kernels stay in the driver's memory
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
ROWS = {row.name: row for row in OPERATORS}
ULP = {name: ulp for name, *_, ulp in MATH_FUNCTIONS}


def launch(world: Any, program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """What is in the arrays after a launch in a world."""
    kernel = world.kernel(program.function(world))
    bases = program.bases(seed)
    bases = [dpnp.asarray(base) if world is kapi_runtime else base for base in bases]
    given = [array.seen(base) for array, base in zip(program.arrays.values(), bases, strict=True)]
    given += program.numbers(seed)
    whole, part = program.spaces
    space = world.Range(*whole)
    if program.has_groups:
        kernel = world.kernel(sub_group_size=random_kernels.SUB_GROUP)(program.function(world))
        space = world.NdRange(whole, part)
        given.append(world.LocalAccessor(random_kernels.GROUP, program.tile))
        given.append(world.LocalAccessor(random_kernels.CELLS, random_kernels.SPREAD[0]))
    world.call_kernel(kernel, space, *given)
    return [base.asnumpy() if world is kapi_runtime else base for base in bases]


def run_plainly(program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """What the judge says is in the arrays; in more digits where functions may differ by some ulp."""
    bases = program.bases(seed)
    arrays = list(program.arrays.values())
    bases = [
        base.astype(np.longdouble) if array.role == "near" else base for array, base in zip(arrays, bases, strict=True)
    ]
    seen = [array.seen(base) for array, base in zip(arrays, bases, strict=True)]
    random_kernels.run_plainly(program, seen, program.numbers(seed), lambda n, dtype: identity(ROWS[n], dtype))
    return bases


def assert_near(result: Any, wanted: Any, name: str, message: str) -> None:
    """Within the ulp of the table, of a function that an array is called for."""
    function = name.split("_")[1]
    with np.errstate(all="ignore"):
        rounded = wanted.astype(result.dtype)
        last_place = np.spacing(np.abs(rounded)).astype(np.longdouble)
        is_near = np.abs(result.astype(np.longdouble) - wanted) <= (ULP[function] + 0.5) * last_place
    is_same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    wrong = np.argwhere(~(is_near | is_same))
    assert not wrong.size, f"{message}: {result[wrong[0]]} for {wanted[wrong[0]]} at {wrong[0]}"


def compare(program: Any, seed: int) -> None:
    """Run a program in three ways."""
    wanted = run_plainly(program, seed)
    for world in (kapi_sim, kapi_runtime):
        try:
            found = launch(world, program, seed)
        except ZeroDivisionError:
            assert world is kapi_sim, "a device does not raise where nothing is checked"
            assert program.may_divide_by_zero
            continue
        for (name, array), result, right in zip(program.arrays.items(), found, wanted, strict=True):
            message = f"{name} differs in {world.__name__}"
            if array.role == "near":
                assert_near(result, right, name, message)
            else:
                np.testing.assert_array_equal(result, right, err_msg=message)


@settings(max_examples=FIXED, derandomize=True, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_agree(program, seed):
    compare(program, seed)


@settings(max_examples=OF_THE_DAY, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_of_the_day_agree(program, seed):
    compare(program, seed)


@pytest.mark.nightly
@settings(max_examples=IN_NIGHTLY, **QUIET)
@given(program=random_kernels.programs(), seed=st.integers(0, 1000))
def test_random_kernels_agree_at_length(program, seed):
    compare(program, seed)
