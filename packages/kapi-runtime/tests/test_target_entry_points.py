"""Targets are found by their entry points: one that kapi does not have is named by a pretended distribution."""

from __future__ import annotations

import sys

import pytest

import kapi_runtime as kapi
import kapi_spirv
from kapi_runtime.platform import entry_points, installed
from kapi_runtime.platform.entry_points import installed_entry_points
from kapi_sim.language import KernelOptions

TOY = """
from kapi_lowering import ModuleFormat, TargetCompiler
from kapi_spirv import SpirvModule, SpirvTarget, entry_points
from kapi_spirv.compiler import COMPILER as SPIRV


class ToyTarget(SpirvTarget):
    __slots__ = ()


class ToyCompiler(TargetCompiler):
    format = ModuleFormat("toy", 1, SpirvModule, ToyTarget, entry_points, SPIRV.format.own)
    own_fields = staticmethod(SPIRV.own_fields)

    def default_target(self):
        return ToyTarget("1.4")


COMPILER = ToyCompiler()
"""


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A distribution that names a third target is installed."""
    (tmp_path / "toy_target.py").write_text(TOY, "utf-8")
    folder = tmp_path / "toy_target-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-target\nVersion: 1.0\n", "utf-8")
    (folder / "entry_points.txt").write_text("[kapi.targets]\ntoy = toy_target:COMPILER\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    installed_entry_points.cache_clear()
    entry_points.compiler_of.cache_clear()
    yield
    installed_entry_points.cache_clear()
    entry_points.compiler_of.cache_clear()
    sys.modules.pop("toy_target", None)


def double(item: kapi.Item, x):
    x[item.get_id(0)] *= 2


def test_targets_of_kapi_are_found():
    assert entry_points.compiler_of("spirv").compile_kernel == kapi_spirv.compile_kernel
    assert (entry_points.package_of("spirv"), entry_points.distribution_of("spirv")) == ("kapi_spirv", "kapi-spirv")


def test_platforms_name_their_targets():
    assert {each.name: each.target for each in installed.platforms()}["sycl"] == "spirv"


def test_target_is_found_without_its_import(toy):
    assert entry_points.package_of("toy") == "toy_target"
    assert entry_points.distribution_of("toy") == "toy-target"
    assert "toy_target" not in sys.modules


def test_third_target_compiles_and_keeps_the_kernels_of_a_platform(toy, monkeypatch):
    platform = next(each for each in installed.platforms() if each.name == "sycl")
    monkeypatch.setattr(type(platform), "target", "toy")
    target = entry_points.compiler_of("toy").default_target()
    module = platform.compile(double, "item1, float32[:]", target, KernelOptions())
    assert (type(module.target).__name__, module.target.version) == ("ToyTarget", "1.4")
    kept = platform.write_module(module, "key")
    assert kept.startswith(b"kapi toy module 1\n")
    assert platform.read_module(kept, "key").code == module.code
    with pytest.raises(TypeError, match="target must be a ToyTarget, got SpirvTarget"):
        platform.compile(double, "item1, float32[:]", kapi_spirv.SpirvTarget(), KernelOptions())
