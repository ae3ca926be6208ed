"""Numbers on the device are NumPy's: every operator, every pair of types, conversions, and math within its bounds."""

from __future__ import annotations

import itertools
import linecache
import math
import warnings
from fractions import Fraction
from zlib import crc32

import device_arrays
import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_sim
from kapi_sim.language.table.intrinsics import rows
from kapi_sim.testing.reports import raises

OPERATORS = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": np.floor_divide, "%": np.remainder,
    "**": np.power, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": np.left_shift,
    ">>": np.right_shift, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
CORE = {"?", "i4", "u8", "f2", "f4", "f8", "c8"}  # each kind, and widths that promotion tells apart
NIGHTLY = pytest.mark.nightly(one_in=30)
PAIRS = [
    pytest.param(left, right, marks=() if {left, right} <= CORE else NIGHTLY)
    for left, right in itertools.product(DTYPES, DTYPES)
]
COUNT = 2000


@kapi.kernel
def draws(item: kapi.Item, bounds, out):
    i = item.get_id(0)
    out[i] = kapi.random.randint(1, i, bounds[i, 0], bounds[i, 1])


def test_randint_of_nothing_is_its_lower_bound():
    bounds = np.array([(10, 0), (5, 5), (2**63 - 1, -(2**63)), (-3, -4), (0, -1)])
    drawn = device_arrays.full(len(bounds), 99)
    kapi.call_kernel(draws, kapi.Range(len(bounds)), device_arrays.asarray(bounds), drawn)
    assert device_arrays.asnumpy(drawn).tolist() == bounds[:, 0].tolist()


