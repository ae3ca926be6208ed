"""Kernels written at random do the same on the device, in the simulator and in plain Python over NumPy's scalars."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import device_arrays
import numpy as np
import pytest
import random_kernels
from host_target import NotOnHost, host_kernel
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

import kapi_runtime
import kapi_sim
from kapi_sim.language.intrinsics.operators import OPERATORS, identity
from kapi_sim.language.table.math_functions import MATH_FUNCTIONS

FIXED, DRAWN = int(os.environ.get("KAPI_RANDOM_KERNELS", "100")), 100
BLOCKS, BLOCK = 10, 1000  # of a night
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
ROWS = {row.name: row for row in OPERATORS}
ULP = {name: ulp for name, *_, ulp in MATH_FUNCTIONS}


def launch(world: Any, program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """Arrays after a launch in a world."""
    kernel = world.kernel(program.function(world))
    bases = program.bases(seed)
    # Memory that arrays share is one on the device too.
    copies = {id(base): device_arrays.asarray(base) for base in bases} if world is kapi_runtime else {}
    bases = [copies.get(id(base), base) for base in bases]
    given = [array.seen(base) for array, base in zip(program.arrays.values(), bases, strict=True)]
    given += program.numbers(seed)
    whole, part = program.spaces
    space = world.Range(*whole)
    if program.has_groups:
        kernel = world.kernel(sub_group_size=device_arrays.SUB_GROUP)(program.function(world))
        space = world.NdRange(whole, part)
        given += [world.LocalAccessor(random_kernels.GROUP, code) for code in program.tiles]
        given.append(world.LocalAccessor(random_kernels.CELLS, random_kernels.SPREAD[0]))
    world.call_kernel(kernel, space, *given)
    return [device_arrays.asnumpy(base) if world is kapi_runtime else base for base in bases]


def run_plainly(program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """Arrays by the judge; in more digits where functions may differ by some ulp."""
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


def run_on_host(program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """The third opinion: what the kernel gives that is compiled for the host."""
    if program.has_groups:
        raise NotOnHost("work-items that meet")
    bases = program.bases(seed)
    given = [array.seen(base) for array, base in zip(program.arrays.values(), bases, strict=True)]
    given += program.numbers(seed)
    extents = program.spaces[0]
    host_kernel(program.function(kapi_runtime), len(extents), given)(extents, *given)
    return bases


def culprit(program: Any, seed: int, name: str, found: Any) -> str:
    """The stores that explain the device's array."""
    try:
        opinion = run_on_host(program, seed)[list(program.arrays).index(name)]
    except NotOnHost as why:
        return f"no third opinion: {why}"
    if np.array_equal(opinion, found, equal_nan=found.dtype.kind in "fc"):
        return "the host agrees with the device: typing or lowering"
    return "the host differs from the device: what the target writes, LLVM's back end for it, or the driver"


def compare(program: Any, seed: int) -> None:
    """Run a program in three ways; of a difference on the device, a fourth says who made it."""
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
            try:
                if array.role == "near":
                    assert_near(result, right, name, message)
                else:
                    np.testing.assert_array_equal(result, right, err_msg=message)
            except AssertionError as error:
                if world is kapi_sim:
                    raise
                raise AssertionError(f"{error}\n{culprit(program, seed, name, result)}") from None


@settings(max_examples=FIXED, derandomize=True, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_agree(program, seed):
    compare(program, seed)


@settings(max_examples=DRAWN, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_of_the_seed_agree(program, seed):
    compare(program, seed)


@pytest.mark.parametrize("seed", [7, 11])
def test_third_opinion_agrees_with_the_device(seed):
    """Programs without groups, compiled for the host."""
    drawn: list[Any] = []

    @settings(max_examples=12, phases=[Phase.generate], **QUIET)
    @hypothesis_seed(seed)
    @given(program=random_kernels.programs(depth=1))
    def draw(program):
        if not program.has_groups:
            drawn.append(program)

    draw()
    assert drawn
    for program in drawn:
        found = launch(kapi_runtime, program, seed)
        opinions = run_on_host(program, seed)
        for (name, array), result, opinion in zip(program.arrays.items(), found, opinions, strict=True):
            if array.role != "near":  # the host's own functions are another library's
                np.testing.assert_array_equal(opinion, result, err_msg=f"{name}\n{program.source}")


@pytest.mark.nightly
@pytest.mark.parametrize("pair", range(BLOCKS // 2))
def test_random_kernels_agree_at_length(pair):
    """A thousand in each of two processes of their own: kernels stay in the driver's memory."""
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + 2 * pair
    folders = (Path(__file__).parent, Path(sys.modules["host_target"].__file__).parents[1])
    path = os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = os.environ | {"PYTHONPATH": path}

    def run(block: int) -> Any:
        code = f"import test_random_kernels as tests; tests.run_block({block})"
        return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)

    with ThreadPoolExecutor(2) as pool:
        for done in pool.map(run, (first, first + 1)):
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]


def run_block(number: int) -> None:
    """Kernels that only this number gives."""

    @settings(max_examples=BLOCK, **QUIET)
    @hypothesis_seed(number)
    @given(program=random_kernels.programs(), seed=st.integers(0, 1000))
    def run(program, seed):
        compare(program, seed)

    run()
