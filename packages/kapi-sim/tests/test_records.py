"""Records in the simulator: what races, what is unwritten and what is out of bounds is told by field."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

PARTICLE = np.dtype([("x", "f4"), ("y", "f4"), ("v", "i4", 2), ("inner", [("w", "f8")])])


def launch(function, *arguments, groups=True):
    space = kapi.NdRange(4, 4) if groups else kapi.Range(4)
    kapi.call_kernel(kapi.kernel(function), space, *arguments)


def particles(count=4):
    return np.zeros(count, PARTICLE)


def test_work_items_that_write_different_fields_do_not_race():
    def fields(item: kapi.NdItem, a):
        i = item.get_global_id(0)
        if i % 2:
            a[i // 2].x = i
        else:
            a[i // 2].y = i + 1
            a[i // 2].inner.w = a[i // 2].v[1]

    a = particles()
    launch(fields, a)
    assert a["x"].tolist() == [1, 3, 0, 0]
    assert a["y"].tolist() == [1, 3, 0, 0]


def one_field(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    a[i // 2].y = i


def part_of_a_field(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    a[i // 2].v[1] = i


def record_and_field(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    if i % 2:
        a[i // 2] = a[3].copy()
    else:
        a[i // 2].inner.w = 7


def record_read(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    if i % 2:
        a[i // 2].v[0] = i
    else:
        a[i // 2 + 2] = a[i // 2]


@pytest.mark.parametrize(
    ("function", "element"),
    [
        (one_field, "a[0].y"),
        (part_of_a_field, "a[0].v[1]"),
        (record_and_field, "a[0].inner.w"),
        (record_read, "a[0].v[0]"),
    ],
)
def test_a_race_names_the_field(function, element):
    with raises(kapi.DataRaceError, "data-race") as caught:
        launch(function, particles())
    assert f"data race on {element} " in str(caught.value)


def test_a_field_that_nobody_wrote_is_named():
    def unwritten(item: kapi.NdItem, a, tile):
        k = item.get_local_id(0)
        tile[k].x = 1
        kapi.group_barrier(item.get_group())
        a[k].x = tile[3 - k].x
        a[k] = tile[3 - k]

    with raises(kapi.UninitializedReadError, "read-before-write") as caught:
        launch(unwritten, particles(), kapi.LocalAccessor(4, PARTICLE))
    assert str(caught.value).startswith("tile[3].y (local memory) is read")


def test_an_unwritten_field_of_private_memory_is_named():
    def unwritten(item: kapi.Item, a):
        own = kapi.PrivateArray(2, PARTICLE)
        own[1].x = a[0].x
        a[item.get_id(0)].y = own[1].y

    with raises(kapi.UninitializedReadError, "read-before-write") as caught:
        launch(unwritten, particles(), groups=False)
    assert "own[1].y" in str(caught.value)


def outside_element(item: kapi.NdItem, a):
    a[item.get_global_id(0) + 1].x = 1


def outside_sub_array(item: kapi.NdItem, a):
    a[item.get_global_id(0)].v[item.get_global_id(0)] = 1


@pytest.mark.parametrize(("function", "array"), [(outside_element, "a"), (outside_sub_array, "a[2].v")])
def test_an_index_out_of_bounds_names_the_array_or_the_field(function, array):
    with raises(kapi.OutOfBoundsError, "index-out-of-bounds") as caught:
        launch(function, particles())
    assert f"of `{array}` has length" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "error", "code"),
    [
        ("a[0].mass = 1", kapi.KernelCompilationError, "attribute-unknown"),
        ("a[0]['mass'] = 1", kapi.KernelCompilationError, "attribute-unknown"),
        ("a[0].x = a[0][0]", kapi.KernelCompilationError, "attribute-unknown"),
        ("a[0].copy().x = 1", kapi.KernelCompilationError, "record-value-changed"),
        ("w.x = 1", kapi.KernelCompilationError, "record-value-changed"),
        ("a[0] = (1, 2)", kapi.DtypeError, "stored-value"),
        ("a[0] = 1", kapi.DtypeError, "stored-value"),
        ("a[0].v = 1", kapi.DtypeError, "stored-value"),
        ("a[0].x = a[1]", kapi.DtypeError, "stored-value"),
        ("a[0].inner = a[1]", kapi.DtypeError, "stored-value"),
        ("a[0].x = a[1] == a[2]", kapi.DtypeError, "whole-record"),
        ("a[0] = a[1] + a[2]", kapi.DtypeError, "whole-record"),
        ("a['zz'][0] = 1", kapi.KernelCompilationError, "attribute-unknown"),
        ("a.shape = 1", kapi.KernelCompilationError, "attribute-assigned"),
        ("a[0] = np.void((1, 2), np.float32)", kapi.DtypeError, "array-dtype"),
        ("kapi.AtomicRef(a[0], 'v').load()", kapi.DtypeError, "atomic-index"),
    ],
)
def test_what_no_record_can_do_is_refused(body, error, code, tmp_path):
    names = {"kapi": kapi, "np": np}
    path = tmp_path / "kernel.py"
    path.write_text(f"def program(item: kapi.Item, a, w):\n    {body}\n")
    exec(compile(path.read_text(), str(path), "exec"), names)
    with raises(error, code):
        kapi.call_kernel(kapi.kernel(names["program"]), kapi.Range(1), particles(), np.zeros((), PARTICLE)[()])


@pytest.mark.parametrize(
    ("dtype", "said"),
    [
        ([("x", "O")], "field 'x' must be bool"),
        ([("x", "f4"), ("n", [("s", "S3")])], "field 'n.s' must be bool"),
        ([("x", ">f4")], "field 'x' must be bool"),
        ([("t", "M8[s]", 2)], "field 't' must be bool"),
        ([("v", "f4", 0), ("x", "f4")], "field 'v' has no elements"),
        ({"names": ["a", "b"], "formats": ["f4", "f4"], "offsets": [0, 2]}, "fields 'a' and 'b' share bytes"),
    ],
)
def test_a_dtype_that_kernels_do_not_have_is_refused_by_its_field(dtype, said):
    made = np.dtype(dtype)
    with raises(kapi.DtypeError, "argument-dtype") as caught:
        launch(one_field, np.zeros(4, made))
    assert "argument `a`" in str(caught.value)
    assert said in str(caught.value)
    with raises(kapi.DtypeError, "array-dtype") as caught:
        kapi.LocalAccessor(4, made)
    assert said in str(caught.value)


def test_an_argument_of_another_view_of_the_records_races_with_a_field():
    def two(item: kapi.NdItem, a, x):
        i = item.get_global_id(0)
        a[i].y = i
        x[3 - i] = 1

    a = particles()
    launch(two, a, a["x"])
    with raises(kapi.DataRaceError, "data-race"):
        launch(two, a, a["y"])


def test_an_atomic_reference_to_a_field_at_an_odd_address_is_refused():
    def odd(item: kapi.NdItem, a):
        kapi.AtomicRef(a[0], "n").fetch_add(1)

    packed, fields = np.dtype([("kind", "i1"), ("n", "i4")]), [("kind", "i1"), ("n", "i4")]
    with raises(kapi.DtypeError, "atomic-ref"):
        launch(odd, np.zeros(4, packed))
    a = np.zeros(4, np.dtype(fields, align=True))
    launch(odd, a)
    assert a["n"].tolist() == [4, 0, 0, 0]


def test_a_trace_counts_accesses_to_fields():
    a = particles()
    with kapi.trace() as trace:
        launch(part_of_a_field_once, a)
    assert "4 work-items, 16 events" in str(trace)


def part_of_a_field_once(item: kapi.NdItem, a):
    i = item.get_global_id(0)
    a[i].v[1] = a[i].v[0]
