"""Work-groups of two and three dimensions on the device: linear ids, sub-groups and group algorithms against NumPy."""

from __future__ import annotations

import itertools
import operator

import device_arrays
import numpy as np
import pytest

import kapi_runtime as kapi

SHAPES = [(2, 2), (3, 5), (1, 7), (7, 1), (8, 8), (2, 3, 2), (1, 1, 5), (3, 1, 3)]
OPERATORS = {
    "plus": np.add,
    "multiplies": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "bit_and": np.bitwise_and,
    "bit_or": np.bitwise_or,
    "bit_xor": np.bitwise_xor,
}
FORMS = ("reduce", "inclusive_scan", "exclusive_scan")
ROWS = list(itertools.product(FORMS, OPERATORS))

HEAD = """
def make(kapi):
    @kapi.kernel{options}
    def shapes(item: kapi.NdItem, a, o):
        i = item.get_global_linear_id()
        group = item.get_group()
"""


def _made(tmp_path, lines, options=""):
    """A kernel of these lines, from a file of its own."""
    source = HEAD.format(options=options) + "".join(f"        {line}\n" for line in lines) + "    return shapes\n"
    path = tmp_path / "shapes.py"
    path.write_text(source)
    space = {}
    exec(compile(source, str(path), "exec"), space)
    return space["make"](kapi)


def _groups(local, groups):
    """The linear ids of the work-items of each work-group, in the order of their local linear ids."""
    extents = np.arange(np.prod(np.multiply(local, groups))).reshape(np.multiply(local, groups))
    for group in np.ndindex(*groups):
        window = tuple(slice(g * n, (g + 1) * n) for g, n in zip(group, local, strict=True))
        yield extents[window].ravel()


def _expected(form, name, values):
    function = OPERATORS[name]
    scanned = function.accumulate(values, dtype=values.dtype)
    if form == "inclusive_scan":
        return scanned
    if form == "reduce":
        return np.full_like(values, scanned[-1])
    limits = np.iinfo(values.dtype)
    first = {
        "minimum": limits.max,
        "maximum": limits.min,
        "bit_and": np.array(-1).astype(values.dtype),
        "multiplies": 1,
    }
    return np.concatenate([[np.array(first.get(name, 0)).astype(values.dtype)], scanned[:-1]])


