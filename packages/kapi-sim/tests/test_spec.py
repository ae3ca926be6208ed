"""The specification: tables without gaps, names that exist, values that check themselves."""

from __future__ import annotations

import cmath
import copy
import inspect
import math
import pickle

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import errors
from kapi_sim.items import items
from kapi_sim.language import ATOMIC_KINDS, COMMON_NAMES, INTRINSICS, OPERATORS, operator_row, rows
from kapi_sim.language.attributes import attribute_of
from kapi_sim.language.intrinsics import index_space as stubs
from kapi_sim.language.table.row import PARAMETER_WORDS, RESULT_WORDS
from kapi_sim.memory import atomics
from kapi_sim.numbers.mathematics import SUBSTITUTES
from kapi_sim.testing.reports import raises

RUNNING = {
    "Item": (items.SimItem,),
    "NdItem": (items.SimNdItem,),
    "Group": (items.SimGroup,),
    "SubGroup": (items.SimSubGroup,),
    "AtomicRef": (atomics.SimAtomicRef, atomics.WatchedAtomicRef),
}
CALLED = [row for row in INTRINSICS if row.family != "math" and row.kind != "property"]


def test_intrinsic_keys_are_unique():
    keys = [row.key for row in INTRINSICS]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("row", rows(family="index"), ids=lambda row: row.key)
def test_index_row_is_implemented(row):
    stub = vars(getattr(stubs, row.owner))[row.name]
    made = vars(getattr(items, f"Sim{row.owner}"))[row.name]
    assert isinstance(stub, property) == isinstance(made, property) == (row.kind == "property")
    assert stub.__doc__


def test_index_table_is_complete():
    for owner in ("Item", "NdItem", "Group", "SubGroup"):
        public = {name for name in vars(getattr(stubs, owner)) if not name.startswith("_")}
        assert public == {row.name for row in rows(owner)}


@pytest.mark.parametrize("row", rows(family="math"), ids=lambda row: row.key)
def test_math_row_is_implemented(row):
    module = {"math": math, "cmath": cmath, "numpy": np}[row.owner]
    assert callable(attribute_of(module, row.name))
    # NumPy's functions mean in a kernel what they mean anywhere.
    assert row.owner == "numpy" or id(attribute_of(module, row.name)) in SUBSTITUTES
    assert row.spirv == "composed" or row.spirv.startswith(("OpenCL.std ", "Op"))


def test_each_row_is_described():
    for row in INTRINSICS:
        assert row.meaning
        assert row.sycl.startswith("4.") or row.family == "random"  # which SYCL does not have
        assert row.kind in ("method", "property", "function")


def test_names_of_types_are_all_explained_and_used():
    assert {word for row in INTRINSICS for _, word, _ in row.parameters} == set(PARAMETER_WORDS)
    assert {row.returns for row in INTRINSICS} == set(RESULT_WORDS)


@pytest.mark.parametrize("row", CALLED, ids=lambda row: row.key)
def test_row_has_the_parameters_of_the_stub_and_of_what_runs(row):
    owners = (kapi,) if row.owner is None else (getattr(kapi, row.owner), *RUNNING.get(row.owner, ()))
    for owner in owners:
        given = list(inspect.signature(getattr(owner, row.name)).parameters.values())
        if row.owner in RUNNING or row.kind == "method":
            given = given[1:]
        assert [parameter.name for parameter in given] == [name for name, _, _ in row.parameters]
        for parameter, (_, _, default) in zip(given, row.parameters, strict=True):
            shown = f"{type(parameter.default).__name__}.{getattr(parameter.default, 'name', '')}"
            wanted = parameter.empty if default is None else default
            assert wanted in (parameter.default, shown)


def test_atomic_table_is_complete():
    names = {row.name for row in rows("AtomicRef")}
    assert names == set(ATOMIC_KINDS) == {name for name in vars(kapi.AtomicRef) if not name.startswith("_")}


