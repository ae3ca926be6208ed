"""Random numbers in offloaded functions: those that the same function draws over NumPy arrays, on the device."""

# ruff: noqa: NPY002  # Numba has these functions, and makes no `Generator`

import random
import warnings

import dpnp
import numba
import numpy as np
import pytest

from kapi_numba_offload import OffloadFallbackWarning, explain

DRAWS = {
    "beta": "2.0, 3.0", "binomial": "9, 0.3", "chisquare": "2.0", "exponential": "2.0", "f": "3.0, 4.0",
    "gamma": "2.0, 1.5", "geometric": "0.3", "gumbel": "0.0, 1.0", "hypergeometric": "5, 6, 4", "laplace": "0.0, 2.0",
    "logistic": "0.0, 1.0", "lognormal": "0.0, 0.5", "logseries": "0.4",
    "noncentral_chisquare": "3.0, 1.0", "normal": "1.0, 2.0", "pareto": "2.0", "poisson": "3.0", "power": "2.0",
    "randint": "3, 70", "random": "", "random_sample": "", "ranf": "", "rayleigh": "1.0", "sample": "",
    "standard_cauchy": "", "standard_exponential": "", "standard_gamma": "2.0", "standard_normal": "",
    "standard_t": "4.0",
    "triangular": "0.0, 1.0, 2.0", "uniform": "1.0, 3.0", "vonmises": "0.0, 1.0", "wald": "1.0, 2.0", "weibull": "2.0",
    "zipf": "2.5", "choice": "7", "multinomial": "5, (0.2, 0.8)", "dirichlet": "(1.0, 2.0)",
}  # fmt: skip
"""The functions of `numpy.random` that take a size, with their arguments before it."""

WITHOUT_NUMBER = {"multinomial", "dirichlet"}


def of(text, **scope):
    scope = {"np": np, "random": random, **scope}
    exec(f"def f(x, n):\n    np.random.seed(5)\n    random.seed(5)\n    return {text}", scope)
    return numba.njit(scope["f"])


def assert_as_numba(function, *args):
    """Results for device arrays are those of Numba for NumPy arrays, and arrays are on the device."""
    expected = function(*args)
    found = function(*(dpnp.asarray(each) if isinstance(each, np.ndarray) else each for each in args))
    if not isinstance(expected, tuple):
        expected, found = (expected,), (found,)
    for own, other in zip(found, expected, strict=True):
        assert isinstance(own, dpnp.ndarray) == isinstance(other, np.ndarray)
        assert isinstance(own, dpnp.ndarray) or type(own) is type(other)
        np.testing.assert_allclose(dpnp.asnumpy(own), other, rtol=1e-12)


@pytest.mark.nightly(one_in=8)
@pytest.mark.parametrize("name", DRAWS)
def test_draws_match_numba(name):
    """With the same seed: a number, an array of one axis and one of two."""
    given = f"{DRAWS[name]}, " if DRAWS[name] else ""
    calls = [] if name in WITHOUT_NUMBER else [f"np.random.{name}({DRAWS[name]}) + x"]
    calls += [f"np.random.{name}({given}n)", f"np.random.{name}({given}(2, 3)) * x[0]"]
    assert_as_numba(of(", ".join(calls)), np.arange(1.0, 4.0), 4)


