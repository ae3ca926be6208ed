"""Random numbers on the host: the published words, the distributions, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.cases.numbers.random_cases import VECTORS
from kapi_sim.testing.reports import raises


@pytest.mark.parametrize(("key", "words"), VECTORS)
def test_philox_gives_the_published_numbers(key, words):
    assert kapi.random.philox(*key) == words
    unsigned = [np.uint64(each % 2**64) for each in key]
    assert kapi.random.philox(*unsigned) == words
    assert {type(word) for word in kapi.random.philox(*key)} == {np.uint32}


def test_seed_counter_and_stream_matter_in_each_half():
    found = {kapi.random.philox(*(n << shift for n in key)) for shift in (0, 32) for key in np.ndindex(3, 3, 3)}
    assert len(found) == 2 * 27 - 1


def test_strong_integers_of_every_width_are_seeds():
    assert len({kapi.random.uniform(kind(9), kind(1)) for kind in (int, np.int8, np.uint16, np.int32, np.uint64)}) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_numbers_are_spread_evenly(dtype):
    """Twenty equal parts, by the sum of squares that is 19 on average and above 50 once in 7000 seeds."""
    drawn = np.array([kapi.random.uniform(3, k, dtype=dtype) for k in range(8000)])
    assert drawn.dtype == dtype
    assert 0 <= drawn.min() < 0.001 < 0.999 < drawn.max() < 1
    counts, _ = np.histogram(drawn, 20, (0, 1))
    assert ((counts - 400) ** 2 / 400).sum() < 50


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_numbers_have_the_moments_and_tails_of_the_distribution(dtype):
    drawn = np.array([kapi.random.normal(5, k, dtype=dtype) for k in range(8000)])
    assert drawn.dtype == dtype
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        spread = math.sqrt(math.prod(range(2 * power - 1, 0, -2)) / drawn.size)
        assert abs((drawn.astype(np.float64) ** power).mean() - moment) < 4 * spread
    for bound in (1, 2, 3):
        share = math.erfc(bound / math.sqrt(2))
        assert abs((np.abs(drawn) > bound).mean() - share) < 4 * math.sqrt(share / drawn.size)


def test_randint_takes_each_integer_alike():
    counts = np.bincount([kapi.random.randint(1, k, -2, 5) + 2 for k in range(7000)])
    assert counts.shape == (7,)
    assert ((counts - 1000) ** 2 / 1000).sum() < 30
    assert kapi.random.randint(1, 2, 2**63 - 2, 2**63 - 1) == 2**63 - 2


def draw(statement):
    names = {"kapi": kapi, "np": np}
    return eval(f"lambda: {statement}", names)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("kapi.random.uniform(0.5, 1)", "random-integer"),
        ("kapi.random.normal(1, True)", "random-integer"),
        ("kapi.random.philox(1, 2, None)", "random-integer"),
        ("kapi.random.randint(1, 2, 0, 1.5)", "random-integer"),
        ("kapi.random.randint(1, 2, 0, 2**63)", "random-integer"),
        ("kapi.random.randint(1, 2, np.uint64(0), 3)", "random-integer"),
        ("kapi.random.uniform(1, 2, dtype=np.float16)", "random-dtype"),
        ("kapi.random.normal(1, 2, dtype='x')", "random-dtype"),
    ],
)
def test_what_is_no_integer_and_no_float_type_is_refused(statement, code):
    with raises(kapi.DtypeError, code):
        draw(statement)()


def test_randint_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="high must be above low, got low 3 and high 3"):
        kapi.random.randint(1, 2, 3, 3)
