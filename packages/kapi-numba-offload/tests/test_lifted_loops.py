"""Loops over rows as statements of whole arrays, on a device with memory of its own; against Python over NumPy."""

import importlib.util
import random

import dpnp
import numba
import numpy as np
import pytest

import kapi_numba_offload

pytestmark = pytest.mark.usefixtures("as_on_a_gpu")

RANDOM = np.random.default_rng(11)


def products_in_a_nest(a, m):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            row = a[i, j, :] @ m
            a[i, j, :] = row


def products_from_the_left(a, m, b):
    for i in range(a.shape[0]):
        a[i] = m @ b[i] + 1


def copies(a, b):
    for k in range(a.shape[2]):
        a[:, :, k] = b


def powers_as_bounds(a, b):
    for k in range(2 ** (a.shape[2] - 5)):
        a[:, :, k] = b


def loop_variables(a, b):
    for i in range(a.shape[0]):
        a[i] = i
    for j in range(2, b.shape[1], 3):
        b[:, j] = j


def neighbours(a, b, c, w, factor):
    for i in range(1, a.shape[0] - 1, 2):
        row = np.exp(b[i + 1] * factor) + c
        a[i, :] = row * w[i] - b[i - 1]
        a[i, 1:] += a[i, :1]


def outer_rows(a, b, c):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = b[i] * c[j] - b[i]


def _doubles(*shape):
    return RANDOM.random(shape)


LIFTED = [
    (products_in_a_nest, lambda: (_doubles(4, 3, 5), _doubles(5, 5))),
    (products_from_the_left, lambda: (_doubles(6, 4), _doubles(4, 3), _doubles(6, 3))),
    (copies, lambda: (np.zeros((3, 2, 7), complex), _doubles(3, 2))),
    (copies, lambda: (_doubles(3, 2, 7), _doubles(2))),
    (powers_as_bounds, lambda: (_doubles(3, 2, 7), _doubles(3, 2))),
    (loop_variables, lambda: (np.zeros((4, 3), np.uint32), np.zeros((3, 9), np.uint8))),
    (neighbours, lambda: (_doubles(9, 5), _doubles(9, 5), _doubles(5), _doubles(9), 0.5)),
    (outer_rows, lambda: (_doubles(3, 4, 5), _doubles(3, 5), _doubles(4, 5))),
]


def _parts(function, arguments):
    """Outcome of each part and its number of runs, after a comparison with Python."""
    on_device = [dpnp.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments]
    found = kapi_numba_offload.explain(numba.njit(function), *on_device)
    function(*arguments)
    for one, other in zip(on_device, arguments, strict=True):
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-12)
    return [(part.where, part.runs) for part in found.parts]


@pytest.mark.parametrize(
    ("function", "arguments"), LIFTED, ids=[f"{each[0].__name__}-{n}" for n, each in enumerate(LIFTED)]
)
def test_loops_over_rows_are_statements_of_arrays(function, arguments):
    assert all(where != "host" and runs == 1 for where, runs in _parts(function, arguments()))


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_arrays_that_share_memory_are_done_row_by_row():
    memory = np.arange(12.0)
    a, b = memory[4:].reshape(4, 2), memory[:8].reshape(4, 2)
    shared = dpnp.asarray(memory)

    def shifted(a, b, c):
        for i in range(a.shape[0]):
            a[i] = b[i] + c

    c = np.ones(2)
    numba.njit(shifted)(shared[4:].reshape(4, 2), shared[:8].reshape(4, 2), dpnp.asarray(c))
    shifted(a, b, c)
    np.testing.assert_array_equal(shared.asnumpy(), memory)


def beyond(a, b):
    for i in range(5):
        a[i] = b[i] * 2


def from_the_end(a, b):
    for i in range(-3, 0):
        a[i] = b[i] * 2


def last_row(a, b):
    for i in range(a.shape[0]):
        row = b[i] * 2
        a[i] = row
    a[0] = row


def large_counts(a, b):
    for i in range(a.shape[0]):
        a[i] = i


def test_indices_beyond_an_axis_are_errors():
    a, b = dpnp.zeros((4, 2)), dpnp.ones((4, 2))
    with pytest.raises(IndexError):
        numba.njit(beyond)(a, b)


@pytest.mark.parametrize("function", [from_the_end, last_row], ids=lambda each: each.__name__)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_other_loops_over_rows_stay_loops(function):
    _parts(function, (_doubles(4, 2), _doubles(4, 2)))


@pytest.mark.sycl
def test_loop_variables_that_an_array_does_not_hold_wrap_as_under_numba():
    a, expected = dpnp.zeros((300, 1), dtype="uint8"), np.zeros((300, 1), np.uint8)
    numba.njit(large_counts)(a, a)
    numba.njit(large_counts)(expected, expected)
    np.testing.assert_array_equal(a.asnumpy(), expected)


_ROWS = {"a": ("a[{i}]", "a[{i}, :]"), "b": ("b[{i}]", "b[{i} + 1]", "b[{i}, :]"), "w": ("w[{i}]",), "c": ("c",)}


def _program(seed):
    """The source of a function with a loop over rows, written at random."""
    choose = random.Random(seed)
    variables = []

    def operand(depth):
        if depth and choose.random() < 0.6:
            first, second = operand(depth - 1), operand(depth - 1)
            form = choose.choice(("({0} + {1})", "({0} - {1})", "({0} * {1})", "np.maximum({0}, {1})", "np.sin({0})"))
            return form.format(first, second)
        kinds = [*_ROWS, "number", "product", *(["variable"] * bool(variables))]
        kind = choose.choice(kinds)
        if kind == "number":
            return choose.choice(("2.0", "s", "0.5"))
        if kind == "variable":
            return choose.choice(variables)
        if kind == "product":
            return choose.choice(("(b[i] @ m)", "(m @ a[i])", "(m @ c)"))
        return choose.choice(_ROWS[kind]).format(i="i")

    start, step = choose.choice((0, 1)), choose.choice((1, 1, 2))
    lines = [
        "import numpy as np",
        "",
        "",
        "def program(a, b, c, w, m, s):",
        f"    for i in range({start}, a.shape[0] - 1, {step}):",
    ]
    for number in range(choose.randint(1, 4)):
        if choose.random() < 0.4:
            lines.append(f"        v{number} = {operand(2)} + b[i]")
            variables.append(f"v{number}")
        else:
            target = choose.choice(("a[i]", "a[i, :]", "a[i, 1:]", "a[i, :2]"))
            value = operand(3) if ":" not in target[3:] or target == "a[i, :]" else "b[i, 1:2] * s"
            lines.append(f"        {target} {choose.choice(('=', '=', '+='))} {value} + c[:1]")
    lines.append("        a[i] -= c")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("block", range(20))
@pytest.mark.nightly(one_in=20)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_random_loops_over_rows_agree(block, tmp_path):
    for seed in range(3 * block, 3 * block + 3):
        file = tmp_path / f"program_{seed}.py"
        file.write_text(_program(seed), "utf-8")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rows = RANDOM.random((2, 7, 4))
        _parts(module.program, (rows[0], rows[1], _doubles(4), _doubles(7), _doubles(4, 4), 0.25))
