"""Which arrays of one launch may share memory, by their addresses."""

import itertools

import numpy as np

from kapi_sim.language.usm_fields import is_between, may_share, span


def test_is_between_is_true_of_columns_and_never_of_views_that_share_a_byte():
    """Against NumPy's exact search, over views of one matrix."""
    random = np.random.default_rng(3)
    base = np.zeros((7, 9, 4))
    views = [
        base[tuple(slice(*sorted(random.integers(0, n + 1, 2)), random.integers(1, 3)) for n in base.shape)]
        for _ in range(60)
    ]
    views += [each[::-1, :, ::-1] for each in views[:20]] + [base[:, k, 1:3] for k in range(4)] + [base[1, :, :2]]
    met = 0
    for one, other in itertools.permutations([each for each in views if each.size], 2):
        if one.ndim != other.ndim:
            continue
        fields = []
        for each in (one, other):
            strides = tuple(stride // each.itemsize for stride in each.strides)
            pointer = each.__array_interface__["data"][0]
            low, high = span(pointer, each.shape, strides, each.ndim, each.itemsize)
            fields += [low, high, each.shape, strides, each.itemsize]
        if is_between(*fields, one.ndim):
            assert not np.shares_memory(one, other)
            met += may_share(*fields[:2], *fields[5:7])
    assert met > 100
    first, second = base[:, 1, 0], base[:, 2, 0]
    assert is_between(0, 6 * 288 + 8, first.shape, (36,), 8, 32, 6 * 288 + 40, second.shape, (36,), 8, 1)
