"""The optimised LLVM IR of kernels that must be fast: what it has, and what it must not have.

The expectation stands in the kernel's docstring: CHECK lines match in order, the lines after CHECK-NOT match nowhere
up to the next CHECK, and CHECK-COUNT-n matches exactly n lines of the text.
"""

from __future__ import annotations

import math
import re

import pytest
from numba import types

from kapi_sim import AddressSpace, group_barrier
from kapi_types import ArrayType, ItemType, NdItemType

F32 = ArrayType(types.float32, 1, "C")
F32_2D = ArrayType(types.float32, 2, "C")
F32_STRIDED = ArrayType(types.float32, 1, "A")
TILE = ArrayType(types.float32, 2, "C", address_space=AddressSpace.LOCAL, extents=(16, 16))
LOCAL = ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)

_DIRECTIVE = re.compile(r"^\s*(CHECK(?:-NOT|-COUNT-(\d+))?): (.*\S)\s*$")


def check(text, expectation):
    """Raise AssertionError, with the directive and the text, where the text is not what is expected."""
    lines = text.splitlines()
    directives = [match.groups() for match in map(_DIRECTIVE.match, expectation.splitlines()) if match]
    assert directives, "the expectation must have CHECK lines, got none"
    position, forbidden = 0, []
    for kind, count, pattern in directives:
        if kind == "CHECK-NOT":
            forbidden.append(pattern)
        elif count:
            found = sum(bool(re.search(pattern, line)) for line in lines)
            assert found == int(count), f"{pattern!r} must match {count} lines, got {found} in\n{text}"
        else:
            start = position
            while position < len(lines) and not re.search(pattern, lines[position]):
                position += 1
            assert position < len(lines), f"{pattern!r} must match after line {start}, got no match in\n{text}"
            _check_absent(lines[start:position], forbidden, text)
            position, forbidden = position + 1, []
    _check_absent(lines[position:], forbidden, text)


def _check_absent(lines, forbidden, text):
    for pattern in forbidden:
        found = [line for line in lines if re.search(pattern, line)]
        assert not found, f"{pattern!r} must match nowhere, got {found[0]!r} in\n{text}"


def body(module):
    """The entry point alone, without declarations."""
    text = module.optimized_llvm_ir
    return text[text.index("define ") : text.index("\n}", text.index("define ")) + 2]


def pairwise_distance(item, data, distance):
    """Distance of each pair of rows.

    One loop, without strides, wrap-around of indices or doubles, and with all shapes read outside of it.

    CHECK-COUNT-1: define spir_kernel void @kapi_pairwise_distance\\(
    CHECK-COUNT-2: call .*@_Z13get_global_idj
    CHECK-COUNT-1: = phi i64
    CHECK-COUNT-2: load float, ptr addrspace\\(1\\)
    CHECK-COUNT-1: @llvm.sqrt.f32
    CHECK-NOT: alloca
    CHECK-NOT: select
    CHECK-NOT: fpext|double
    CHECK-NOT: call spir_func i32
    CHECK: = phi float
    CHECK-NOT: load i64
    CHECK-NOT: mul .*i64
    CHECK: load float
    CHECK-NOT: load i64
    CHECK: load float
    CHECK: fsub float
    CHECK: fmul float
    CHECK: fadd float
    CHECK: br i1
    CHECK: @llvm.sqrt.f32
    CHECK: store float
    """
    i = item.get_id(0)
    j = item.get_id(1)
    d = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        t = data[i, k] - data[j, k]
        d += t * t
    distance[i, j] = math.sqrt(d)


def saxpy(item, a, x, y):
    """One load of each array, one store, straight through.

    CHECK-NOT: alloca|select|double|phi
    CHECK: icmp
    CHECK: br i1
    CHECK: load float, ptr addrspace\\(1\\)
    CHECK: fmul float
    CHECK: load float, ptr addrspace\\(1\\)
    CHECK: fadd float
    CHECK: store float
    CHECK-NOT: store
    """
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]


