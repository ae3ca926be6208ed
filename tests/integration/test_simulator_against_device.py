"""The device gives what the simulator gives, and both give what NumPy gives: values, shapes and strides are drawn."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import device_arrays
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import kapi_runtime
import kapi_sim


def imported(name: str) -> Any:
    """A module of this folder, which is on no path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


differential = imported("differential_kernels")
KERNELS, GROUP = differential.KERNELS, differential.GROUP
WORLDS = {world: {name: subject.make(world) for name, subject in KERNELS.items()} for world in (kapi_sim, kapi_runtime)}
QUIET = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@st.composite
def views(draw: Any, shape: tuple[int, ...], dtype: str, small: bool) -> tuple[np.ndarray[Any, Any], Any]:
    """A base array and a way to see it with this shape: steps of either sign, offsets, any order of axes."""
    rank = len(shape)
    axes = draw(st.permutations(range(rank)))
    plain = draw(st.booleans())
    steps = [1 if plain else draw(st.sampled_from((1, 1, 2, 3, -1, -2))) for _ in shape]
    starts = [0 if plain else draw(st.integers(0, 2)) for _ in shape]
    base_shape = [0] * rank
    slices: list[slice] = [slice(None)] * rank
    for axis, extent, step, start in zip(axes, shape, steps, starts, strict=True):
        base_shape[axis] = start + (extent - 1) * abs(step) + 1
        last = start + (extent - 1) * abs(step)
        if step > 0:
            slices[axis] = slice(start, last + 1, step)
        else:
            slices[axis] = slice(last, start - 1 if start else None, step)
    kind = np.dtype(dtype).kind
    if kind == "i":
        elements = st.integers(-50, 50) if small else arrays.from_dtype(np.dtype(dtype))
    else:
        halves = st.integers(-100, 100).map(lambda n: n / 2)
        elements = halves if small else arrays.from_dtype(np.dtype(dtype))
    base = draw(arrays.arrays(dtype, tuple(base_shape), elements=elements))
    order = tuple(axes)
    return base, lambda array: array[tuple(slices)].transpose(order)


@st.composite
def launches(draw: Any, name: str) -> tuple[tuple[int, ...], list[tuple[np.ndarray[Any, Any], Any]]]:
    """The range of a launch, and bases with their views for the kernel's arrays."""
    subject = KERNELS[name]
    rank = int(subject.ranks[-1])
    shape = tuple(draw(st.integers(1, 6)) for _ in range(rank))
    if subject.has_groups:
        shape = (draw(st.integers(1, 3)) * GROUP,)
    if name == "product":
        shape = (shape[0], shape[0])
    inputs = [draw(st.sampled_from(subject.dtypes)) for _ in subject.ranks[:-1]]
    written = np.result_type(*map(np.dtype, inputs)).name if subject.out == "common" else subject.out
    drawn = [draw(views(shape, dtype, subject.small)) for dtype in [*inputs, written]]
    return shape, drawn


def run(world: Any, name: str, shape: tuple[int, ...], drawn: list[Any], copy: Any) -> np.ndarray[Any, Any]:
    """Launch in one world; return the base of what was written, untouched elements included."""
    bases = [copy(base) for base, _ in drawn]
    arguments = [view(base) for base, (_, view) in zip(bases, drawn, strict=True)]
    space: Any = world.Range(*shape)
    if KERNELS[name].has_groups:
        space = world.NdRange(shape, (GROUP,))
        arguments.append(world.LocalAccessor((GROUP,), drawn[0][0].dtype))
    world.call_kernel(WORLDS[world][name], space, *arguments)
    return device_arrays.asnumpy(bases[-1]) if world is kapi_runtime else bases[-1]


def judge(name: str, drawn: list[Any]) -> np.ndarray[Any, Any]:
    bases = [base.copy() for base, _ in drawn]
    with np.errstate(all="ignore"):
        KERNELS[name].judge(*(view(base) for base, (_, view) in zip(bases, drawn, strict=True)))
    return bases[-1]


def compare(name: str, data: Any) -> None:
    """Draw one launch, run it in both worlds, and compare each with NumPy."""
    shape, drawn = data.draw(launches(name))
    expected = judge(name, drawn)
    simulated = run(kapi_sim, name, shape, drawn, np.copy)
    on_device = run(kapi_runtime, name, shape, drawn, device_arrays.asarray)
    np.testing.assert_array_equal(simulated, expected, err_msg="the simulator differs from NumPy")
    if KERNELS[name].ulp:
        np.testing.assert_array_max_ulp(on_device, expected, maxulp=KERNELS[name].ulp)
    else:
        np.testing.assert_array_equal(on_device, expected, err_msg="the device differs from NumPy")


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=12, **QUIET)
@given(data=st.data())
def test_device_and_simulator_agree_with_numpy(name, data):
    compare(name, data)


@pytest.mark.nightly
@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=1000, **QUIET)
@given(data=st.data())
def test_device_and_simulator_agree_with_numpy_at_length(name, data):
    compare(name, data)


def test_ten_kernels_are_compared():
    assert len(KERNELS) == 10
