"""Functions of mathematics on the processor: within the bounds of the table, with fused operations and without."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import AVX2, AVX512, Cpu
from cpu_backend.mathematics import (
    BINARY,
    BOUNDS,
    EXACT,
    UNARY,
    edges,
    exact_errors,
    points,
    single_errors,
    vectorized,
)

import kapi_sim
from kapi_cpu import host_target

SEED = int(os.environ.get("KAPI_TEST_SEED", "0"))
BLOCK = 1 << 17
TARGETS = {
    "fused": host_target(),
    "not fused": replace(host_target(), cpu="generic", features="+sse4.2,+ssse3,+popcnt,+cx16"),
}
"""This processor, and what it is without a fused multiplication; some have none."""


def worst(name, given, got):
    errors = exact_errors(name, given, got)
    at = int(np.argmax(errors))
    return errors[at], f"{name}({', '.join(str(each[at]) for each in given)}) = {got[at]}: {errors[at]:.2f} ulp"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", UNARY)
def test_function_of_every_binade_is_within_its_bound(name, dtype, target):
    x = np.concatenate([edges(dtype), points(dtype, SEED)])
    error, text = worst(name, [x], vectorized(name, dtype, TARGETS[target])(x))
    assert error <= BOUNDS[name], text


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_is_within_its_bound(name, dtype, target):
    x, y = pairs(dtype)
    error, text = worst(name, [x, y], vectorized(name, dtype, TARGETS[target])(x, y))
    assert error <= BOUNDS[name], text


def pairs(dtype):
    """All pairs of edges, and random ones."""
    one, other = np.meshgrid(edges(dtype), edges(dtype))
    random = np.random.default_rng(SEED)
    drawn = points(dtype, SEED)
    return (
        np.concatenate([one.ravel(), random.permutation(drawn)]),
        np.concatenate([other.ravel(), random.permutation(drawn)]),
    )


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_depend_on_fused_multiplications_alone(dtype, name):
    given = pairs(dtype)[: 2 if name in BINARY else 1]
    others = {
        "fused": [{}, {"lanes": 1}, *({"cpu": "generic", "features": each} for each in (AVX2, AVX512))],
        "not fused": [{}, {"lanes": 1}, {"features": AVX2.replace(",+fma", "")}],
    }
    has = {*host_target().features.split(",")}
    for target, changes in others.items():
        made = [replace(TARGETS[target], **each) for each in changes]
        runs = [each for each in made if each.features == host_target().features or {*each.features.split(",")} <= has]
        found = [vectorized(name, dtype, each)(*given) for each in runs]
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])
            signs = [np.signbit(each) & ~np.isnan(each) for each in (other, found[0])]
            np.testing.assert_array_equal(*signs)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", ["fmod", "remainder", "nextafter"])
def test_exact_function_of_two_is_exact(name, dtype):
    x, y = pairs(dtype)
    close = points(dtype, SEED)
    x = np.concatenate([x, close])
    y = np.concatenate([y, np.random.default_rng(SEED).permutation(close) * close.dtype.type(0.5)])
    with np.errstate(all="ignore"):
        expected = ieee_remainder(x, y).astype(dtype) if name == "remainder" else getattr(np, name)(x, y)
    found = vectorized(name, dtype)(x, y)
    np.testing.assert_array_equal(found, expected)
    at = ~np.isnan(expected) & (x != y)  # NumPy's float16 next to 0 in the direction of -0 has either sign
    np.testing.assert_array_equal(np.signbit(found)[at], np.signbit(expected)[at])


@np.vectorize
def ieee_remainder(x, y):
    """C's, as IEEE has it."""
    return math.remainder(x, y) if math.isfinite(x) and not math.isnan(y) and y else math.nan


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_numbers_are_scaled_and_decomposed_exactly(dtype):
    def scale(item, x, n, result):
        result[item.get_id(0)] = math.ldexp(x[item.get_id(0)], n[item.get_id(0)])

    def fractions(item, x, result, exponents):
        result[item.get_id(0)], exponents[item.get_id(0)] = math.frexp(x[item.get_id(0)])

    x = np.concatenate([edges(dtype), points(dtype, SEED)])
    n = np.random.default_rng(SEED).integers(-2200, 2200, x.size)
    n[::2] //= 20
    cpu, result = Cpu(), np.empty_like(x)
    with np.errstate(all="ignore"):
        expected = np.ldexp(x, n)
    cpu.call(kapi_sim.kernel(scale), kapi_sim.Range(x.size), x, n, result)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    x, exponents = x[np.isfinite(x)], np.empty(np.isfinite(x).sum(), np.int64)
    result = np.empty_like(x)
    cpu.call(kapi_sim.kernel(fractions), kapi_sim.Range(x.size), x, result, exponents)
    np.testing.assert_array_equal(result, np.frexp(x)[0])
    np.testing.assert_array_equal(exponents, np.frexp(x)[1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", UNARY)
def test_one_in_4099_float32_is_within_its_bound(name, target):
    x = np.arange(SEED % 4099, 1 << 32, 4099).astype(np.uint32).view(np.float32)
    assert single_errors(name, [x], vectorized(name, "f4", TARGETS[target])(x)).max() <= BOUNDS[name]


@pytest.mark.nightly
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", UNARY)
def test_function_of_every_float32_is_within_its_bound(name, target):
    function = vectorized(name, "f4", TARGETS[target])
    for start in range(0, 1 << 32, BLOCK):
        x = np.arange(start, start + BLOCK, dtype=np.uint32).view(np.float32)
        assert single_errors(name, [x], function(x)).max() <= BOUNDS[name], f"from the bits {start:#x}"


def small_powers(item: kapi_sim.Item, a, k, cubes, fourths, others):
    i = item.get_id(0)
    cubes[i] = a[i] ** 3
    fourths[i] = a[i] ** 4.0
    others[i] = a[i] ** k


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_known_small_exponents_are_products(dtype):
    """Within three roundings of NumPy's, also beyond the floats; of run-time exponents they are not."""
    extremes = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max, -np.finfo(dtype).tiny]
    a = np.concatenate([np.array(extremes), np.random.default_rng(0).normal(0, 5, 91)]).astype(dtype)
    found = [np.zeros(100, dtype) for _ in range(3)]
    Cpu(host_target()).call(kapi_sim.kernel(small_powers), kapi_sim.Range(100), a, 3, *found)
    with np.errstate(all="ignore"):
        for ours, exponent in zip(found, (3, 4, 3), strict=True):
            right = (a.astype(np.longdouble) ** exponent).astype(dtype)
            np.testing.assert_allclose(ours, right, rtol=3 * np.finfo(dtype).eps)
            np.testing.assert_array_equal(np.signbit(ours), np.signbit(right))
