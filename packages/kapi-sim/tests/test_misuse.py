"""A work-item used as what it is not, a missing work-item, wrong counts: kapi's words, not Python's."""

from __future__ import annotations

import linecache
import math
import re

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises


def kernel_of(statement: str, more: dict[str, object] | None = None) -> kapi.Kernel:
    """Return a kernel of one statement, whose source is found as that of a file is."""
    source = f"def body(item, a):\n    {statement}\n"
    file = f"<{statement}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names: dict[str, object] = {"kapi": kapi, **(more or {})}
    exec(compile(source, file, "exec"), names)
    return kapi.kernel(names["body"])  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("a[0] = item.get_id()", "call-arguments"),
        ("a[0] = item.get_id(0, 1)", "call-arguments"),
        (
            "a[0] = item.get_id(dims=0)",
            "call-arguments",
        ),
        ("a[0] = item.get_global_id(0)", "attribute-unknown"),
        (
            "a[0] = item.get_group()",
            "attribute-unknown",
        ),
        ("a[0] = item.id_of(0)", "attribute-unknown"),
        ("a[0] = item.get_idd(0)", "attribute-unknown"),
        ("a[0] = item[0]", "indexed-value"),
        ("item[0] = 1", "indexed-value"),
        ("a[0] = item + 1", "operator-operands"),
        ("a[0] = 2.0 * item", "operator-operands"),
        ("a[0] = -item", "work-item-as-value"),
        ("item()", "called-value"),
        ("a[0] = item", "work-item-as-value"),
    ],
)
def test_item_misused_is_reported_in_the_compilers_terms(statement, code, checks):
    with kapi.simulation(checks=checks), raises(kapi.KernelCompilationError, code) as caught:
        kernel_of(statement)[2](np.zeros(2))
    assert "Sim" not in caught.value.message
    assert caught.value.__notes__ == [
        f"in work-item global (0,) of kernel `body`, at <{statement}>:2: `{statement}`",
    ]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (
            "a[0] = item.get_id(0)",
            "attribute-unknown",
        ),
        (
            "a[0] = item.get_sub_group().get_local_range(0)",
            "call-arguments",
        ),
        ("a[0] = item.get_group().size", "attribute-unknown"),
        ("a[0] = item.get_sub_group().get_local_linear_id()", "attribute-unknown"),
        ("a[0] = item.get_sub_group().get_group_linear_range()", "attribute-unknown"),
        ("a[0] = item.get_group()[0]", "indexed-value"),
    ],
)
def test_nd_item_misused_is_reported_in_the_compilers_terms(statement, code):
    with raises(kapi.KernelCompilationError, code):
        kernel_of(statement)[2, 2](np.zeros(2))


@pytest.mark.parametrize(
    "number", [3, 3.0, 3j, True, np.float64(3), np.int8(3), np.bool_(1), np.complex64(3)], ids=repr
)
@pytest.mark.parametrize("statement", ["a[0] = s[0]", "s[0] = 1.0", "s[item.get_id(0)] += 1", "s[()] = 2"])
def test_number_that_is_indexed_is_reported_in_the_compilers_terms(statement, number):
    source = f"def body(item, a, s):\n    {statement}\n"
    linecache.cache["<number>"] = (len(source), None, source.splitlines(True), "<number>")
    names = {}
    exec(compile(source, "<number>", "exec"), names)
    with raises(kapi.KernelCompilationError, "indexed-value") as caught:
        kapi.call_kernel(kapi.kernel(names["body"]), kapi.Range(2), np.zeros(2, np.complex64), number)
    assert caught.value.__notes__[0].startswith("in work-item global (0,) of kernel `body`, at <number>:")


def test_tuple_in_a_name_is_not_indexed_by_a_comparison():
    with raises(kapi.KernelCompilationError, "indexed-value"):
        kernel_of("t = (1, 2); a[0] = t[a[0] > 2]")[2](np.zeros(2))
    with raises(kapi.DtypeError, "index-type"):
        kernel_of("t = a; a[0] = t[a[0] > 2]")[2](np.zeros(2))


