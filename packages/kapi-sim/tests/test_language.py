"""Constructs that kernels lack, and the common ground of undecorated and device functions."""

# ruff: noqa: C410, C417, F401, F841
from __future__ import annotations

import linecache
import re
import time

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


def helper(x):
    y = [x]
    return y[0]  # helper


@kapi.kernel
def much_is_wrong(item: kapi.Item, a, n):
    values = [1, 2]
    table = {1: 2}
    unique = {1}
    squares = [k * k for k in range(3)]
    text = f"{n}"
    word = "word"
    try:
        a[0] = 1
    finally:
        a[0] = 2
    with a:
        pass
    import math as m

    first, *rest = (1, 2, 3)
    if n is None or n in (1, 2):
        a[0] = a @ a
    del n
    converted = str(3)
    made = list((1, 2))
    large = 2**64 + 18446744073709551616
    each = map(lambda x: x, (1, 2))
    return helper(3)


@kapi.kernel
def over_lists(item: kapi.Item, a):
    i = item.get_id(0)
    total = 0
    for x, y in [(1, 2), (3, i)]:
        total += x * y
    if i in [1, 3] and i not in [2, a.shape[0]]:
        total += 100
    a[i] = total


def test_list_that_python_makes_a_tuple_is_one():
    a = np.zeros(4, np.int64)
    kapi.call_kernel(over_lists, kapi.Range(4), a)
    assert a.tolist() == [2, 105, 8, 111]


@kapi.kernel
def over_starred_lists(item: kapi.Item, a):
    for x in [*a]:
        a[0] = x


def test_list_of_starred_values_stays_a_list():
    with raises(kapi.KernelCompilationError, "list-in-kernel"):
        kapi.call_kernel(over_starred_lists, kapi.Range(4), np.zeros(4))


def test_all_problems_are_reported_at_once(line_with):
    with raises(kapi.KernelCompilationError, "list-in-kernel") as caught:
        kapi.call_kernel(much_is_wrong, kapi.Range(1), np.zeros(1), 1)
    problems = caught.value.problems
    lines = [problem.line for problem in problems]
    assert lines[:-1] == sorted(lines[:-1])
    assert {
        "list-in-kernel",
        "dict-in-kernel",
        "set-in-kernel",
        "comprehension",
        "text-in-kernel",
        "try-in-kernel",
        "with-in-kernel",
        "import-in-kernel",
        "starred-name",
        "operator-unknown",
        "del-in-kernel",
        "integer-too-wide",
        "return-value",
    } <= {problem.code for problem in problems}
    assert lines[-1] == line_with("# helper") - 1


@kapi.kernel
def uses_what_the_simulator_allows(item: kapi.Item, a):
    """A docstring is no string that a kernel makes."""
    i = item.get_id(0)
    assert i >= 0, f"{i} is negative"
    if i > 5:
        raise ValueError(f"no item {i}")
    print("item", f"{i}", [i])
    a[i] = i


def test_print_assert_and_raise_are_allowed(capsys):
    kapi.call_kernel(uses_what_the_simulator_allows, kapi.Range(1), np.zeros(1))
    assert capsys.readouterr().out == "item 0 [0]\n"


def plain_divide(a, b):
    return a // b


def plain_convergence(group):
    kapi.group_barrier(group)