def test_operators_are_known_by_identity_and_named_alike():
    assert len({id(row.function) for row in OPERATORS}) == len({row.name for row in OPERATORS}) == len(OPERATORS)
    for row in OPERATORS:
        assert getattr(kapi, row.name) is row.function
        assert operator_row(row.function) is row
    assert operator_row(max) is None


def test_common_names_are_exported():
    assert len(set(COMMON_NAMES)) == len(COMMON_NAMES)
    assert set(COMMON_NAMES) <= set(kapi.__all__)


def test_public_names_exist():
    assert len(set(kapi.__all__)) == len(kapi.__all__)
    for name in kapi.__all__:
        assert getattr(kapi, name) is not None


def test_error_table_is_complete_and_unique():
    listed = [row.error for row in errors.ERRORS]
    assert len(set(listed)) == len(listed)
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, kapi.KapiError) and value is not kapi.KapiError
    }
    assert set(listed) == defined
    for row in errors.ERRORS:
        assert issubclass(row.error, row.builtin)
        assert issubclass(row.error, kapi.KapiError)
        assert row.cause
        assert row.cure
        assert not row.cause.endswith(".")
        assert "\n" not in row.cause


def test_range_keeps_its_dimensions():
    space = kapi.Range(4, 0, 5)
    assert tuple(space) == (4, 0, 5)
    assert (space.ndim, space.size) == (3, 0)
    assert pickle.loads(pickle.dumps(space)) == copy.copy(space) == space
    assert type(copy.copy(space)) is kapi.Range


@pytest.mark.parametrize("extents", [(), (1, 2, 3, 4)])
def test_range_has_one_to_three_dimensions(extents):
    with raises(kapi.LimitError, "range-dimensions"):
        kapi.Range(*extents)


@pytest.mark.parametrize("extents", [(-1,), (2.5,), ("3",), (2, -3)])
def test_range_extents_are_integers(extents):
    with raises(kapi.LimitError, "range-extent"):
        kapi.Range(*extents)


def test_nd_range_reads_back():
    space = kapi.NdRange((8, 6), (4, 3))
    assert (space.global_range, space.local_range, space.group_range) == ((8, 6), (4, 3), (2, 2))
    assert space == kapi.NdRange(kapi.Range(8, 6), kapi.Range(4, 3))
    assert hash(space) == hash(kapi.NdRange((8, 6), (4, 3)))
    assert space.ndim == 2


@pytest.mark.parametrize(
    ("global_range", "local", "code"),
    [
        (100, 64, "local-range-divides"),
        ((8, 8), 8, "local-range-dimensions"),
        (8, 0, "local-range-extent"),
        ("x", 1, "range-type"),
        (8, 16, "local-range-divides"),
    ],
)
def test_nd_range_checks_its_ranges(global_range, local, code):
    with raises(kapi.LimitError, code):
        kapi.NdRange(global_range, local)


def test_local_accessor_reads_back():
    local = kapi.LocalAccessor((4, 8), np.float32)
    assert (local.shape, local.dtype, local.ndim, local.nbytes) == ((4, 8), np.float32, 2, 128)
    assert local == kapi.LocalAccessor([4, 8], "float32")


@pytest.mark.parametrize("shape", [(), 0, (4, -1), 2.5, (1,) * 7])
def test_local_accessor_checks_its_shape(shape):
    with raises(kapi.LimitError, "array-shape"):
        kapi.LocalAccessor(shape, np.float32)


# Windows and Apple's processors have no floats wider than float64: longdouble is float64 there.
WIDE = [np.longdouble] if np.dtype(np.longdouble).itemsize > 8 else []


@pytest.mark.parametrize("dtype", [object, "U4", ">f4", "nonsense", *WIDE])
def test_local_accessor_checks_its_dtype(dtype):
    with raises(kapi.DtypeError, "array-dtype"):
        kapi.LocalAccessor(4, dtype)


def test_queries_outside_a_kernel_say_so():
    with raises(kapi.KernelLaunchError, "outside-kernel"):
        kapi.Item().get_id(0)
    with raises(kapi.KernelLaunchError, "word-by-other-name"):
        kapi.group_barrier(kapi.Group())
