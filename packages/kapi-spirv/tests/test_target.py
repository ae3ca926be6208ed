"""The target is a value: equal, hashable, checked."""

from __future__ import annotations

import pytest

from kapi_spirv import KAPI_DEFAULT_TARGET, SpirvTarget


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


@pytest.mark.parametrize("extension", ["KHR_expect", "SPV_A,+SPV_B", "SPV_ --option", "", 1, None])
def test_target_refuses_names_that_are_no_extensions(extension):
    """Only a name reaches LLVM's options."""
    with pytest.raises(ValueError, match="extension must be the name of a SPIR-V extension"):
        SpirvTarget(extensions=(extension,))


def test_target_triple_names_the_version():
    """LLVM is told the version by the triple."""
    assert SpirvTarget("1.4").triple == "spirv64v1.4-unknown-unknown"


def test_target_names_the_extensions_that_float_atomics_need():
    """A width says which extension; what is named besides stays, once."""
    assert SpirvTarget().all_extensions == ()
    target = SpirvTarget(extensions=("SPV_EXT_shader_atomic_float_add",), float_atomic_add=(32, 16))
    assert target.all_extensions == ("SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float16_add")
    assert SpirvTarget(float_atomic_min_max=(64,)).all_extensions == ("SPV_EXT_shader_atomic_float_min_max",)
    assert SpirvTarget(float_atomic_add=(64, 32)) == SpirvTarget(float_atomic_add=(32, 64, 64))


def test_target_refuses_widths_and_sizes_that_cannot_be():
    """Floats have three widths, sub-groups at least one work-item."""
    with pytest.raises(ValueError, match="float_atomic_add must be some of 16, 32 and 64, got \\(8,\\)"):
        SpirvTarget(float_atomic_add=(8,))
    with pytest.raises(ValueError, match="sub_group_sizes must be integers of at least 1, got \\(0,\\)"):
        SpirvTarget(sub_group_sizes=(0,))


def test_default_target_is_what_most_devices_take():
    """Named, so that other code can say it."""
    assert SpirvTarget() == KAPI_DEFAULT_TARGET
