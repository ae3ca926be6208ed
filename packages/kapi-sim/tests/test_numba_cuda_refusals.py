"""Constructs that numba.cuda's compiler refuses are refused here, by the line; those that it takes run."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from planted.cuda_constructs import DEVICE, IN_DEVICE_FUNCTIONS, REFUSED, RUNS, source_of

from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import KernelCompilationError, KernelLaunchError
from kapi_sim.testing.reports import raises


def launched(defined, body, before=""):
    """Launch a kernel with this body; return its array."""
    kernel = cuda.jit(defined(source_of(body, before), __name__="program", cuda=cuda)["kernel"])
    a = np.array([0.5, 1.5, 2.5, 3.5])
    kernel[1, 1](a, np.ones((3, 3)), np.arange(4), 1)
    return a


@pytest.mark.parametrize(("code", "body"), [(code, body) for code, bodies in REFUSED.items() for body in bodies])
def test_what_no_gpu_compiles_is_refused(code, body, defined):
    with raises(KernelCompilationError, code):
        launched(defined, body)


@pytest.mark.parametrize(("body", "expected"), RUNS)
def test_what_gpus_compile_runs(body, expected, defined):
    assert launched(defined, body)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("code", "function"), [(code, each) for code, functions in IN_DEVICE_FUNCTIONS.items() for each in functions]
)
def test_what_a_device_function_cannot_hold(code, function, defined):
    with raises(KernelCompilationError, code):
        launched(defined, "part(a)", DEVICE + function)


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("import-in-kernel", "if i == 5:\n    from pdb import set_trace\n    set_trace()"),
        ("import-in-kernel", "import os.path\na[0] = os.path"),
        ("import-in-kernel", "import math as m\na[0] = m.pi"),
        ("class-in-kernel", "class C:\n    size = 3\na[0] = C.size"),
        ("match-pattern", "match v:\n    case (x, *rest):\n        a[0] = rest[0]"),
    ],
)
def test_names_that_refused_statements_bind_have_values(code, body, defined):
    """The refusal is one finding: the name is not said to lack a value as well."""
    with raises(KernelCompilationError, code) as caught:
        launched(defined, "i, v = 0, (1, 2, 3)\n" + body)
    assert "variable-unset" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("yield-or-await", "for x in counted_on(a):\n    a[0] = x"),
        ("outer-variable-changed", "x = 1\ndef g():\n    nonlocal x\n    x = 2\ng()\na[0] = x"),
        ("text-in-kernel", "s = repr(a[0])"),
    ],
)
def test_what_is_refused_though_gpus_compile_it(code, body, defined):
    with raises(KernelCompilationError, code):
        launched(defined, body, DEVICE + "def counted_on(x):\n    yield 1\n")


def test_what_device_functions_may_return(defined):
    before = f"""
{DEVICE}def itself(x):
    return x
{DEVICE}def pair(x):
    return x, x[1]
{DEVICE}def found(x):
    if x > 9:
        return x
{DEVICE}def of_all(x, *more):
    return x + more[0]
"""
    body = """
    itself(a)[0] = 5
    whole, one = pair(a)
    nothing = found(a[1])
    if nothing is None:
        a[0] += one + of_all(1, 2)
    """
    assert launched(defined, textwrap.dedent(body), before)[0] == 9.5


def test_a_parameter_is_a_shape_where_it_is_given_a_constant(defined):
    before = f"{DEVICE}def first(k):\n    x = cuda.local.array(k, np.float64)\n    x[0] = 3\n    return x[0]\n"
    assert launched(defined, "a[0] = first(3) + first(SIZE)", before)[0] == 6
    for given in ("n", "SIZE + 1", "int(a[0])"):
        with raises(KernelCompilationError, "shape-unknown"):
            launched(defined, f"a[0] = first(3) + first({given})", before)


def test_all_problems_are_reported_at_once(defined):
    before = f"{DEVICE}def inner(x):\n    return str(x)\n"
    with raises(KernelCompilationError, "dict-in-kernel", "text-in-kernel", "shape-unknown") as info:
        launched(defined, "d = {}\nx = cuda.local.array(n, np.float64)\ninner(1)", before)
    assert [each.code for each in info.value.problems] == ["text-in-kernel", "dict-in-kernel", "shape-unknown"]


def test_a_refused_kernel_writes_nothing():
    @cuda.jit
    def kernel(a, n):
        a[0] = 1
        x = cuda.local.array(n, np.float64)
        x[0] = a[0]

    a = np.zeros(1)
    with raises(KernelCompilationError, "shape-unknown", line="x = cuda.local.array(n"):
        kernel[1, 1](a, 3)
    assert a[0] == 0


def test_a_kernel_is_compiled_for_each_list_of_types():
    @cuda.jit
    def kernel(a, b, n):
        x = a
        if n > 0:
            x = b
        x[0] = 1

    a = np.zeros(1)
    kernel[1, 1](a, np.zeros(1), 0)
    kernel[1, 1](a.astype(np.int32), np.zeros(1, np.int32), 1)
    with raises(KernelCompilationError, "variable-types", line="x[0] = 1"):
        kernel[1, 1](a, np.zeros(1, np.int32), 0)
    with raises(KernelCompilationError, "variable-types"):
        kernel[1, 1](a, np.zeros((1, 1)), 0)
    assert a[0] == 1


@pytest.mark.parametrize("value", [None, "text", b"bytes", len, [1, 2], {1: 2}, object()])
def test_arguments_that_no_gpu_takes(value):
    @cuda.jit
    def kernel(a, x):
        a[0] = 1

    a = np.zeros(1)
    with pytest.raises(TypeError):
        kernel[1, 1](a, value)
    assert a[0] == 0


def test_kernels_have_no_defaults():
    @cuda.jit
    def kernel(a, n=3):
        a[0] = n

    a = np.zeros(1)
    kernel[1, 1](a, 4)
    assert a[0] == 4
    with raises(KernelLaunchError, "argument-count"):
        kernel[1, 1](a)


def test_functions_of_vectorize_calls_are_kernels_as_well():
    @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
    def scaled(a, b):
        part = cuda.local.array(a.size, np.float64)
        part[0] = a[0]
        b[0] = part[0]

    with raises(KernelCompilationError, "shape-unknown"):
        scaled(np.arange(3.0))


def test_what_another_module_has_is_as_it_was_at_the_first_launch(defined):
    import types

    module = types.ModuleType("helpers")
    module.rates, module.factor = np.array([1.0, 2.0]), 3
    module.shift = cuda.jit("int64(float64)", device=True)(lambda x: x + 1)

    @cuda.jit
    def kernel(a):
        a[0] = module.rates[1] * module.factor + module.shift(1.75)

    a = np.zeros(1)
    kernel[1, 1](a)
    module.rates[1], module.factor = 10.0, 30
    kernel[1, 1](a)
    assert a[0] == 8
