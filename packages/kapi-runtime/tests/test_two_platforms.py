"""Arrays of two platforms in one launch: the second platform is a pretended one, which has arrays and no device."""

from __future__ import annotations

import dpnp
import pytest

import kapi_runtime as kapi
from kapi_runtime.platform import installed
from kapi_sim.language.usm_fields import ArrayFields
from kapi_sim.testing.reports import raises


class Theirs:
    """An array of the pretended platform, of four elements."""

    dtype = dpnp.float64
    shape = (4,)


class Pretended:
    """What a launch asks of a platform before it knows that there is another one."""

    name = "pretended"

    def fields(self, value):
        return ArrayFields(4096, value.shape, (1,), dpnp.zeros(1).dtype, False, "their device")

    def copy_call(self, name, beside=""):
        return f"theirs.copied({name})"


@pytest.fixture(autouse=True)
def pretended(monkeypatch):
    """The platform is known, and installed."""
    known = installed._Known("pretended", "Pretended", "", (), lambda value: isinstance(value, Theirs))
    monkeypatch.setattr(installed, "_KNOWN", (*installed._KNOWN, known))
    monkeypatch.setitem(installed._made, "pretended", Pretended())


@kapi.kernel
def add(item: kapi.Item, left, right):
    i = item.get_id(0)
    left[i] += right[i]


@pytest.mark.parametrize(
    "arguments", [(dpnp.ones(4), Theirs()), (Theirs(), dpnp.ones(4))], ids=["theirs-second", "theirs-first"]
)
def test_arrays_of_two_platforms_are_refused_by_name(arguments):
    with raises(kapi.ExecutionPlacementError, "different-platforms"):
        add[4](*arguments)


def test_tuple_s_member_of_another_platform_is_refused_by_its_name():
    with raises(kapi.ExecutionPlacementError, "different-platforms"):
        add[4](dpnp.ones(4), (1, Theirs()))


def test_code_for_another_platform_is_refused():
    source = "kernel void scale(global double *x) { x[get_global_id(0)] *= 2; }"
    scale = kapi.load_opencl(source, "scale", {"x": "float64[:]"})
    Pretended.queue_of = lambda self, kernel, arrays: "their queue"
    Pretended.require_usable = lambda self: None
    with raises(kapi.ExecutionPlacementError, "different-platforms") as caught:
        scale[4](Theirs())
    assert caught.value.code == "different-platforms"