SPELLINGS = [
    "x * np.random.normal(0.0, 1.0, size=3)", "np.random.standard_normal(size=x.shape) + x",
    "np.random.rand(3) + x, np.random.randn(3) - x, np.random.rand() * x, np.random.randn()",
    "np.random.rand(2, 3) + x, np.random.randn(2, n)", "np.random.random((n, x.size)).sum(axis=0) * x",
    "np.random.random(n)[1:] * x, np.random.random((2, n)).T.copy()", "np.where(np.random.rand(x.size) < 0.5, x, -x)",
    "x[np.random.permutation(x.size)], np.random.permutation(n)", "np.cumsum(np.random.uniform(0.0, 1.0, x.size)) * x",
    "np.dot(x, np.random.standard_normal(3)), np.concatenate((x, np.random.rand(n)))",
    "np.random.poisson(x.sum(), n), np.random.randint(0, 9, np.argmax(x))", "x + normal(0.0, 1.0, 3)",
    "np.random.negative_binomial(4, 0.5) * x",
    "np.stack((np.random.rand(3), x)), np.abs(np.random.randn(x.shape[0])).max()",
    "random.random() * x, random.gauss(0.0, 1.0), random.randint(1, 6), random.uniform(1.0, 2.0)",
]  # fmt: skip


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("text", SPELLINGS)
def test_random_arrays_go_with_device_arrays(text):
    assert_as_numba(of(text, normal=np.random.normal), np.arange(1.0, 4.0), 4)


@numba.njit
def walked(x, n):
    np.random.seed(3)
    total = x * 0.0
    for _ in range(n):
        total += np.random.standard_normal(x.size)
    for i in range(1, x.size):
        total[i] += total[i - 1] + np.random.random()
    return total, np.random.random()


@numba.njit
def scattered(x, n):
    np.random.seed(3)
    y = x + np.random.rand(x.size)
    s = 0.0
    for i in range(x.size):
        s += y[i] * np.random.random()
    return y, s


@numba.njit
def start(n):
    return np.random.rand(n)


@numba.njit
def through_functions(x, n):
    np.random.seed(4)
    return start(3) * x, start(n), np.random.rand(3) * x


@numba.njit
def listed(x, n):
    np.random.seed(4)
    random.seed(4)
    numbers = [np.random.rand() + random.random() for _ in range(n)]
    return x * np.random.rand(), numbers[0], numbers[-1]


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("function", [walked, scattered, through_functions, listed])
def test_loops_on_the_host_and_functions_within_draw_from_the_same_generator(function):
    """Whatever part of the function runs where, the numbers are those of Numba alone."""
    assert_as_numba(function, np.arange(1.0, 4.0), 4)


def test_state_goes_on_from_call_to_call():
    """And it is that of all njit functions of the thread: NumPy's own is another."""

    @numba.njit
    def seeded(seed):
        np.random.seed(seed)

    @numba.njit
    def drawn(x):
        return x + np.random.rand(x.size)

    seeded(7)
    expected = [drawn(np.zeros(3)) for _ in range(3)]
    seeded(7)
    np.random.seed(0)
    found = [drawn(dpnp.zeros(3)).asnumpy(), drawn(np.zeros(3)), drawn(dpnp.zeros(3)).asnumpy()]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.sycl
def test_random_arrays_are_on_the_queue_of_the_arguments():
    """As those of `numpy.zeros`."""
    import dpctl

    queue = dpctl.SyclQueue(dpnp.ones(1).sycl_device)
    x = dpnp.ones(3, sycl_queue=queue, usm_type="shared")
    drawn, made = numba.njit(lambda x: (np.random.rand(3), np.zeros(3)))(x)
    assert drawn.sycl_queue == made.sycl_queue == queue
    assert drawn.usm_type == made.usm_type


def test_random_arrays_come_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = explain(numba.njit(lambda x: x * np.random.rand(x.size)), dpnp.ones(4))
    assert sorted((part.where, part.reason, part.moved) for part in found.parts) == [
        ("host", "random numbers are drawn on the host", 32), ("kernel", "", 0),
    ]  # fmt: skip


def shuffled(x, n):
    np.random.seed(9)
    np.random.shuffle(x)
    return x * 1


def chosen(x, n):
    np.random.seed(9)
    return np.random.choice(x, n), np.random.choice(x), np.random.permutation(x) * 2


def shuffled_by_python(x, n):
    random.seed(9)
    random.shuffle(x)
    return x * 1