@kapi.device_func
def halved(x):
    return x / 2


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("kapi.AtomicRef(a).fetch_add(1.0)", "call-arguments"),
        ("kapi.AtomicRef(a, 0).fetch_add()", "call-arguments"),
        ("kapi.AtomicRef(a, 0).fetch_add(1.0, 2)", "call-arguments"),
        ("kapi.AtomicRef(a, 0).add(1.0)", "attribute-unknown"),
        ("a[0] = kapi.AtomicRef(a, 0).value", "attribute-unknown"),
        ("ref = kapi.AtomicRef(a, 0); ref += 1.0", "operator-operands"),
        ("ref = kapi.AtomicRef(a, 0); ref -= a[0]", "operator-operands"),
        ("a[0] = kapi.AtomicRef(a, 0).magic", "attribute-unknown"),
        ("p = kapi.PrivateArray(4)", "call-arguments"),
        ("a[0] = math.sqrt()", "call-arguments"),
        ("a[0] = math.sqrt(1.0, 2.0)", "call-arguments"),
        ("a[0] = np.hypot(1.0)", "call-arguments"),
        ("a[0] = halved()", "call-arguments"),
        ("a[0] = halved(1.0, 2.0)", "call-arguments"),
        ("a[0] = halved(y=1.0)", "call-arguments"),
        ("a[0] = halved(\n        1.0,\n        2.0)", "call-arguments"),
        ("kapi.AtomicRef(\n        a,\n    ).load()", "call-arguments"),
        ("a[0] = kapi.random.uniform()", "call-arguments"),
        ("a[0] = min()", "call-arguments"),
        ("a[0] = abs(1, 2)", "call-arguments"),
    ],
)
def test_function_misused_is_reported_with_its_form(statement, code, checks):
    names = {"math": math, "np": np, "halved": halved}
    with kapi.simulation(checks=checks), raises(kapi.KernelCompilationError, code) as caught:
        kernel_of(statement, names)[2](np.zeros(2))
    assert not re.search("__call__|Sim|Watched|_absolute", caught.value.message)
    assert caught.value.__notes__[0].startswith(f"in work-item global (0,) of kernel `body`, at <{statement}>:2: ")


def test_type_error_of_the_users_own_is_left_alone():
    def fails(x):
        raise TypeError("my own() takes nothing")

    with pytest.raises(TypeError, match="my own") as caught:
        kernel_of("a[0] = fails(1)", {"fails": kapi.device_func(fails)})[2](np.zeros(2))
    assert not isinstance(caught.value, kapi.KapiError)


@pytest.mark.parametrize("checks", ["all", "none"])
@pytest.mark.parametrize(
    ("statement", "code", "hint"),
    [
        ("a[0] = a[0].sqrt()", "attribute-unknown", "math.sqrt"),
        ("a[0] = (1, 2).first", "attribute-unknown", ""),
        ("a[0] = item.get_id(0).value", "attribute-unknown", ""),
        ("a.shape[0] = 1", "tuple-changed", "kapi.PrivateArray"),
        ("if item.get_id(0) > 5: x = 1\n    a[0] = x", "variable-unset", "on every path"),
        ("n = 3; n[0] = 1", "indexed-value", "for `n`"),
    ],
)
def test_mistake_of_a_beginner_is_reported_in_the_compilers_terms(statement, code, hint, checks):
    with kapi.simulation(checks=checks), raises(kapi.KernelCompilationError, code) as caught:
        kernel_of(statement)[2](np.zeros(2))
    assert hint in caught.value.message
    assert "kernel `body`" in caught.value.__notes__[0]


def test_method_that_arrays_lack_is_reported_with_the_array():
    with raises(kapi.KernelCompilationError, "attribute-unknown") as caught:
        kernel_of("a.append(3)")[2](np.zeros(2))
    assert caught.value.message == "`a` is an array, which has no 'append' in a kernel"


@pytest.mark.parametrize("failure", ["(3).nothing", "(1, 2)[0:1].nothing", "[][1]", "absent"])
def test_fault_in_a_library_is_left_alone(failure):
    library = {"__name__": "numpy.of_nobody"}
    exec(f"def fails():\n    return {failure}", library)
    with pytest.raises((AttributeError, IndexError, NameError)) as caught:
        kernel_of("a[0] = fails()", {"fails": kapi.device_func(library["fails"])})[2](np.zeros(2))
    assert not isinstance(caught.value, kapi.KapiError)


@pytest.mark.parametrize(
    ("index", "hint"),
    [
        ("item", "write item.get_id(0)"),
        ("item.get_id(0) / 2", "divide with //"),
        ("a", "convert it with int(...)"),
        ("item.get_id", "call it: write parentheses and its arguments after its name"),
    ],
)
def test_index_that_is_no_integer_is_reported_with_what_to_write(index, hint):
    with raises(kapi.DtypeError, "index-type") as caught:
        kernel_of(f"a[{index}] = 1")[2](np.zeros(2))
    assert hint in caught.value.message


