"""The compilers of targets, found by their entry points of the group ``kapi.targets``."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from kapi_runtime.platform.entry import installed_entry_points
from kapi_sim.forks import block_forks

if TYPE_CHECKING:
    from kapi_lowering import TargetCompiler

__all__ = ["compiler_of", "distribution_of", "package_of"]

_GROUP = "kapi.targets"


@cache
def compiler_of(target: str) -> TargetCompiler[Any, Any]:
    """Return the compiler of a target by the name of its entry point, such as "spirv"; imports the target's package."""
    with block_forks():  # a child of a fork has no half of a module
        compiler: TargetCompiler[Any, Any] = _entry_point(target).load()
    return compiler


def package_of(target: str) -> str:
    """Return the name of the package that has a target, which is not imported."""
    return _entry_point(target).module.partition(".")[0]


def distribution_of(target: str) -> str:
    """Return the name of the distribution that brings a target."""
    return package_of(target).replace("_", "-")


def _entry_point(target: str) -> EntryPoint:
    for each in installed_entry_points():
        if (each.group, each.name) == (_GROUP, target):
            return each
    # A tree without metadata has kapi's own targets, too.
    return EntryPoint(target, f"kapi_{target}.compiler:COMPILER", _GROUP)