@pytest.mark.parametrize("function", [shuffled, chosen, shuffled_by_python])
def test_functions_of_device_arrays_run_on_the_host_with_a_warning(function):
    compiled = numba.njit(function)
    own, other = np.arange(8.0), dpnp.arange(8.0)
    expected = compiled(own, 4)
    with pytest.warns(OffloadFallbackWarning, match=r"random numbers are drawn on the host"):
        found = compiled(other, 4)
    np.testing.assert_array_equal(other.asnumpy(), own)
    for one, another in zip(
        *((each if isinstance(each, tuple) else (each,)) for each in (found, expected)), strict=True
    ):
        np.testing.assert_array_equal(dpnp.asnumpy(one), another)
        assert isinstance(one, dpnp.ndarray) == isinstance(another, np.ndarray)


METHODS = [
    "rng.random(), rng.random(n), rng.random((2, 3)) + x, rng.random(size=n)", "x + rng.normal(0.0, 1.0, x.size)",
    "rng.standard_normal(n)[1:] * x, rng.standard_normal()", "rng.integers(0, 9, n), rng.integers(0, 9, size=(2, n))",
    "np.where(rng.random(x.size) < 0.5, x, -x), rng.uniform(1.0, 2.0) * x", "rng.exponential(2.0, x.shape) - x",
    "rng.poisson(3.0, n), rng.gamma(2.0, 1.0, n), rng.beta(1.0, 2.0, 3) * x", "rng.standard_exponential(3) / x",
    "x[rng.permutation(x.size)]", "rng.binomial(9, 0.3, n), rng.geometric(0.3, n), rng.lognormal(0.0, 1.0, (3,)) * x",
]  # fmt: skip


@pytest.mark.parametrize("text", METHODS)
def test_generators_draw_what_numpy_draws(text):
    """And go on from there, whether they are given or from outside."""
    outside = np.random.default_rng(3)
    scope = {"np": np, "rng": outside}
    exec(f"def f(x, n, rng):\n    return {text}\ndef g(x, n):\n    return {text}", scope)
    x, n, reference, given = np.arange(1.0, 4.0), 4, np.random.default_rng(3), np.random.default_rng(3)
    expected = scope["f"](x, n, reference)
    own = (numba.njit(scope["f"])(dpnp.asarray(x), n, given), numba.njit(scope["g"])(dpnp.asarray(x), n))
    expected, *found = ((each if isinstance(each, tuple) else (each,)) for each in (expected, *own))
    for results in found:
        for one, another in zip(results, expected, strict=True):
            assert isinstance(one, dpnp.ndarray) == isinstance(another, np.ndarray)
            np.testing.assert_allclose(dpnp.asnumpy(one), another, rtol=1e-12)
    assert given.random() == reference.random()


def test_random_numbers_in_a_device_context(in_context, launches):
    @numba.njit
    def f(x, rng):
        np.random.seed(3)
        y = x + np.random.rand(x.size)
        np.random.shuffle(x)
        return y, rng.random(2) * y[0], np.random.rand()

    own, other = np.arange(4.0), np.arange(4.0)
    expected, found = f(own, np.random.default_rng(1)), in_context(f, other, np.random.default_rng(1))
    for one, another in zip(found, expected, strict=True):
        assert type(one) is type(another)
        np.testing.assert_array_equal(one, another)
    np.testing.assert_array_equal(other, own)
    assert launches


def test_random_arrays_with_numpy_arguments_stay_on_the_host():
    """As those of `numpy.zeros`: a function of NumPy and device arrays keeps them apart."""

    @numba.njit
    def f(host, x):
        np.random.seed(3)
        return host + np.random.rand(3), x * 2

    found, twice = f(np.ones(3), dpnp.ones(3))
    np.testing.assert_array_equal(found, f(np.ones(3), np.ones(3))[0])
    assert isinstance(twice, dpnp.ndarray)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_what_numba_refuses_is_its_error_with_the_line():
    with pytest.raises(numba.TypingError) as error:
        numba.njit(lambda x: x * np.random.normal(x))(dpnp.ones(3))
    assert any("np.random.normal(x)" in each for each in error.value.__notes__)
