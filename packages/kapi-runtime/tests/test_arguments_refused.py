"""What is no argument is refused by its name, as in the simulator; so is a store to what may not be written."""

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
    """With an array beside it, and alone."""
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