@kapi.kernel
def calls_plain_functions(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = plain_divide(a[k], 2)
    plain_convergence(nd_item.get_group())
    a[k] = tile[1 - k]


@kapi.kernel
def divides_by_zero(item: kapi.Item, a):
    a[0] = plain_divide(a[0], a[1])


def test_undecorated_functions_are_device_functions():
    a = np.array([4, 0], np.int32)
    kapi.call_kernel(calls_plain_functions, kapi.NdRange(2, 2), a, kapi.LocalAccessor(2, np.int32))
    np.testing.assert_array_equal(a, [0, 2])
    with pytest.raises(ZeroDivisionError, match="divisor of // must not be zero"):
        kapi.call_kernel(divides_by_zero, kapi.Range(1), np.array([1, 0], np.int32))


@kapi.kernel
def barrier_in_a_lambda(nd_item: kapi.NdItem):
    converge = lambda: kapi.group_barrier(nd_item.get_group())  # noqa: E731
    converge()


@kapi.kernel
def lambda_without_a_barrier(nd_item: kapi.NdItem, a):
    half = lambda x: plain_divide(x, 2)  # noqa: E731
    a[nd_item.get_global_id(0)] = half(7)


@pytest.mark.parametrize("checks", ["all", "none"])
def test_barrier_in_a_lambda_is_refused(checks):
    with (
        kapi.simulation(checks=checks),
        raises(
            kapi.KernelCompilationError,
            "barrier-in-lambda",
            line="converge = lambda: kapi.group_barrier(nd_item.get_group())",
        ),
    ):
        kapi.call_kernel(barrier_in_a_lambda, kapi.NdRange(2, 2))
    a = np.zeros(2)
    kapi.call_kernel(lambda_without_a_barrier, kapi.NdRange(2, 2), a)
    np.testing.assert_array_equal(a, 3)


@kapi.device_func
def added(a, i, amount):
    kapi.AtomicRef(a, 0, kapi.MemoryOrder.RELAXED, kapi.MemoryScope.DEVICE, kapi.AddressSpace.GLOBAL).fetch_add(amount)


@kapi.device_func
def applied(function, a, *, i):
    function(a, i, amount=3)


@kapi.kernel
def apply(item: kapi.Item, function, a):
    applied(function, a, i=item.get_id(0))


@pytest.mark.parametrize("is_constant", [True, False])
def test_functions_given_to_functions_are_checked_too(is_constant):
    @kapi.kernel
    def apply_added(item: kapi.Item, a):
        applied(added, a, i=item.get_id(0))

    a = np.zeros(1, np.int32)
    args = (a,) if is_constant else (added, a)
    kapi.call_kernel(apply_added if is_constant else apply, kapi.Range(4), *args)
    assert a[0] == 12


def test_function_of_executed_source_is_the_users_own():
    """Python calls it one of `builtins` where the names that it is made among have no `__name__`."""
    source = "@kapi.device_func\ndef double(x):\n    return x + x\n\ndef program(item, a):\n    a[0] = double(a[0])\n"
    linecache.cache["<executed>"] = (len(source), None, source.splitlines(True), "<executed>")
    namespace = {"kapi": kapi}
    exec(compile(source, "<executed>", "exec"), namespace)
    a = np.ones(1, np.int32)
    kapi.call_kernel(kapi.kernel(namespace["program"]), kapi.Range(1), a)
    assert a[0] == 2


TABLE, LARGE, TEXTS = np.arange(3.0), np.zeros(1 << 13), np.array(["a"])
SEEN = []


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("np.zeros(3)", "function-unknown"),
        ("np.linalg.norm(a)", "function-unknown"),
        ("sum(x for x in zip(a, a))", "generator"),
        ("isinstance(a, int)", "function-unknown"),
        ("time.time()", "function-unknown"),
        ("TEXTS[0]", "outside-array"),
        ("LARGE[0]", "outside-array-too-large"),
        ("TABLE[0] = 1.0", "outside-array-stored"),
        ("b = TABLE; b[1:][0] += 1.0", "outside-array-stored"),
        ("a[0] = TABLE[3]", "index-out-of-bounds"),
        ("a[0] = TABLE[-4]", "negative-index"),
        ("kapi.AtomicRef(TABLE, 0).load()", "atomic-of-private"),
        ("SEEN.append(1)", "outside-collection"),
        ("a.sum()", "array-attribute"),
    ],
)
def test_what_no_device_has_is_refused(statement, code, tmp_path):
    file = tmp_path / "kernels.py"
    file.write_text(f"def refused(item, a):\n    {statement}\n")
    names = {"np": np, "time": time, "TABLE": TABLE, "LARGE": LARGE, "TEXTS": TEXTS, "SEEN": SEEN, "kapi": kapi}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with raises(kapi.KapiError, code, line=2):
        kapi.call_kernel(kapi.kernel(names["refused"]), kapi.Range(1), np.zeros(2))


def test_names_of_local_functions_are_their_own():
    @kapi.kernel
    def shadows(item: kapi.Item, a):
        def first(TABLE):
            return TABLE[0]

        a[item.get_id(0)] = first(a) + max(np.float32(1), 2) + np.maximum(a[0], 3.0)

    kapi.call_kernel(shadows, kapi.Range(1), a := np.zeros(1))
    assert a[0] == 5.0


def test_constant_array_is_what_it_was_when_the_launch_began():
    table = np.arange(4.0)

    @kapi.kernel
    def double(item: kapi.Item, a):
        i = item.get_id(0)
        a[i] = 2 * table[3 - i]

    for checks in ("all", "none"):
        table[:] = range(4)
        with kapi.simulation(checks=checks):
            kapi.call_kernel(double, kapi.Range(4), table)  # an argument, too: what it writes is not read
        assert table.tolist() == [6, 4, 2, 0]
        with kapi.simulation(checks=checks):
            kapi.call_kernel(double, kapi.Range(4), table)
        assert table.tolist() == [0, 4, 8, 12]


def registered(*_, **__):
    """A decorator of a user, which takes whatever he gives it."""
    return lambda function: function


def test_other_decorators_of_a_kernel_are_no_code_of_it():
    """They ran when the function was defined: lambdas, lists and texts in them are in no kernel."""

    @registered(lambda x: x + 1, ["a", {}], key=lambda: np.zeros(3))
    @kapi.kernel
    @registered(try_it=[n for n in range(3) if n])
    def double(item: kapi.Item, a):
        a[item.get_id(0)] *= 2

    kapi.call_kernel(double, kapi.Range(3), a := np.arange(3.0))
    assert a.tolist() == [0, 2, 4]
