"""Globals, closures and attributes of modules are what they are at the launch, as in Python."""

from __future__ import annotations

import types

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.build.fingerprint import fingerprint

FACTOR = 1
SETTINGS = types.ModuleType("settings")


@kapi.kernel
def from_global(item: kapi.Item, out):
    out[item.get_id(0)] = FACTOR


@kapi.device_func
def scaled(x):
    return x * FACTOR


@kapi.kernel
def from_function(item: kapi.Item, out):
    out[item.get_id(0)] = scaled(1)


@kapi.kernel
def from_module(item: kapi.Item, out):
    out[item.get_id(0)] = SETTINGS.factor


class Settings:
    """A plain class."""

    factor = 1


@kapi.kernel
def from_class(item: kapi.Item, out):
    out[item.get_id(0)] = Settings.factor


OBJECT = types.SimpleNamespace(inner=types.SimpleNamespace(factor=1))


@kapi.kernel
def from_object(item: kapi.Item, out):
    out[item.get_id(0)] = OBJECT.inner.factor


def first(out):
    return out.asnumpy()[0]


NAME = "factor"


@kapi.kernel
def by_name(item: kapi.Item, out):
    out[item.get_id(0)] = getattr(OBJECT.inner, NAME)


@pytest.mark.parametrize("kernel", [from_global, from_function, from_module, from_class, from_object, by_name])
def test_value_from_outside_is_that_at_the_launch(kernel, monkeypatch):
    out, seen = dpnp.zeros(3, dtype=np.float64), []
    for value in (1, 2, 2.5, 1):
        monkeypatch.setitem(globals(), "FACTOR", value)
        for owner in (SETTINGS, Settings, OBJECT.inner):
            monkeypatch.setattr(owner, "factor", value, raising=False)
        kapi.call_kernel(kernel, kapi.Range(3), out)
        seen.append(first(out))
    assert seen == [1, 2, 2.5, 1]


def test_closure_is_that_at_the_launch():
    @kapi.device_func
    def one(x):
        return x + 1

    @kapi.device_func
    def two(x):
        return x + 2

    step = one

    @kapi.kernel
    def kernel(item: kapi.Item, out):
        out[item.get_id(0)] = step(0)

    out = dpnp.zeros(3)
    bound = kernel.bind(kapi.Range(3), out)
    seen = []
    for step in (one, two, one):  # noqa: B007  # the kernel's closure
        bound()[0].wait()
        seen.append(first(out))
        kernel[3](out)
        seen.append(first(out))
    assert seen == [1, 1, 2, 2, 1, 1]


def test_equal_value_compiles_nothing(monkeypatch):
    out = dpnp.zeros(3)
    large = 10**12
    for value in (large, int(str(large))):
        monkeypatch.setitem(globals(), "FACTOR", value)
        kapi.call_kernel(from_global, kapi.Range(3), out)
        modules = from_global.modules
    kapi.call_kernel(from_global, kapi.Range(3), out)
    assert from_global.modules is modules


@pytest.mark.parametrize(("owner", "kernel"), [(Settings, from_class), (OBJECT.inner, from_object)])
def test_fingerprint_counts_the_constants_of_classes_and_objects(owner, kernel, monkeypatch):
    """And nothing else of them."""
    before = fingerprint(kernel.py_func)
    monkeypatch.setattr(owner, "other", 3, raising=False)
    assert fingerprint(kernel.py_func) == before
    monkeypatch.setattr(owner, "factor", 2)
    assert fingerprint(kernel.py_func) != before


def test_fingerprint_counts_the_constant_that_a_name_from_outside_takes(monkeypatch):
    before = fingerprint(by_name.py_func)
    monkeypatch.setattr(OBJECT.inner, "factor", 2)
    second = fingerprint(by_name.py_func)
    monkeypatch.setitem(globals(), "NAME", "other")
    assert len({before, second, fingerprint(by_name.py_func)}) == 3


def test_name_from_outside_is_that_at_the_launch(monkeypatch):
    out, seen = dpnp.zeros(3), []
    monkeypatch.setattr(OBJECT.inner, "other", 7, raising=False)
    for name in ("factor", "other", "factor"):
        monkeypatch.setitem(globals(), "NAME", name)
        kapi.call_kernel(by_name, kapi.Range(3), out)
        seen.append(first(out))
    assert seen == [1, 7, 1]


def test_fingerprint_counts_what_each_function_takes_of_a_module(monkeypatch):
    def width():
        return SETTINGS.width

    def area():
        return width() * SETTINGS.height

    monkeypatch.setattr(SETTINGS, "height", 2, raising=False)
    monkeypatch.setattr(SETTINGS, "width", 2, raising=False)
    before = fingerprint(area)
    monkeypatch.setattr(SETTINGS, "width", 3)
    assert fingerprint(area) != before


def test_constant_records_compile_anew_where_they_are_changed():
    dtype = np.dtype([("low", "i4"), ("high", "f4")])
    table, limit = np.zeros(2, dtype), np.void((1, 0.5), dtype)

    @kapi.kernel
    def gather(item: kapi.Item, out):
        out[item.get_id(0)] = table[item.get_id(0)].low + limit.high

    out = np.zeros(2)
    kapi.call_kernel(gather, kapi.Range(2), out)
    before = fingerprint(gather.py_func)
    assert out.tolist() == [0.5, 0.5]
    table["low"][1] = 3
    limit["high"] = 2
    kapi.call_kernel(gather, kapi.Range(2), out)
    assert out.tolist() == [2, 5]
    after = fingerprint(gather.py_func)
    table.dtype = np.dtype([("low", "f4"), ("other", "i4")])  # the same bytes, as other fields
    kapi.call_kernel(gather, kapi.Range(2), out)
    assert out.tolist() == [2, 2 + float(np.array(3, "i4").view("f4"))]
    assert len({before, after, fingerprint(gather.py_func)}) == 3


def test_constant_array_compiles_anew_where_it_is_changed_alone():
    table = np.arange(3)

    @kapi.kernel
    def gather(item: kapi.Item, out):
        i = item.get_id(0)
        out[i] = table[i]

    out = dpnp.zeros(3)
    bound = gather.bind(kapi.Range(3), out)
    seen = []
    for value in (5, 5, 7):
        table[1] = value
        kapi.call_kernel(gather, kapi.Range(3), out)
        seen.append((first(out[1:]), gather.modules))
        bound()[0].wait()
        assert first(out[1:]) == value
    assert [value for value, _ in seen] == [5, 5, 7]
    assert seen[0][1] is seen[1][1] is not seen[2][1]
