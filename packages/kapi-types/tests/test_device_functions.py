"""Functions that kernels call: generic, compiled once for each list of types, without recursion."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numba import types

import kapi_sim
from kapi_types import ArrayType, weak_int
from kapi_types.kernel_typing import ProblemsFound
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem

F32 = ArrayType(types.float32, 1, "C")
I32 = ArrayType(types.int32, 1, "C")


@kapi_sim.device_func
def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


def countdown(n):
    if n <= 0:
        return 0
    return countdown(n - 1)


def ping(n):
    return pong(n)


def pong(n):
    return ping(n)


def test_device_functions_are_generic(infer):
    """One function serves all argument types, weak ones too."""

    def call(a, b):
        return doubled(a[0]), doubled(b[0]), doubled(2), tripled(x=a[0])

    inferred = infer(call, F32, I32)
    assert list(inferred.returned.types) == [types.float32, types.int32, weak_int, types.float32]


def test_device_functions_call_each_other(infer):
    """To any depth."""

    def quadrupled(x):
        return doubled(doubled(x))

    def call(a):
        return quadrupled(a[0])

    assert infer(call, F32).returned == types.float32


def test_device_functions_return_tuples(infer):
    """Several values at once."""

    def split(x):
        return x, x / 2

    def call(a):
        first, second = split(a[0])
        return first + second

    assert infer(call, I32).returned == types.float64


def test_device_function_without_return_gives_none(infer):
    """A function may be called for what it writes."""

    def store(a, i):
        a[i] = 1

    def call(a):
        return store(a, 0)

    assert infer(call, F32).returned == types.none


@pytest.mark.parametrize(("function", "called"), [(countdown, "itself"), (ping, "pong(), which calls ping()")])
def test_recursion_is_refused(infer, function, called):
    """Direct or through another function, in the words of the kernel language."""

    def call(a):
        return function(a[0])

    message = re.escape(f"{function.__name__}() calls {called}, and kernels have no recursion")
    with pytest.raises(ProblemsFound, match=message):
        infer(call, I32)


def test_default_is_a_constant_of_its_type(infer):
    """An omitted argument is typed as the default; a keyword argument, by its name."""

    half = np.float64(0.5)

    def power(x, exponent=2, *, scale=half):
        return x**exponent * scale

    def call(a):
        return power(a[0]), power(a[0], scale=3), power(exponent=1, x=a[0])

    assert list(infer(call, F32).returned.types) == [types.float64, types.float32, types.float64]


def test_default_that_no_kernel_has_is_refused(infer):
    """It is told which."""

    def call_with(default):
        def power(x, exponent=default):
            return x

        def call(a):
            return power(a[0])

        return call

    with pytest.raises(ProblemsFound, match=r"default of 'exponent' of power\(\) is a list, which kernels do not have"):
        infer(call_with([1]), F32)


def test_variable_arguments_are_refused(infer):
    """Parameters have names."""

    def first(*xs):
        return xs[0]

    def call(a):
        return first(a[0])

    with pytest.raises(ProblemsFound, match=r"first\(\): parameters of a function that a kernel calls must be named"):
        infer(call, F32)


def test_wrong_arguments_are_refused(infer):
    """With Python's own words."""

    def call(a):
        return doubled(a[0], 1)

    with pytest.raises(ProblemsFound, match=r"doubled\(\): too many positional arguments"):
        infer(call, F32)


def test_problems_of_a_device_function_are_the_kernels(infer):
    """A mistake in a called function is told with its own line."""

    def wrong(x):
        return x.real_part

    def call(a):
        return wrong(a[0])

    with pytest.raises(ProblemsFound, match="float32 has no 'real_part' in a kernel") as caught:
        infer(call, F32)
    assert [problem.line for problem in caught.value.problems] == [wrong.__code__.co_firstlineno + 1]


def test_device_functions_have_no_type_outside_of_a_compilation(typing_context):
    """There is nobody to compile them."""
    function = typing_context.resolve_value_type(doubled)
    with pytest.raises(KernelTypeProblem, match=r"doubled\(\) is called outside of a kernel's compilation"):
        typing_context.resolve_function_type(function, (types.float32,), {})


def test_closures_of_one_definition_are_two_functions(infer):
    """A closure's values are part of it."""

    def make(constant):
        def inner(x):
            return x * constant

        return inner

    weak, strong = make(2), make(2.5)

    def call(a):
        return weak(a[0]), strong(a[0])

    assert list(infer(call, I32).returned.types) == [types.int32, types.float64]
