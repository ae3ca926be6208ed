"""Kernels written at random do the same on the device, in the simulator and in plain Python over NumPy's scalars."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cpu_backend
import device_arrays
import numpy as np
import pytest
import random_kernels
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

import kapi_runtime
import kapi_sim
from kapi_sim.language.intrinsics.operators import OPERATORS, identity
from kapi_sim.language.table.math_functions import MATH_FUNCTIONS

COUNT = int(os.environ.get("KAPI_RANDOM_KERNELS", "40"))
BLOCKS, BLOCK = 10, 1000  # of a night
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
ROWS = {row.name: row for row in OPERATORS}
ULP = {name: ulp for name, *_, ulp in MATH_FUNCTIONS}


def kernel_and_space(world: Any, program: Any) -> tuple[Any, Any]:
    """The kernel, and the index space of a launch."""
    options = {"sub_group_size": device_arrays.SUB_GROUP} if program.has_groups else {}
    extents, part = program.spaces
    space = world.NdRange(extents, part) if program.has_groups else world.Range(*extents)
    return world.kernel(**options)(program.function(world)), space


def local_arrays(world: Any, program: Any) -> list[Any]:
    """The last arguments, of a program with groups."""
    sizes = [
        *((random_kernels.GROUP, code) for code in program.tiles),
        (random_kernels.CELLS, random_kernels.SPREAD[0]),
    ]
    return [world.LocalAccessor(*each) for each in sizes] if program.has_groups else []


def launch(world: Any, program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """Arrays after a launch in a world."""
    bases = program.bases(seed)
    # Memory that arrays share is one on the device too.
    copies = {id(base): device_arrays.asarray(base) for base in bases} if world is kapi_runtime else {}
    bases = [copies.get(id(base), base) for base in bases]
    given = [array.seen(base) for array, base in zip(program.arrays.values(), bases, strict=True)]
    given += program.numbers(seed)
    world.call_kernel(*kernel_and_space(world, program), *given, *local_arrays(world, program))
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


def run_in_one_lane(program: Any, seed: int) -> list[np.ndarray[Any, Any]]:
    """The third opinion: what kapi-cpu's code of one work-item after the other gives."""
    bases = program.bases(seed)
    given = [array.seen(base) for array, base in zip(program.arrays.values(), bases, strict=True)]
    given += [*program.numbers(seed), *local_arrays(kapi_sim, program)]
    cpu_backend.one_lane().call(*kernel_and_space(kapi_sim, program), *given)
    return bases


def culprit(program: Any, seed: int, name: str, found: Any) -> str:
    """The stores that explain the device's array."""
    opinion = run_in_one_lane(program, seed)[list(program.arrays).index(name)]
    if np.array_equal(opinion, found, equal_nan=found.dtype.kind in "fc"):
        return "kapi-cpu's one lane agrees with the device: typing or lowering"
    return "kapi-cpu's one lane differs: what the target writes, its passes, LLVM's back end for it, or the driver"


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


@settings(max_examples=COUNT, derandomize=True, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_agree(program, seed):
    compare(program, seed)


@settings(max_examples=COUNT, **QUIET)
@given(program=random_kernels.programs(depth=1), seed=st.integers(0, 1000))
def test_random_kernels_of_the_seed_agree(program, seed):
    compare(program, seed)


@pytest.mark.parametrize("seed", [7, 11])
def test_third_opinion_agrees_with_the_device(seed):
    drawn: list[Any] = []

    @settings(max_examples=12, phases=[Phase.generate], **QUIET)
    @hypothesis_seed(seed)
    @given(program=random_kernels.programs(depth=1))
    def draw(program):
        drawn.append(program)

    draw()
    assert {program.has_groups for program in drawn} == {False, True}
    for program in drawn:
        found = launch(kapi_runtime, program, seed)
        opinions = run_in_one_lane(program, seed)
        for (name, array), result, opinion in zip(program.arrays.items(), found, opinions, strict=True):
            if array.role != "near":  # each target has functions of its own
                np.testing.assert_array_equal(opinion, result, err_msg=f"{name}\n{program.source}")


@pytest.mark.nightly
@pytest.mark.parametrize("pair", range(BLOCKS // 2))
def test_random_kernels_agree_at_length(pair):
    """A thousand in each of two processes of their own: kernels stay in the driver's memory."""
    first = int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + 2 * pair
    folders = (Path(__file__).parent, Path(sys.modules["cpu_backend"].__file__).parents[1])
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
