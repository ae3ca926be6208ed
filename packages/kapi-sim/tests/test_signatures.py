"""Types of parameters as text."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.language.launchables.signature_parser import parameter_type, parameter_types
from kapi_sim.testing.reports import raises


def test_parts_of_a_signature_are_parsed_one_by_one():
    parsed = parameter_types(" nd_item2, float32 ,strided f8[:, :],(int64, (bool, c8[:])), local u2[4,8], weak_int,")
    assert [each.kind for each in parsed] == ["nd_item", "scalar", "array", "tuple", "local", "weak"]
    assert [each.ndim for each in parsed] == [2, 0, 2, 0, 2, 0]
    assert [each.dtype for each in parsed] == [None, np.dtype("f4"), np.dtype("f8"), None, np.dtype("u2"), None]
    assert parsed[4].extents == (4, 8)
    assert [each.kind for each in parsed[3].members] == ["scalar", "tuple"]
    assert parameter_types("") == ()


@pytest.mark.parametrize(
    ("text", "layout", "is_readonly"),
    [
        ("float32[:]", "C", False),
        ("float32 [ : ]", "C", False),
        ("float32[::1]", "C", False),
        ("float32[:, ::1]", "C", False),
        ("float32[::1, :]", "F", False),
        ("fortran float32[:, :]", "F", False),
        ("readonly strided float32[:]", "A", True),
        ("readonly float32[:, :, :, :, :, :]", "C", True),
    ],
)
def test_arrays_have_the_layout_that_is_named(text, layout, is_readonly):
    parsed = parameter_type(text)
    assert (parsed.kind, parsed.layout, parsed.is_readonly) == ("array", layout, is_readonly)
    assert parsed.ndim == text.count(":") - text.count("::1")


@pytest.mark.parametrize(
    "text",
    [
        *"item0 item4 nd_item int long uintp float complex str object U3 M8 float128 >f4 [:]".split(),
        *"f4[] f4[: f4[3] f4[:][:] f4[:,:,:,:,:,:,:] f4[::1,::1] readonly_f4[:] (item1) (local) f4)".split(),
        *("", "local", "local f4", "local f4[0]", "local f4[:, 2]", "local readonly f4[:]"),
        *("strided strided f4[:]", "big f4[:]"),
    ],
)
def test_text_that_is_no_type_is_refused(text):
    with raises(kapi.KernelCompilationError, "signature-text"):
        parameter_type(text)


def test_offset_of_a_wrong_part_is_named():
    with raises(kapi.KernelCompilationError, "signature-text") as raised:
        parameter_types("item1, float32, (int64, flaot), f4[:]")
    assert raised.value.message.startswith("member of type of parameter 3 must be one that kernels have, got 'flaot'")
    with raises(kapi.KernelCompilationError, "signature-text"):
        parameter_types("item1,,f4")