def strided_copy(item, x, y):
    """One stride of each array is loaded and multiplied with.

    CHECK-NOT: select|double
    CHECK: icmp
    CHECK-COUNT-2: mul .*i64
    CHECK-COUNT-1: load float
    CHECK: store float
    """
    i = item.get_id(0)
    y[i] = x[i]


def tile_reversed(item, a, tile):
    """A barrier between the store to local memory and the load from it, and no guard.

    CHECK-NOT: icmp|br i1
    CHECK: store float .*ptr addrspace\\(3\\)
    CHECK: ControlBarrier
    CHECK: load float, ptr addrspace\\(3\\)
    CHECK: store float .*ptr addrspace\\(1\\)
    CHECK-NOT: ControlBarrier
    """
    i = item.get_local_id(0)
    tile[i] = a[item.get_global_id(0)]
    group_barrier(item.get_group())
    a[item.get_global_id(0)] = tile[item.get_local_range(0) - 1 - i]


def tile_transposed(item, a, tile):
    """Rows of local memory are a constant apart: a run-time stride cost a tiled product a quarter of its speed.

    CHECK: define spir_kernel void @kapi_tile_transposed\\(
    CHECK-NOT: mul
    CHECK: ret void
    """
    y = item.get_local_id(0)
    x = item.get_local_id(1)
    tile[y, x] = a[x]
    group_barrier(item.get_group())
    a[y] = tile[x, y]


def strided_range(item, a):
    """A loop whose step is a range of the index space knows that it goes upwards: one comparison a round.

    It is there twice: for the iterations that all work-items have, and for the one that some have more.

    CHECK-COUNT-2: icmp uge i64
    CHECK-COUNT-4: icmp .*[lg]t i64
    CHECK-NOT: and i1|or i1|xor
    CHECK: ret void
    """
    for k in range(item.get_global_id(0), a.shape[0], item.get_global_range(0)):
        a[k] = 0


def constant_range(item, a):
    """A loop of known length leaves no test of its step behind.

    CHECK-NOT: select
    CHECK-NOT: icmp s[lg]t i64 .*, 0
    CHECK: ret void
    """
    s = a.dtype.type(0)
    for k in range(1000):
        s += a[k]
    a[item.get_id(0)] = s


@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        (pairwise_distance, [ItemType(2), F32_2D, F32_2D]),
        (saxpy, [ItemType(1), types.float32, F32, F32]),
        (strided_copy, [ItemType(1), F32_STRIDED, F32_STRIDED]),
        (tile_reversed, [NdItemType(1), F32, LOCAL]),
        (tile_transposed, [NdItemType(2), F32, TILE]),
        (strided_range, [NdItemType(1), F32]),
        (constant_range, [ItemType(1), F32]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_optimised_ir_is_as_its_docstring_says(validated_compile, kernel, signature):
    """On a failure the message shows the directive and the IR."""
    check(body(validated_compile(kernel, signature)), kernel.__doc__)


def test_float_arithmetic_is_ieee(validated_compile):
    """Neither reassociation nor contraction is allowed by any flag."""
    module = validated_compile(pairwise_distance, [ItemType(2), F32_2D, F32_2D])
    assert not re.search(r"f(add|sub|mul|div) (fast|reassoc|contract|nnan)", module.optimized_llvm_ir)


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        ("CHECK: b\nCHECK: a", "'a' must match after line 2, got no match"),
        ("CHECK: a\nCHECK-NOT: b\nCHECK: c", "'b' must match nowhere, got 'b'"),
        ("CHECK-NOT: c", "'c' must match nowhere, got 'c'"),
        ("CHECK-COUNT-2: a", "'a' must match 2 lines, got 1"),
        ("nothing", "the expectation must have CHECK lines, got none"),
    ],
)
def test_check_finds_what_is_not_as_expected(expectation, message):
    """The matcher itself can fail."""
    check("a\nb\nc", "CHECK-NOT: x\nCHECK: a\nCHECK: b\nCHECK-NOT: a\nCHECK-COUNT-1: c")
    with pytest.raises(AssertionError, match=message):
        check("a\nb\nc", expectation)
