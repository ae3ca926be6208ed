"""Updates of rows in place whose type does not hold the result raise wherever they run, as in NumPy."""

import dpnp
import numpy as np
import pytest

import kapi_runtime

UPDATES = {
    "row by itself": "x[i] += x[i] * 0.5",
    "row by another part": "x[i, 1:] += x[i, :-1] * 0.5",
    "row by another array": "x[i] += y[i - 1]",
    "row by a variable": "t = x[i] * 0.5\nx[i] -= t",
    "row by a number": "x[i] *= s",
    "row by a product": "x[i] += x[i] * s",
    "row by a sum": "m = y[i].sum()\nx[i] += m",
    "row by an array of its own": "t = np.zeros(3)\nt += 1.5\nx[i] += t",
    "row by a choice": "x[i] += np.where(x[i] > 2, s, 1)",
    "variable of a row": "r = x[i]\nr += y[i]",
    "copy of a row": "r = x[i].copy()\nr += y[i]\nx[i] = r",
    "array of its own": "r = np.zeros(3, np.int32)\nr += y[i]\nx[i] = r",
}
"""Bodies of loops over `i`: rows of the array `x`, another one, and a number."""

TYPES = {
    "float64": ("int32", "float64", 2.5),
    "float32": ("uint8", "float32", 2.5),
    "held": ("float32", "float64", 2.5),
}
"""The dtypes of the arrays, and the number; those of the last do what they are to do."""


@pytest.fixture
def function(request, tmp_path, monkeypatch):
    """A function of a loop with this body, from a module as users write it."""
    loop, body = request.param
    lines = [f"for i in {loop}(1, x.shape[0]):", *(f"    {each}" for each in UPDATES[body].splitlines())]
    text = "import numpy as np\nfrom numba import njit, prange\n\n@njit\ndef f(x, y, s):\n"
    path = tmp_path / "of_user.py"
    path.write_text(text + "".join(f"    {each}\n" for each in lines))
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["f"]


def outcome(function, *args):
    """The elements that the first array has afterwards; None after an error of types."""
    try:
        function(*args)
    except (TypeError, ValueError):
        return None
    return np.asarray(args[0].asnumpy() if isinstance(args[0], dpnp.ndarray) else args[0]).ravel().tolist()


@pytest.mark.nightly(one_in=2)
@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("small", ["0", "60000"])
@pytest.mark.parametrize(
    "function", [(w, b) for w in ("prange", "range") for b in UPDATES], indirect=True, ids="-".join
)
def test_updates_that_an_array_cannot_hold_raise_as_in_numpy(function, small, types, monkeypatch):
    monkeypatch.setenv("KAPI_OFFLOAD_SMALL", small)
    dtype, other, number = TYPES[types]

    def given():
        return np.arange(1, 10).reshape(3, 3).astype(dtype), np.full((3, 3), 1.5, other), number

    expected = outcome(function.py_func, *given())
    x, y, s = given()
    assert outcome(function, dpnp.asarray(x), dpnp.asarray(y), s) == expected

    def in_context(*args):
        with kapi_runtime.device_context("cpu"):
            function(*args)

    assert outcome(in_context, *given()) == expected