@kapi.kernel
def add(item, a):
    a[item.get_id(0)] += 1


def test_kernel_that_a_kernel_calls_is_no_function_of_another_library():
    with raises(kapi.KernelCompilationError, "kernel-in-kernel") as caught:
        kernel_of("add(item, a)", {"add": add})[2](np.zeros(2))
    assert "@device_func" in caught.value.message


@pytest.mark.parametrize("kind", [list, tuple])
def test_arguments_in_one_collection_are_reported_to_be_passed_one_by_one(kind):
    with raises(kapi.KernelLaunchError, "argument-count") as caught:
        kapi.call_kernel(with_item, kapi.Range(2), kind((np.zeros(2), np.zeros(2))))
    assert caught.value.message.endswith(
        f"got 1 {kind.__name__}: write * before it, which passes what it holds one by one"
    )


@pytest.mark.parametrize("failure", [TypeError, IndexError, ValueError])
def test_extent_that_is_an_array_is_refused_whatever_its_library_raises(failure):
    class Extent:
        def __index__(self):
            raise failure("no index")

    with raises(kapi.LimitError, "range-extent"):
        kapi.Range(Extent())
    with raises(kapi.LimitError, "range-type"):
        kapi.NdRange(4, Extent())


@kapi.kernel
def without_item(a, b):
    a[0] = b[0]


@kapi.kernel
def with_item(item: kapi.Item, a, b):
    a[0] = b[0]


@kapi.kernel
def one(item, a):
    a[0] = 1


def test_kernel_without_a_work_item_is_reported():
    with raises(kapi.KernelLaunchError, "argument-count") as caught:
        without_item[1](np.zeros(1), np.zeros(1))
    assert caught.value.message == (
        "kernel `without_item` must be launched with 1 argument after the work-item (b), got 2: the first parameter, "
        "`a`, is the work-item, which the launch gives: write `def without_item(item, a, b)`"
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_wrong_count_of_a_kernel_with_a_work_item_is_reported_plainly(count):
    with raises(kapi.KernelLaunchError, "argument-count") as caught:
        with_item[1](*[np.zeros(1)] * count)
    assert caught.value.message == (
        f"kernel `with_item` must be launched with 2 arguments after the work-item (a, b), got {count}"
    )


def test_wrong_count_of_one_is_singular():
    with raises(kapi.KernelLaunchError, "argument-count"):
        one[1]()


def test_long_list_is_not_printed_in_full():
    with raises(kapi.DtypeError, "argument-type") as caught:
        one[1](list(range(100_000)))
    assert len(caught.value.message) < 200


def test_location_of_an_index_outside_is_reported_once():
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds") as caught:
        kernel_of("a[item.get_id(0) + 1] = 1")[2](np.zeros(2))
    told = "\n".join([caught.value.message, *caught.value.__notes__])
    assert told.count("work-item global (1,)") == 1
    assert caught.value.__notes__ == ["in kernel `body`"]


def test_items_and_arrays_show_themselves(capsys):
    @kapi.kernel
    def show(item: kapi.NdItem, a, tile):
        tile[item.get_local_id(0)] = item.get_local_id(0)
        kapi.group_barrier(item.get_group())
        if item.get_global_id(0) == 3:
            print(item, item.get_group(), item.get_sub_group(), a, tile, sep="\n")

    kapi.call_kernel(show, kapi.NdRange(4, 2), np.arange(100.0), kapi.LocalAccessor(2, np.int32))
    assert capsys.readouterr().out.splitlines() == [
        "<NdItem global (3,), local (1,), group (1,) of NdRange((4,), (2,))>",
        "<Group (1,) of (2,), seen from local (1,)>",
        "<SubGroup 0 of 1, seen from local id 1>",
        "<a: array of shape (100,), float64: [ 0.  1.  2. ... 97. 98. 99.]>",
        "<tile: array of shape (2,), int32: [0 1]>",
    ]


def test_report_shows_itself():
    with kapi.simulation() as report:
        one[1](np.zeros(1))
    assert repr(report) == report.text()
    assert report._repr_html_() == f"<pre>{report.text()}</pre>"