def values(dtype, seed):
    """Random values of a dtype: over its range, near zero, and its special ones."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, COUNT).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        result = rng.integers(info.min, info.max, COUNT, dtype=dtype, endpoint=True)
        special = [info.min, info.max, info.max - 1, 0, 1, 2, 3]
        special += [-1, -2, -3, info.min + 1] if dtype.kind == "i" else []
        small = rng.integers(-10 if dtype.kind == "i" else 0, 10, COUNT).astype(dtype)
    elif dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        result = np.empty(COUNT, dtype)
        result.real, result.imag = values(part, seed), values(part, seed + 100)
        return result
    else:
        largest = 4 if dtype.itemsize == 2 else 6
        result = (rng.standard_normal(COUNT) * 10.0 ** rng.integers(-5, largest, COUNT)).astype(dtype)
        special = [0.0, -0.0, 1, -1, 2, 0.5, -0.5, 3, np.inf, -np.inf, np.nan]
        small = rng.integers(-9, 10, COUNT).astype(dtype)
    chosen = rng.random(COUNT)
    result = np.where(chosen < 0.3, rng.choice(np.array(special, dtype), COUNT), result)
    return np.where(chosen > 0.7, small, result)


def kernel(lines, parameters):
    """A kernel whose body is `lines`, on the work-item `i`."""
    source = f"def kernel(item, {', '.join(parameters)}):\n    i = item.get_id(0)\n"
    source += "".join(f"    {line}\n" for line in lines)
    filename = f"<kernel {crc32(source.encode())}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"math": math, "np": np}
    exec(compile(source, filename, "exec"), namespace)
    return kapi.kernel(namespace["kernel"])


def run(lines, inputs, outputs):
    """Run the kernel on the inputs, and return the outputs, arrays of the given dtypes."""
    arrays = {name: device_arrays.asarray(value) for name, value in inputs.items()}
    arrays |= {name: device_arrays.zeros(COUNT, dtype=dtype) for name, dtype in outputs.items()}
    kapi.call_kernel(kernel(lines, list(arrays)), kapi.Range(COUNT), *arrays.values())
    return {name: device_arrays.asnumpy(arrays[name]) for name in outputs}


def same(got, wanted):
    """Equal in value and in the sign of zero, nan being nan."""
    if wanted.dtype.kind == "c":
        return same(got.real, wanted.real) & same(got.imag, wanted.imag)
    equal = (got == wanted) | ((got != got) & (wanted != wanted))
    if wanted.dtype.kind == "f":
        equal &= (np.signbit(got) == np.signbit(wanted)) | np.isnan(wanted)
    return equal


def expected(symbol, left, right):
    """NumPy's result for arrays, and the mask of elements that have one; None where it has no such operation."""
    defined = np.ones(COUNT, bool)
    if symbol == "**" and np.result_type(left, right).kind in "iu":
        # NumPy refuses negative exponents of integers; kernels give 0.
        defined = right >= 0
        right = np.where(defined, right, right.dtype.type(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = OPERATORS[symbol](left, right)
            if symbol == "*" and result.dtype.kind == "c":
                # NumPy's loop over an array contracts where the processor can; its scalars do as kernels do.
                result = np.array([x * y for x, y in zip(left, right, strict=True)])
            return result, defined
        except TypeError:
            return None


def close_powers(x, y, found, dtype):
    """Whether complex powers are within what the exponent leaves of the angle; infinite and nan ones are free."""
    with np.errstate(all="ignore"):
        x, y = x.astype(np.clongdouble), y.astype(np.clongdouble)
        wanted = np.power(x, y)
        revolutions = 1 + np.abs(y * np.log(x))
        is_small = np.abs(wanted) < np.finfo(dtype).tiny * 1e6
        is_free = (
            ~np.isfinite(wanted) | ~np.isfinite(revolutions) | (np.abs(wanted) > np.finfo(dtype).max / 4) | is_small
        )
        return is_free | (np.abs(found - wanted) <= 8 * np.finfo(dtype).eps * revolutions * np.abs(wanted))


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_operators_agree_with_numpy(left, right):
    """Every operator that NumPy has for the pair, bit by bit; powers of floats to a few units."""
    x, y = values(left, 1), values(right, 2)
    wanted = {symbol: expected(symbol, x, y) for symbol in OPERATORS}
    wanted = {symbol: found for symbol, found in wanted.items() if found is not None}
    names = {symbol: f"out{number}" for number, symbol in enumerate(wanted)}
    lines = ["x = a[i]", "y = b[i]", *(f"{names[symbol]}[i] = x {symbol} y" for symbol in wanted)]
    outputs = {names[symbol]: result.dtype for symbol, (result, _) in wanted.items()}
    got = run(lines, {"a": x, "b": y}, outputs)
    wrong = {}
    for symbol, (result, defined) in wanted.items():
        found = got[names[symbol]]
        agrees = same(found, result) | ~defined
        if symbol == "**" and result.dtype.kind == "f":
            agrees |= np.isclose(found, result, rtol=16 * np.finfo(result.dtype).eps)
        if symbol == "**" and result.dtype.kind == "c":
            agrees |= close_powers(x, y, found, result.dtype)
        if not agrees.all():
            first = int(np.argmin(agrees))
            wrong[symbol] = (x[first], y[first], found[first], result[first])
    assert wrong == {}


WEAK = {"3": 3, "(-2)": -2, "0.5": 0.5, "True": True, "2j": 2j, "(i % 3)": None}
"""Python's numbers as a kernel writes them: literals, and an id, whose value differs from work-item to work-item."""


def with_weak(symbol, x, weak, is_left):
    """NumPy's result for an array and a Python number, the id taken one value at a time; None if it refuses."""
    if weak is not None:
        pair = (np.asarray(x), weak)
        return expected_of(symbol, *(pair if is_left else pair[::-1]))
    parts = [with_weak(symbol, x, k, is_left) for k in range(3)]
    if None in [part if part is None else 0 for part in parts]:
        return None
    chosen = np.arange(COUNT) % 3
    return tuple(np.choose(chosen, [part[position] for part in parts]) for position in range(2))


def expected_of(symbol, left, right):
    """As `expected`, for operands of which one is a Python number."""
    defined = np.ones(COUNT, bool)
    shared = np.result_type(left, right)
    if symbol == "**" and shared.kind in "iu":
        if isinstance(right, int) and right < 0:
            return None
        if isinstance(left, int):
            defined, right = right >= 0, np.where(right >= 0, right, right.dtype.type(0))
    if symbol == "**" and isinstance(right, float):
        # Of an array to the power 0.5 NumPy takes the root, which is nan of -inf; of a scalar it does not.
        defined = np.isfinite(left)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return OPERATORS[symbol](left, right), defined
        except (TypeError, OverflowError):
            return None


@pytest.mark.parametrize("written", WEAK)
@pytest.mark.parametrize("dtype", [pytest.param(dtype, marks=() if dtype in CORE else NIGHTLY) for dtype in DTYPES])
def test_operators_of_python_numbers_agree_with_numpy(dtype, written):
    """An array's element and a literal or id, on either side: of the element's type, and NumPy's value."""
    x = values(dtype, 6)
    cases = {
        (symbol, is_left): with_weak(symbol, x, WEAK[written], is_left)
        for symbol in OPERATORS
        for is_left in (True, False)
    }
    if np.iscomplexobj(x) or written == "2j":
        # NumPy's loops contract complex products, and powers are compared above.
        cases = {case: found for case, found in cases.items() if case[0] not in ("*", "/", "**")}
    cases = {case: found for case, found in cases.items() if found is not None}
    names = {case: f"out{number}" for number, case in enumerate(cases)}
    lines = [
        f"{name}[i] = " + (f"a[i] {symbol} {written}" if is_left else f"{written} {symbol} a[i]")
        for (symbol, is_left), name in names.items()
    ]
    got = run(lines, {"a": x}, {names[case]: result.dtype for case, (result, _) in cases.items()})
    wrong = {}
    for case, (result, defined) in cases.items():
        found = got[names[case]]
        agrees = same(found, result) | ~defined
        if case[0] == "**" and result.dtype.kind == "f":
            agrees |= np.isclose(found, result, rtol=16 * np.finfo(result.dtype).eps)
        if not agrees.all():
            first = int(np.argmin(agrees))
            wrong[case] = (x[first], found[first], result[first])
    assert wrong == {}


@pytest.mark.parametrize("source", DTYPES)
def test_stores_convert_as_numpy_does(source):
    """Integers wrap, bools are 0 or 1, floats round; floats to integers saturate and nan gives 0."""
    x = values(source, 3)
    # An imaginary part is nothing to lose without a word: that is refused when the kernel is compiled.
    kinds = "?FD" if np.dtype(source).kind == "c" else "".join(np.typecodes.values())
    targets = {f"out{number}": np.dtype(target) for number, target in enumerate(DTYPES)}
    targets = {name: target for name, target in targets.items() if target.char in kinds}
    got = run([f"{name}[i] = a[i]" for name in targets], {"a": x}, targets)
    for name, target in targets.items():
        with np.errstate(all="ignore"):
            wanted = saturated(x, target) if x.dtype.kind == "f" and target.kind in "iu" else x.astype(target)
        np.testing.assert_array_equal(got[name], wanted, err_msg=f"{source} to {target}")


def saturated(x, target):
    """Each float's integer part, exact by Python's integers, held to the target's range."""
    info = np.iinfo(target)

    def convert(value):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return info.max if value > 0 else info.min
        return min(max(int(value), info.min), info.max)

    return np.array([convert(float(value)) for value in x], target)


@pytest.mark.parametrize("dtype", [each for each in DTYPES if each[0] != "c"])
def test_python_conversions_agree_with_python(dtype):
    """`bool(x)`, `float(x)`, and `int(x)` where 64 bits hold it."""
    x = values(dtype, 4)
    outputs = {"b": np.bool_, "f": np.float64, "n": np.int64}
    got = run(["b[i] = bool(a[i])", "f[i] = float(a[i])", "n[i] = int(a[i])"], {"a": x}, outputs)
    np.testing.assert_array_equal(got["b"], [bool(value) for value in x])
    np.testing.assert_array_equal(got["f"], [float(value) for value in x])
    integers = saturated(x, np.dtype(np.int64)) if x.dtype.kind == "f" else x.astype(np.int64)
    np.testing.assert_array_equal(got["n"], integers)


# Where each function has values; others take any number.
DOMAINS = {
    "sqrt": (0, 1e6), "exp": (-80, 80), "expm1": (-50, 80), "exp2": (-120, 120), "log": (1e-6, 1e6),
    "log1p": (-0.99, 1e6), "log2": (1e-6, 1e6), "log10": (1e-6, 1e6), "asin": (-1, 1), "acos": (-1, 1),
    "sinh": (-80, 80), "cosh": (-80, 80), "acosh": (1, 1e6), "atanh": (-0.999, 0.999), "pow": (0.01, 20),
    "gamma": (0.5, 30), "erfc": (-5, 5),
}  # fmt: skip
BOUNDED = [
    row
    for row in rows(owner="math")
    if row.ulp is not None and row.returns == "argument float" and row.name not in ("nextafter", "ulp", "ldexp")
]
"""The functions that may be some units off; neighbours and scaling are exact, and compared in the conformance suite."""


def as_floats(numbers):
    return tuple(map(float, numbers))


def reference(row, operands):
    """The function in the widest float of this machine, or by Python's `math` in float64."""
    if row.name == "fma":
        return np.array(
            [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in map(as_floats, zip(*operands, strict=True))]
        )
    name = {"pow": "power", "gamma": None, "remainder": None, "erf": None, "erfc": None, "atan2": "arctan2"}.get(
        row.name, row.name
    )
    name = f"arc{name[1:]}" if name and name[0] == "a" and name not in ("arctan2",) else name
    if name and hasattr(np, name):
        return getattr(np, name)(*(operand.astype(np.longdouble) for operand in operands))
    function = getattr(math, row.name)
    return np.array([function(*map(float, each)) for each in zip(*operands, strict=True)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("row", BOUNDED, ids=lambda row: row.name)
def test_math_functions_keep_opencls_bounds(row, dtype):
    """Each function's error in units in the last place, against a wider reference."""
    low, high = DOMAINS.get(row.name, (-1000, 1000))
    rng = np.random.default_rng(5)
    operands = [rng.uniform(low, high, COUNT).astype(dtype) for *_, default in row.parameters if default is None]
    names = "abc"[: len(operands)]
    call = f"math.{row.name}({', '.join(f'{name}[i]' for name in names)})"
    got = run([f"out[i] = {call}"], dict(zip(names, operands, strict=True)), {"out": dtype})["out"]
    wanted = reference(row, operands)
    last_place = np.spacing(np.abs(wanted).astype(dtype)).astype(np.longdouble)
    error = np.abs(got.astype(np.longdouble) - wanted) / last_place
    # Half a unit for the reference's own rounding; Python's gamma and error functions are themselves a few units off.
    slack = 0.5 if dtype is np.float32 or wanted.dtype == np.longdouble else 8
    assert error.max() <= row.ulp + slack, f"{call}: {float(error.max()):.2f} ulp"


def test_root_of_a_negative_integer_ends():
    """Python raises; a kernel, which cannot, gives 0 and does not look for the root for ever."""
    n = values("i8", 3)
    got = run(["out[i] = math.isqrt(a[i])"], {"a": n}, {"out": np.int64})["out"]
    np.testing.assert_array_equal(got, [math.isqrt(max(int(each), 0)) for each in n])


def test_counts_beyond_64_bits_end():
    """The model defines the device's result where the simulator has an error and Python would take all memory."""
    n = np.array([2**62, 2**62, 67, 5, -1, -1, 21, 2**40], np.int64)
    k = np.array([2**61, 2, 33, -2, 2, -2, 21, 2**40], np.int64)
    lines = ["c[i] = math.comb(n[i], k[i])", "p[i] = math.perm(n[i], k[i])", "f[i] = math.factorial(n[i])"]
    got = run_sized(lines, {"n": n, "k": k}, "cpf")
    np.testing.assert_array_equal(got["c"], [0, 0, 0, 0, 0, 0, 1, 1])
    wrapped = np.array(math.factorial(21) % 2**64, np.uint64).astype(np.int64)
    np.testing.assert_array_equal(got["f"], [0, 0, 0, 120, 0, 0, wrapped, 0])
    orders = [
        math.perm(*pair) if min(pair) >= 0 and pair[1] < 100 else 0 for pair in zip(n.tolist(), k.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(got["p"], np.array([each % 2**64 for each in orders], np.uint64).astype(np.int64))


def test_math_functions_are_tested():
    """A table without bounds tests nothing."""
    assert len(BOUNDED) > 25


COMPLEX = [
    "sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh",
    "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "reciprocal",
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "wide"), [(np.complex64, np.complex128), (np.complex128, np.clongdouble)])
def test_complex_functions_are_within_eight_digits(dtype, wide):
    """Distance from NumPy's value in a wider type, relative to its size, in units of the dtype's precision."""
    rng = np.random.default_rng(7)
    z = rng.standard_normal(COUNT) + 1j * rng.standard_normal(COUNT)
    z = (z * 10.0 ** rng.uniform(-3, 1.2, COUNT)).astype(dtype)
    names = [f"out_{name}" for name in COMPLEX]
    got = run([f"out_{name}[i] = np.{name}(a[i])" for name in COMPLEX], {"a": z}, dict.fromkeys(names, dtype))
    errors = {}
    for name in COMPLEX:
        # NumPy's own log1p loses places where the sum is near 1.
        wanted = np.log(1 + z.astype(wide)) if name == "log1p" else getattr(np, name)(z.astype(wide))
        errors[name] = float((np.abs(got[f"out_{name}"] - wanted) / np.abs(wanted)).max() / np.finfo(dtype).eps)
    assert {name: error for name, error in errors.items() if error > 8} == {}


PARTS = [0.0, -0.0, 1.0, -1.0, 0.5, 4.0, 700.0, -800.0, np.inf, -np.inf, np.nan]
ENDS = np.array([complex(real, imag) for real in PARTS for imag in PARTS])
"""Complex numbers of each part at which a function may end: zeros of both signs, infinities, nan, what overflows."""


def near_at_the_ends(found, wanted, is_signed):
    """Whether parts are equal, or finite and near for the size of the complex number."""
    eps = 32 * np.finfo(wanted.dtype).eps
    agrees = np.ones(wanted.shape, bool)
    for part in ("real", "imag"):
        x, y = getattr(found, part), getattr(wanted, part)
        with np.errstate(all="ignore"):
            near = np.isfinite(y) & (np.abs(x - y) <= eps * np.where(np.isfinite(wanted), np.abs(wanted), np.abs(y)))
        # The sign of a zero is Annex G's but where nan has a part in it.
        turned = (x == 0) & (y == 0) & (np.signbit(x) != np.signbit(y)) & is_signed
        agrees &= ((x == y) & ~turned) | near & ~turned | (np.isnan(x) & np.isnan(y))
    return agrees


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_functions_at_the_ends_match_numpy(dtype):
    """Infinite and nan parts, and signs of zeros, by Annex G of C99, which NumPy's functions follow."""
    z = ENDS.astype(dtype)
    names = [*COMPLEX[:-1], "exp2"]
    got = run_sized([f"out_{name}[i] = np.{name}(a[i])" for name in names], {"a": z}, [f"out_{n}" for n in names])
    wrong = {}
    for name in names:
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(z)
        agrees = near_at_the_ends(got[f"out_{name}"], wanted, ~np.isnan(z))
        wrong |= {
            (name, complex(z[n])): (complex(got[f"out_{name}"][n]), complex(wanted[n])) for n in np.flatnonzero(~agrees)
        }
    assert wrong == {}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_powers_at_the_ends_match_numpy(dtype):
    """Every pair of such numbers, and integer exponents, which are multiplied out."""
    exponents = [*ENDS, *(complex(n) for n in (2, 3, -2, -3, 5, 99))]
    x, y = (each.ravel().astype(dtype) for each in np.meshgrid(ENDS, np.array(exponents)))
    found = run_sized(["out[i] = a[i] ** b[i]"], {"a": x, "b": y}, ["out"])["out"]
    with np.errstate(all="ignore"):
        wanted = x**y
        # What turns often leaves few places of the angle, and with them the signs of what ends.
        revolutions = np.abs(y * np.log(x))
        is_turned = np.isfinite(revolutions) & (revolutions > 8)
    agrees = near_at_the_ends(found, wanted, ~np.isnan(x) & ~np.isnan(y)) | is_turned
    wrong = np.flatnonzero(~agrees)
    assert [(complex(x[n]), complex(y[n]), complex(found[n]), complex(wanted[n])) for n in wrong] == []


def run_sized(lines, inputs, names):
    """As `run`, for inputs of any one size, with outputs of their dtype."""
    first = next(iter(inputs.values()))
    arrays = {name: device_arrays.asarray(value) for name, value in inputs.items()}
    arrays |= {name: device_arrays.zeros(first.size, dtype=first.dtype) for name in names}
    kapi.call_kernel(kernel(lines, list(arrays)), kapi.Range(first.size), *arrays.values())
    return {name: device_arrays.asnumpy(arrays[name]) for name in names}


ACCEPTED = [
    "q & (2**64 - 1)", "q + (1 << 63)", "np.uint64(2**63) ^ q", "min(q, 2**63)", "q > 2**63", "m > 2**63",
    "i < 2**64 - 1", "x + 2**63", "x * (2**64 - 1)", "10**20 / 3", "10**20 // 10**18 + m", "float(2**63)",
    "divmod(q, 2**63)[0]", "divmod(2**63, q + 1)[1]", "min(q, 3, 2**63)", "min(1.5, 3, 2**63)", "(q, 2**63)[i % 2]",
    "-(2**63) + i", "m & -1", "np.where(q > 3, q, 2**64 - 1)", "math.sqrt(2**63)",
]  # fmt: skip
REFUSED = [
    "m - 2**63", "m // 2**63", "m & (2**64 - 1)", "i + 2**63", "i * (2**64 - 1)", "i // 2**63", "2**63 // (i + 1)",
    "2**63 >> i", "len(a) - 2**63", "min(m, 2**63)", "max(m, 2**63)", "np.minimum(m, 2**63)", "np.add(i, 2**63)",
    "np.where(m > 3, i, 2**63)", "divmod(m, 2**63)[1]", "abs(2**63)", "int(2**64 - 1)", "round(2**63)", "b * 2**63",
    "x + 2**65", "x * 10**20", "2**70 * 0.5", "-(2**64 - 1)", "2**70 >> 60", "x < 2**64", "min(i, 2**63)",
    "max(2**63, i, 3)", "i if i > 2 else 2**63", "i and 2**63", "i or 2**63", "np.clip(i, 0, 2**63)",
    "divmod(i, 2**63)[0]", "divmod(2**63, i + 1)[1]", "divmod(b, 2**63)[0]", "min(m, i, 2**63)", "min(q, i, 2**63)",
    "max(q, True, 2**63)", "min(1.5, i, 2**63)", "min(b, i > 2, 2**63)", "(i > 2) or 2**63", "(q > 2) and 2**63",
    "(i > 2) if i < 2 else 2**63", "pow(i, 2**63)", "(m, 2**63)[i % 2]", "(np.int8(i), 300)[i % 2]",
]  # fmt: skip


def with_literal(expression):
    """A kernel of an element of each kind, and an expression with a literal in it."""
    names = {"m": "a", "q": "c", "x": "d", "b": "e"}
    lines = [*(f"{name} = {array}[i]" for name, array in names.items()), f"out[i] = {expression}"]
    return kernel(lines, ["a", "c", "d", "e", "out"]).py_func


def literal_inputs():
    m, q = np.array([0, 5, -7, 2**62], np.int64), np.array([0, 5, 2**63, 2**64 - 1], np.uint64)
    return [m, q, np.array([0.5, -1.0, 2.0, 1e20]), np.array([True, False, True, False]), np.full(4, -1.5)]


@pytest.mark.parametrize("expression", ACCEPTED)
def test_literal_that_fits_is_python_s(expression):
    """In both worlds, and by Python over NumPy's scalars."""
    function, given = with_literal(expression), literal_inputs()
    arrays = [device_arrays.asarray(each) for each in given]
    kapi.call_kernel(kapi.kernel(function), kapi.Range(4), *arrays)
    simulated = [each.copy() for each in given]
    kapi_sim.call_kernel(kapi_sim.kernel(function), kapi_sim.Range(4), *simulated)
    wanted = []
    for i, (m, q, x, b) in enumerate(zip(*given[:4], strict=True)):
        with np.errstate(all="ignore"):
            seen = {"m": m, "q": q, "x": x, "b": b, "i": i, "a": given[0], "np": np, "math": math}
            wanted.append(float(eval(expression, seen)))
    np.testing.assert_array_equal(simulated[-1], wanted)
    np.testing.assert_array_equal(device_arrays.asnumpy(arrays[-1]), wanted)


@pytest.mark.parametrize("sequence", ["(s, 300)", "reversed((s, 300))", "(300, s, 2)"])
def test_literal_that_a_loop_goes_over_fits_the_others(sequence):
    """A variable of the loop has one type; in both worlds."""
    function = kernel([f"s = a[i]\n    for v in {sequence}:\n        out[i] += v"], ["a", "out"]).py_func
    given = [np.array([1, 2], np.int8), np.zeros(2)]
    with raises(kapi.KernelCompilationError, "number-unfit"):
        kapi.call_kernel(kapi.kernel(function), kapi.Range(2), *map(device_arrays.asarray, given))
    with raises(kapi_sim.DtypeError, "number-unfit"):
        kapi_sim.call_kernel(kapi_sim.kernel(function), kapi_sim.Range(2), *given)


@pytest.mark.parametrize("expression", REFUSED)
def test_literal_that_does_not_fit_is_refused(expression):
    """In both worlds."""
    function, given = with_literal(expression), literal_inputs()
    with pytest.raises(kapi.KernelCompilationError, match="must fit|does not (have|take) these"):
        kapi.call_kernel(kapi.kernel(function), kapi.Range(4), *(device_arrays.asarray(each) for each in given))
    with pytest.raises((kapi_sim.DtypeError, kapi_sim.KernelCompilationError), match="must fit|does not fit"):
        kapi_sim.call_kernel(kapi_sim.kernel(function), kapi_sim.Range(4), *given)


@pytest.mark.parametrize(
    "expression", ["(i, 2**63)[m > 2]", "(1.5, 3)[i > 2]", "(i, 3)[b]", "(i, 3)[not b]", "(i, 3)[i > 2 and b]"]
)
def test_tuple_is_not_indexed_by_a_truth_value(expression):
    """In both worlds."""
    function, given = with_literal(expression), literal_inputs()
    with raises(kapi.KernelCompilationError, "indexed-value"):
        kapi.call_kernel(kapi.kernel(function), kapi.Range(4), *(device_arrays.asarray(each) for each in given))
    with raises(kapi_sim.KernelCompilationError, "indexed-value"):
        kapi_sim.call_kernel(kapi_sim.kernel(function), kapi_sim.Range(4), *given)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_division_by_a_power_of_two_rounds_down(dtype):
    @kapi.kernel
    def divide(item: kapi.Item, x, quotients, remainders):
        i = item.get_id(0)
        quotients[i, 0], remainders[i, 0] = x[i] // 1, x[i] % 1
        quotients[i, 1], remainders[i, 1] = x[i] // 2, x[i] % 2
        quotients[i, 2], remainders[i, 2] = x[i] // 8, x[i] % 8
        quotients[i, 3], remainders[i, 3] = x[i] // 64, x[i] % 64
        quotients[i, 4], remainders[i, 4] = x[i] // 6, x[i] % 6

    divisors = np.array([1, 2, 8, 64, 6], dtype)
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.min + 1, info.max - 1, info.max], dtype)
    x = np.concatenate([np.arange(-70, 70).astype(dtype), ends])
    quotients, remainders = (device_arrays.zeros((x.size, 5), dtype=dtype) for _ in range(2))
    kapi.call_kernel(divide, kapi.Range(x.size), device_arrays.asarray(x), quotients, remainders)
    np.testing.assert_array_equal(device_arrays.asnumpy(quotients), x[:, None] // divisors)
    np.testing.assert_array_equal(device_arrays.asnumpy(remainders), x[:, None] % divisors)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_arc_tangents_near_their_poles_are_finite(dtype):
    """At 1j and at 1, where the square of the distance is too small a number, or 0."""

    @kapi.kernel
    def both(item: kapi.Item, x, y, z):
        i = item.get_id(0)
        y[i] = np.arctan(x[i] * x.dtype.type(1j))
        z[i] = np.arctanh(x[i])

    info = np.finfo(dtype)
    near = np.array([0.5, float(info.tiny), 1e-10, 1e-20, float(info.tiny) ** 0.7])
    x = np.concatenate([complex(sign) + 1j * signs * near for sign in (1, -1) for signs in (1, -1)]).astype(dtype)
    y, z = device_arrays.zeros(x.size, dtype=dtype), device_arrays.zeros(x.size, dtype=dtype)
    kapi.call_kernel(both, kapi.Range(x.size), device_arrays.asarray(x), y, z)
    wide = x.astype(np.complex128)
    np.testing.assert_allclose(device_arrays.asnumpy(y), np.arctan(wide * 1j), rtol=8 * info.eps)
    np.testing.assert_allclose(device_arrays.asnumpy(z), np.arctanh(wide), rtol=8 * info.eps)
