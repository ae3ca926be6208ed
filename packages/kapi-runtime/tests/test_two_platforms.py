"""Arrays of two platforms in one launch: the second platform is a pretended one, which has arrays and no device."""

from __future__ import annotations

import importlib
import sys

import dpnp
import pytest

import kapi_runtime as kapi
from kapi_runtime.platform import installed
from kapi_runtime.platform.entry_points import PlatformEntry, installed_entry_points
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.testing.reports import raises


class Theirs:
    """An array of the pretended platform, of four elements."""

    dtype = dpnp.float64
    shape = (4,)


class Pretended:
    """The part of a platform that a launch uses before it knows that there is another one."""

    name = "pretended"

    def fields(self, value):
        return ArrayFields(4096, value.shape, (1,), dpnp.zeros(1).dtype, False, "their device")

    def copy_call(self, name, operands=""):
        return f"theirs.copied({name})"


def is_theirs(value):
    return isinstance(value, Theirs)


PRETENDED = PlatformEntry("pretended", "Pretended", "nowhere:Pretended", "pip install pretended", (), is_theirs)


@pytest.fixture(autouse=True)
def pretended(monkeypatch, tmp_path):
    """A distribution that names the platform is installed."""
    (tmp_path / "pretended_platform.py").write_text("ENTRY = None\n", "utf-8")
    folder = tmp_path / "pretended-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: pretended\nVersion: 1.0\n", "utf-8")
    (folder / "entry_points.txt").write_text("[kapi.platforms]\npretended = pretended_platform:ENTRY\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(importlib.import_module("pretended_platform"), "ENTRY", PRETENDED)
    monkeypatch.setitem(installed._made, "pretended", Pretended())
    installed.known_platforms.cache_clear()
    installed_entry_points.cache_clear()
    yield
    installed.known_platforms.cache_clear()
    installed_entry_points.cache_clear()
    sys.modules.pop("pretended_platform")


def test_platforms_of_other_distributions_are_found():
    assert [each.name for each in installed.known_platforms()] == ["sycl", "cuda", "cpu", "pretended"]
    assert installed.is_installed("pretended")


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
