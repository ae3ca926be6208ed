"""A value that is no argument is refused by its name, as in the simulator; so is a store to read-only memory."""

from __future__ import annotations

import enum
from fractions import Fraction

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_sim.testing.reports import raises


@kapi.kernel
def add(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] += source[i]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (np.zeros((1, 2)).view(np.matrix), "argument-type"),
        (np.ma.array([1.0], mask=[True]), "argument-array-class"),
        (None, "argument-type"),
        ("abc", "argument-type"),
        ([1, 2], "argument-type"),
        (bytearray(2), "argument-type"),
        (Fraction(1, 2), "argument-type"),
        (float, "argument-type"),
        (add, "argument-type"),
        (enum.Enum("Side", "LEFT").LEFT, "argument-type"),
        (2**70, "integer-too-wide"),
    ],
)
def test_what_is_no_argument_is_named(value, code):
    """With an array, and alone."""
    for others in ((dpnp.zeros(1),), (0,)):
        with raises(kapi.DtypeError, code):
            add[1](value, *others)


def test_arguments_may_have_names():
    source, target = dpnp.ones(3), dpnp.zeros(3)
    kapi.call_kernel(add, kapi.Range(3), target=target, source=source)
    add[3](source, target=target)
    add.bind(kapi.Range(3), target=target, source=source)()[0].wait()
    kapi.call_kernel_async(add, kapi.Range(3), [], source, target=target)[0].wait()
    assert target.asnumpy().tolist() == [4] * 3
    with raises(kapi.KernelLaunchError, "argument-twice"):
        add[1](source, target, target=target)


def test_view_that_overlaps_itself_is_refused_where_it_is_written():
    """Also where a launch like it, of a view without overlaps, has made a plan."""
    apart, x = dpnp.zeros(8)[::2], dpnp.ones(4)
    for _ in range(8):
        add[4](x, apart)
    view = dpnp.broadcast_to(dpnp.zeros(1), (4,))
    bound = add.bind(kapi.Range(4), x, apart)
    for launch in (lambda: add[4](x, view), lambda: bound.replace(target=view)):
        with raises(kapi.KernelLaunchError, "argument-overlaps-itself"):
            launch()
    add[4](view, x)  # reading is no store
    assert x.asnumpy().tolist() == [1] * 4
    assert apart.asnumpy().tolist() == [8] * 4


def test_store_to_an_array_that_may_only_be_read_has_its_line():
    array = dpnp.zeros(4)
    array.flags.writable = False
    line = add.py_func.__code__.co_firstlineno + 3
    with raises(kapi.KernelCompilationError, "argument-read-only", line=line):
        add[4](dpnp.ones(4), array)
    x = dpnp.ones(4)
    add[4](array, x)
    assert x.asnumpy().tolist() == [1] * 4


class Exporter:
    """An object that tells of an array of dpnp's what it likes."""

    def __init__(self, array, **changes):
        told = array.__sycl_usm_array_interface__
        self.array = array
        self.__sycl_usm_array_interface__ = {**told, **{key: change(told[key]) for key, change in changes.items()}}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"data": lambda data: (0, False)}, "usm-array-interface"),
        ({"data": lambda data: (0x12340, False)}, "usm-array-interface"),
        ({"data": lambda data: (data[0] + 3, False)}, "array-misaligned"),
        ({"shape": lambda shape: (10**6,)}, "usm-array-interface"),
        ({"shape": lambda shape: (-4,)}, "usm-array-interface"),
        ({"shape": lambda shape: "4"}, "usm-array-interface"),
        ({"strides": lambda strides: (10**9,)}, "usm-array-interface"),
        ({"strides": lambda strides: (-1,)}, "usm-array-interface"),
        ({"typestr": lambda typestr: "zz"}, "usm-array-interface"),
    ],
)
def test_array_that_is_elsewhere_than_it_claims_is_refused(changes, code):
    """An address that is none of unified shared memory ends the process, if it is used."""
    target = dpnp.zeros(4)
    with raises(kapi.DtypeError, code) as raised:
        add[4](Exporter(dpnp.ones(4), **changes), target)
    assert raised.value.message.startswith("argument `source` of kernel `add`: ")
    add[3](Exporter(dpnp.ones(4), shape=lambda shape: (3,)), target)
    assert target.asnumpy().tolist() == [1, 1, 1, 0]


@kapi.kernel
def misspelled(item: kapi.Item, a):
    a[item.get_id(0)] = nothing(1)  # noqa: F821


@kapi.kernel(boundscheck=True)
def far(item: kapi.Item, a):
    a[item.get_id(0) + 5] = 1


def waited(kernel):
    kapi.call_kernel(kernel, kapi.Range(3), np.zeros(3))


def subscripted(kernel):
    kernel[3](np.zeros(3))


def submitted(kernel):
    kapi.call_kernel_async(kernel, kapi.Range(3), (), np.zeros(3))


@pytest.mark.parametrize(
    ("kernel", "launch"),
    [(misspelled, waited), (misspelled, subscripted), (misspelled, submitted), (far, waited), (far, subscripted)],
)
def test_traceback_of_a_launch_has_the_program_s_frames_alone(kernel, launch, monkeypatch):
    frames = []
    for is_full in ("", "1"):
        monkeypatch.setenv("KAPI_FULL_TRACEBACK", is_full)
        with pytest.raises(kapi.KapiError) as raised:
            launch(kernel)
        frames.append([entry.path.name for entry in raised.traceback])
    assert set(frames[0]) == {"test_arguments_refused.py"}
    assert set(frames[1]) > set(frames[0])