@pytest.mark.parametrize("query", ["", "o[0, i] = item.get_sub_group().get_local_id()"], ids=["alone", "sub-groups"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_group_algorithms_of_every_shape(tmp_path, ndim, dtype, query):
    """Reductions and scans over a work-group are NumPy's, with a query of the sub-group as well."""
    lines = [query] if query else []
    lines += [
        f"o[{1 + k}, i] = kapi.{form}_over_group(group, a[i], kapi.{name})" for k, (form, name) in enumerate(ROWS)
    ]
    kernel = _made(tmp_path, lines)
    for local in (shape for shape in SHAPES if len(shape) == ndim):
        groups = (2, 1, 3)[:ndim]
        size = int(np.prod(local) * np.prod(groups))
        values = np.random.default_rng(size).integers(1, 100, size).astype(dtype)
        out = device_arrays.zeros((1 + len(ROWS), size), dtype=dtype)
        kapi.call_kernel(
            kernel, kapi.NdRange(tuple(np.multiply(local, groups)), local), device_arrays.asarray(values), out
        )
        given = device_arrays.asnumpy(out)
        for ids in _groups(local, groups):
            for k, (form, name) in enumerate(ROWS):
                np.testing.assert_array_equal(
                    given[1 + k, ids], _expected(form, name, values[ids]), f"{form} {name} {dtype} {local}"
                )


QUERIES = [
    "o[i, 0] = item.get_local_linear_id()",
    "s = item.get_sub_group()",
    "o[i, 1] = s.get_group_id() * s.get_max_local_range() + s.get_local_id()",
    "o[i, 2] = group.get_group_linear_id()",
    "o[i, 3] = kapi.group_broadcast(group, i, 1)",
    "o[i, 4] = 0",
    "for d in range(a.shape[0]):",
    "    start = group.get_group_id(d) * item.get_local_range(d)",
    "    o[i, 4] += (item.get_global_id(d) - start - item.get_local_id(d)) * 100",
    "    o[i, 4] += item.get_local_id(d) * a[d]",
    "o[i, 5] = item.get_global_range(0) * 100 + item.get_global_range(item.dimensions - 1)",
    "o[i, 6] = group.get_group_range(0) * 100 + group.get_group_range(item.dimensions - 1)",
    "o[i, 7] = group.leader + 10 * s.leader",
    "o[i, 8] = kapi.reduce_over_group(s, 1, kapi.plus) - s.get_local_range()",
    "o[i, 9] = kapi.inclusive_scan_over_group(s, 1, kapi.plus) - 1 - s.get_local_id()",
]


@pytest.mark.nightly(one_in=11)
@pytest.mark.parametrize("options", ["", "(inline='never')", "(debug=True)", "(sub_group_size=8)"])
@pytest.mark.parametrize("local", SHAPES, ids=str)
def test_sub_groups_follow_linear_ids(tmp_path, local, options):
    """Work-items with neighbouring linear ids are a sub-group's, whatever the work-group's shape; all queries agree."""
    groups = (2, 3, 2)[: len(local)]
    kernel = _made(tmp_path, QUERIES, options)
    extents = tuple(int(extent) for extent in np.multiply(local, groups))
    size = int(np.prod(extents))
    out = device_arrays.zeros((size, 10), dtype=np.int64)
    weights = np.array([10000, 100, 1][-len(local) :])
    kapi.call_kernel(kernel, kapi.NdRange(extents, local), device_arrays.asarray(weights), out)
    given = device_arrays.asnumpy(out)
    members = int(np.prod(local))
    for number, ids in enumerate(_groups(local, groups)):
        np.testing.assert_array_equal(given[ids, 0], np.arange(members))
        np.testing.assert_array_equal(given[ids, 1], np.arange(members))
        np.testing.assert_array_equal(given[ids, 2], number)
        np.testing.assert_array_equal(given[ids, 3], ids[1] if members > 1 else ids[0])
        weighted = np.array([np.dot(index, weights) for index in np.ndindex(*local)])
        np.testing.assert_array_equal(given[ids, 4], weighted)
        np.testing.assert_array_equal(given[ids, 7] % 10, np.arange(members) == 0)
    np.testing.assert_array_equal(given[:, 5], extents[0] * 100 + extents[-1])
    np.testing.assert_array_equal(given[:, 6], groups[0] * 100 + groups[-1])
    np.testing.assert_array_equal(given[:, 8:], 0)


def test_a_fixed_work_group_is_linear_too(tmp_path):
    """The extents are constants then; the driver is told of one dimension."""
    kernel = _made(tmp_path, QUERIES[:3], "(work_group_size=(3, 5))")
    out = device_arrays.zeros((30, 10), dtype=np.int64)
    kapi.call_kernel(kernel, kapi.NdRange((6, 5), (3, 5)), device_arrays.asarray([100, 1]), out)
    given = device_arrays.asnumpy(out)
    np.testing.assert_array_equal(given[:, 1], np.tile(np.arange(15), 2))
    np.testing.assert_array_equal(given[:, 0], given[:, 1])


def test_a_repeated_launch_of_another_shape_has_its_own_extents(tmp_path):
    """Plans keep what the packed argument says of the index space."""
    kernel = _made(tmp_path, QUERIES[:3])
    for local in [(2, 6), (6, 2), (3, 4), (2, 6)] * 3:
        out = device_arrays.zeros((12, 10), dtype=np.int64)
        kapi.call_kernel(kernel, kapi.NdRange(local, local), device_arrays.asarray([100, 1]), out)
        np.testing.assert_array_equal(device_arrays.asnumpy(out)[:, 1], np.arange(12))


def test_a_failure_names_the_work_item_of_linear_groups(tmp_path):
    """The record of failures has the ids of the kernel's own dimensions."""
    lines = [
        "s = item.get_sub_group()",
        "o[i, s.get_local_id() * 0] = 1",
        "if item.get_global_id(1) == 3:",
        "    a[i + 99] = 1",
    ]
    kernel = _made(tmp_path, lines, "(debug=True)")
    with pytest.raises(kapi.OutOfBoundsError, match="index") as caught:
        kapi.call_kernel(kernel, kapi.NdRange((2, 4), (1, 4)), device_arrays.zeros(8), device_arrays.zeros((8, 1)))
    notes = " ".join(getattr(caught.value, "__notes__", [])) + str(caught.value)
    assert "(0, 3)" in notes or "(1, 3)" in notes


def test_a_parameter_may_be_named_like_what_belongs_to_none():
    """Of `range`, the launch's own extents and a parameter's value are told apart when a launch is repeated."""

    @kapi.kernel
    def named(item: kapi.Item, out, range, local_range):
        out[item.get_id(0)] = range * 10 + local_range

    for number in (8, 5, 3, 8):
        out = device_arrays.zeros(8, dtype=np.int64)
        kapi.call_kernel(named, kapi.Range(8), out, number, 2)
        np.testing.assert_array_equal(device_arrays.asnumpy(out), operator.add(number * 10, 2))
