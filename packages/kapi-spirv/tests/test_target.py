"""The target is a value: equal, hashable, checked."""

from __future__ import annotations

import pytest

from kapi_spirv import SpirvTarget


def test_target_is_a_value():
    """Equal targets are one cache key."""
    assert SpirvTarget() == SpirvTarget("1.2", ())
    assert hash(SpirvTarget("1.4")) == hash(SpirvTarget("1.4"))
    assert len({SpirvTarget(), SpirvTarget("1.4"), SpirvTarget(extensions=("SPV_KHR_expect_assume",))}) == 3


def test_target_cannot_be_changed():
    """A cache key must not move."""
    with pytest.raises(AttributeError, match="cannot assign to field 'version'"):
        SpirvTarget().version = "1.0"


@pytest.mark.parametrize("version", ["2.0", "1", "", "1.7"])
def test_target_refuses_versions_that_do_not_exist(version):
    """The message lists those that do."""
    with pytest.raises(ValueError, match=f"version must be one of 1.0, .*1.6, got '{version}'"):
        SpirvTarget(version)


@pytest.mark.parametrize("extension", ["KHR_expect", "SPV_A,+SPV_B", "SPV_ --option", ""])
def test_target_refuses_names_that_are_no_extensions(extension):
    """What reaches LLVM's options is a name and nothing else."""
    with pytest.raises(ValueError, match="extension must be the name of a SPIR-V extension"):
        SpirvTarget(extensions=(extension,))


def test_target_triple_names_the_version():
    """LLVM is told the version by the triple."""
    assert SpirvTarget("1.4").triple == "spirv64v1.4-unknown-unknown"
