"""Calls whose arrays have other shapes than before: operands of one form share a kernel, results are NumPy's."""

import random
import warnings

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload  # noqa: F401  it registers itself
from kapi_numba_offload.regions.operand_forms import form_of

SHAPES = [(), (1,), (3,), (4,), (0,), (1, 1), (3, 1), (1, 4), (3, 4), (4, 4), (3, 0), (2, 3, 4), (2, 1, 4), (1, 3, 1)]


def expression(a, b, c):
    x = a * b + c
    return x - a, b + 1.0


def stored(a, b, c):
    a[...] = b * 2.0 + c
    a += b


def total(a, b, c):
    return np.sum(a * b + c)


def last(a, b, c):
    return np.max(a * b - c, axis=-1)


def operand(draw, shape):
    """An array of a shape, in some order or with steps."""
    made = np.array(draw.choices(range(-9, 9), k=int(np.prod(shape, dtype=int)))).reshape(shape).astype(float)
    kind = draw.choice("CCFS")
    if kind == "F":
        return np.asfortranarray(made)
    if kind == "S" and shape:
        wide = np.zeros((*shape[:-1], 2 * shape[-1]))
        wide[..., ::2] = made
        return wide[..., ::2]
    return made


def on_device(array):
    if array.ndim and not (array.flags.c_contiguous or array.flags.f_contiguous):
        wide = dpnp.zeros((*array.shape[:-1], 2 * array.shape[-1]))
        wide[..., ::2] = dpnp.asarray(np.ascontiguousarray(array))
        return wide[..., ::2]
    return dpnp.asarray(array, order="F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C")


def outcome(function, arguments):
    """The results of a call and what it leaves, or the class of its exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = function(*arguments)
    except Exception as error:
        return type(error).__name__
    values = [*(found if isinstance(found, tuple) else (found,)), *arguments]
    return [each.asnumpy() if isinstance(each, dpnp.ndarray) else each for each in values if each is not None]


@pytest.mark.parametrize("function", [expression, stored, total, last], ids=lambda each: each.__name__)
def test_shapes_in_any_order_have_numpy_s_results(function):
    draw, compiled, refused = random.Random(11), numba.njit(function), 0
    for _ in range(25):
        shapes = [draw.choice(SHAPES)] * 3 if draw.random() < 0.6 else draw.choices(SHAPES, k=3)
        if function is last and not all(shapes):
            continue  # NumPy's numbers have an axis of their own
        host = [operand(draw, shape) for shape in shapes]
        device = [on_device(each) for each in host]
        expected, found = outcome(function, host), outcome(compiled, device)
        refused += isinstance(expected, str)
        assert isinstance(found, str) == isinstance(expected, str), (shapes, found, expected)
        if not isinstance(expected, str):
            for one, other in zip(found, expected, strict=True):
                assert np.shape(one) == np.shape(other), shapes
                np.testing.assert_allclose(one, other, err_msg=str(shapes))
    assert refused < 22


def test_forms_are_equal_for_other_lengths_alone():
    def key(*shapes):
        arrays = [dpnp.zeros(shape) for shape in shapes]
        found = form_of(arrays, None)
        return None if found is None else found.key

    assert key((3, 4), (3, 4)) == key((5, 1), (5, 1))
    assert key((3, 4), (3, 1)) == key((7, 2), (7, 1))
    assert key((3, 4), (3, 1)) != key((3, 4), (1, 4))
    assert key((3,), (4,)) is None
    assert key((4,), (3, 4)) == key((2,), (5, 2)) != key((3, 4), (4,))
