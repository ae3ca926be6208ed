"""SPIR-V binaries as words: what is read of them, and what is refused."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import types

from kapi_spirv import SpirvTarget, compile_kernel, entry_points
from kapi_spirv.binary_reader import has_loops, read_header
from kapi_spirv.duplicate_ids import has_duplicate_ids
from kapi_types import ArrayType, ItemType, weak_int

LABEL, BRANCH, SWITCH, NAME, FUNCTION = 248, 249, 251, 5, 54


def binary(*instructions, bound=100):
    words = [0x07230203, 0x00010200, 0, bound, 0]
    for operation, *operands in instructions:
        words += [(len(operands) + 1) << 16 | operation, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def test_entry_points_are_the_kernels_by_name():
    kernel, vertex = struct.unpack("<2I", b"kernel\0\0"), struct.unpack("<1I", b"v\0\0\0")
    points = [(15, 6, 1, *kernel, 9), (15, 0, 2, *vertex), (15, 6, 3, *vertex)]
    code = binary(*points, (54, 1, 1, 3, 4), (56,), (54, 1, 3, 3, 4), (56,))
    assert entry_points(code) == ("kernel", "v")
    assert entry_points(binary()) == ()
    with pytest.raises(ValueError, match="code must hold the function of each of its kernels, got one without it"):
        entry_points(binary(*points, (54, 1, 1, 3, 4), (56,)))
    with pytest.raises(ValueError, match="code must be whole SPIR-V functions, got one without an end"):
        entry_points(binary((54, 1, 2, 3, 4)))
    with pytest.raises(ValueError, match="code must be whole SPIR-V instructions, got one of 3 words at word 5"):
        entry_points(binary((56,))[:-4] + struct.pack("<I", 3 << 16))


def words(code):
    return struct.unpack(f"<{len(code) // 4}I", code)


def loop(item, a, n):
    for i in range(n):
        if a[i] > 2:
            a[i] = i


def test_header_of_a_module(validated_compile):
    """Version, capabilities by name, extensions."""
    module = validated_compile(loop, [ItemType(1), ArrayType(types.float64, 1, "C"), weak_int])
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
    array = ArrayType(types.float32, 1, "C")
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
    """Instructions other than capabilities and extensions do not matter."""
    header = read_header(binary(*(each for each in instructions if each[0] not in (14, 17)), (17, 6)))
    assert header.capabilities == ("Kernel",)


def test_duplicate_ids_of_two_labels_are_found():
    """Two blocks of one function with one id: a branch could go to either."""
    assert has_duplicate_ids(binary((FUNCTION, 1, 2, 0, 3), (LABEL, 7), (BRANCH, 7), (LABEL, 7), (253,)))


def test_duplicate_ids_of_a_label_and_a_type_are_found():
    """An id of another section counts as much."""
    assert has_duplicate_ids(binary((19, 7), (FUNCTION, 7, 2, 0, 3), (LABEL, 7), (253,)))


def test_duplicate_ids_are_not_seen_in_operands(validated_compile):
    """An instruction that names an id does not define it."""
    assert not has_duplicate_ids(binary((19, 7), (FUNCTION, 7, 2, 0, 3), (LABEL, 8), (BRANCH, 9), (LABEL, 9), (253,)))
    module = validated_compile(loop, [ItemType(1), ArrayType(types.float64, 1, "C"), weak_int])
    assert not has_duplicate_ids(module.code)


def straight(item, x):
    i = item.get_id(0)
    if x[i] > 3:
        x[i] = 1
    elif x[i] > 2 and x[i + 1] < 5:
        x[i] /= 2


def chosen(item, x):
    i = item.get_id(0)
    x[i] = (1, 5, 2, 8)[i % 4]


def unrolled(item, x):
    for k in range(2):
        x[item.get_id(0)] += x[k]


def counting(item, x):
    for k in range(item.get_id(0)):
        x[item.get_id(0)] += x[k]


def halving(item, x):
    i = item.get_id(0)
    while x[i] > 1:
        x[i] /= 2


def below(item, x):
    i = item.get_id(0)
    if x[i] > 3:
        while True:
            x[i] -= 1
            if x[i] < i:
                break


@pytest.mark.parametrize(
    ("function", "expected"),
    [(straight, False), (chosen, False), (unrolled, False), (counting, True), (halving, True), (below, True)],
)
def test_loops_are_found_in_the_binary(function, expected):
    module = compile_kernel(function, [ItemType(1), ArrayType(types.float32, 1, "C")])
    assert has_loops(module.code) == module.has_loops == expected
