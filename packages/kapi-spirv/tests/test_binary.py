"""SPIR-V binaries as words: what is read of them, and what is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types

from kapi_spirv import SpirvTarget
from kapi_spirv.binary import read_header, renumber_labels
from kapi_types import ItemType, UsmArrayType, weak_int

pytestmark = pytest.mark.process

LABEL, BRANCH, SWITCH, NAME, FUNCTION = 248, 249, 251, 5, 54


def binary(*instructions, bound=100):
    words = [0x07230203, 0x00010200, 0, bound, 0]
    for operation, *operands in instructions:
        words += [(len(operands) + 1) << 16 | operation, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def words(code):
    return struct.unpack(f"<{len(code) // 4}I", code)


def loop(item, a, n):
    for i in range(n):
        if a[i] > 2:
            a[i] = i


def test_header_of_a_module(validated_compile):
    """Version, capabilities by name, extensions."""
    module = validated_compile(loop, [ItemType(1), UsmArrayType(types.float64, 1, "C"), weak_int])
    header = read_header(module.code)
    assert header.version == "1.2"
    assert header.capabilities == module.capabilities
    assert {"Kernel", "Addresses", "Int64", "Float64"} <= set(header.capabilities)
    assert header.extensions == ()


def test_header_names_extensions():
    """An extension is a text in words."""
    text = struct.unpack("<4I", b"SPV_KHR_a_b\0".ljust(16, b"\0"))
    header = read_header(binary((17, 6), (17, 4444), (10, *text), (14, 2, 2), (17, 10)))
    assert header == ("1.2", ("Kernel", "4444"), ("SPV_KHR_a_b",))


def test_header_of_each_version(validated_compile):
    """As the target says."""
    array = UsmArrayType(types.float32, 1, "C")
    module = validated_compile(loop, [ItemType(1), array, weak_int], target=SpirvTarget("1.5"))
    assert read_header(module.code).version == "1.5"


@pytest.mark.parametrize("code", [b"", b"text", b"\x7fELF" * 8, binary()[:-4], binary() + b"\0", binary()[::-1]])
def test_header_refuses_what_is_no_spirv(code):
    """The message shows how the bytes begin."""
    with pytest.raises(ValueError, match=f"code must be a SPIR-V binary, got {len(code)} bytes that start with"):
        read_header(code)


@pytest.mark.parametrize("tail", [[0], [9 << 16 | 17, 1]])
def test_header_refuses_broken_instructions(tail):
    """An instruction has at least one word, and all of them."""
    with pytest.raises(ValueError, match="code must be whole SPIR-V instructions, got one of . words at word 5"):
        read_header(binary() + struct.pack(f"<{len(tail)}I", *tail))


@given(st.lists(st.tuples(st.integers(11, 300), st.integers(0, 2**32 - 1)), max_size=20))
def test_header_of_any_instructions_is_read(instructions):
    """What is no capability or extension does not matter."""
    header = read_header(binary(*(each for each in instructions if each[0] not in (14, 17)), (17, 6)))
    assert header.capabilities == ("Kernel",)


def test_renumbering_tells_labels_of_two_functions_apart():
    """A label's id that came twice, and that a name uses too, is unique afterwards."""
    code = binary(
        (NAME, 7, 0x61),
        (FUNCTION, 1, 2, 0, 3), (LABEL, 7), (BRANCH, 8), (LABEL, 8), (253,), (56,),
        (FUNCTION, 1, 4, 0, 3), (LABEL, 7), (BRANCH, 8), (LABEL, 8), (253,), (56,),
    )  # fmt: skip
    result = words(renumber_labels(code))
    assert result[3] == 104
    labels = [result[index + 1] for index, word in enumerate(result) if word == 2 << 16 | LABEL]
    assert labels == [100, 101, 102, 103]
    branches = [result[index + 1] for index, word in enumerate(result) if word == 2 << 16 | BRANCH]
    assert branches == [101, 103]
    assert 3 << 16 | NAME not in result


def test_renumbering_refuses_switches():
    """Their operands cannot be read without types; LLVM lowers them first."""
    code = binary((FUNCTION, 1, 2, 0, 3), (LABEL, 7), (SWITCH, 9, 7))
    with pytest.raises(ValueError, match="code must have no OpSwitch, got one; LLVM's pass that lowers switches"):
        renumber_labels(code)


def test_renumbering_again_changes_ids_only(validated_compile, validate):
    """A renumbered module is valid, and may be renumbered again."""
    module = validated_compile(loop, [ItemType(1), UsmArrayType(types.float32, 1, "C"), weak_int])
    again = renumber_labels(module.code)
    assert validate(again) == ""
    assert len(again) == len(module.code)
