"""What is no argument is refused by its name, as in the simulator; so is a store to what may not be written."""

from __future__ import annotations

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi


@kapi.kernel
def add(item: kapi.Item, source, target):
    i = item.get_id(0)
    target[i] += source[i]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.zeros((1, 2)).view(np.matrix), "got a matrix: pass np.asarray"),
        (np.ma.array([1.0], mask=[True]), "without a mask, .* got a MaskedArray: pass `source.data`"),
        (None, "got None"),
        ("abc", "got 'abc'"),
        ([1, 2], "got a list"),
        (2**70, "must fit 64 bits as a Python integer, got 1180591620717411303424"),
    ],
)
def test_what_is_no_argument_is_named(value, words):
    """With an array beside it, and alone."""
    for others in ((dpnp.zeros(1),), (0,)):
        with pytest.raises(kapi.DtypeError, match=f"argument `source` of kernel `add` must .*{words}|{words}"):
            add[1](value, *others)


def test_arguments_may_have_names():
    source, target = dpnp.ones(3), dpnp.zeros(3)
    kapi.call_kernel(add, kapi.Range(3), target=target, source=source)
    add[3](source, target=target)
    add.bind(kapi.Range(3), target=target, source=source)()[0].wait()
    kapi.call_kernel_async(add, kapi.Range(3), [], source, target=target)[0].wait()
    assert target.asnumpy().tolist() == [4] * 3
    with pytest.raises(kapi.KernelLaunchError, match="must be given once, got it by its place and by its name"):
        add[1](source, target, target=target)


def test_view_that_overlaps_itself_is_refused_where_it_is_written():
    """Also where a launch like it, of a view without overlaps, has made a plan."""
    apart, x = dpnp.zeros(8)[::2], dpnp.ones(4)
    for _ in range(8):
        add[4](x, apart)
    view = dpnp.broadcast_to(dpnp.zeros(1), (4,))
    bound = add.bind(kapi.Range(4), x, apart)
    for launch in (lambda: add[4](x, view), lambda: bound.replace(target=view)):
        with pytest.raises(
            kapi.KernelLaunchError, match="`target` .* got a view that overlaps itself, as broadcast_to"
        ):
            launch()
    add[4](view, x)  # reading is no store
    assert x.asnumpy().tolist() == [1] * 4
    assert apart.asnumpy().tolist() == [8] * 4


def test_store_to_an_array_that_may_only_be_read_has_its_line():
    array = dpnp.zeros(4)
    array.flags.writable = False
    line = add.py_func.__code__.co_firstlineno + 3
    with pytest.raises(kapi.KernelCompilationError, match=rf"(?s){__file__}:{line}: .*got read-only .*target\[i\] \+="):
        add[4](dpnp.ones(4), array)
    x = dpnp.ones(4)
    add[4](array, x)
    assert x.asnumpy().tolist() == [1] * 4
