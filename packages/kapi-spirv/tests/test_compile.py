"""From functions and signatures to modules: the entry point, capabilities, unusual kernels, errors."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from numba import types

import kapi_sim
from kapi_lowering.functions import lowering_registries
from kapi_sim import AddressSpace, group_barrier
from kapi_sim.errors import KernelCompilationError, LimitError
from kapi_sim.testing.reports import raises
from kapi_spirv import SpirvTarget, compile_kernel
from kapi_types import ArrayType, ItemType, NdItemType, UsmArrayType, weak_float, weak_int
from kapi_types._numba_compat import ir

F32 = ArrayType(types.float32, 1, "C")
F32_2D = ArrayType(types.float32, 2, "C")
F64 = ArrayType(types.float64, 1, "C")
I32 = ArrayType(types.int32, 1, "C")
BOOL = ArrayType(types.boolean, 1, "C")
LOCAL = ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)


def saxpy(item, a, x, y):
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]


def pairwise_distance(item, data, distance):
    i = item.get_id(0)
    j = item.get_id(1)
    d = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        t = data[i, k] - data[j, k]
        d += t * t
    distance[i, j] = math.sqrt(d)


def mandelbrot(item, counts, scale, limit):
    i = item.get_id(0)
    j = item.get_id(1)
    x = y = 0.0
    x0, y0 = j * scale - 2, i * scale - 1
    n = 0
    while n < limit and x * x + y * y < 4:
        x, y = x * x - y * y + x0, 2 * x * y + y0
        n += 1
    counts[i, j] = n


def tile_sum(item, a, out, tile):
    group = item.get_group()
    i = item.get_local_id(0)
    tile[i] = a[item.get_global_id(0)]
    group_barrier(group)
    if group.leader:
        s = 0.0
        for k in range(group.get_local_range(0)):
            s += tile[k]
        out[group.get_group_id(0)] = s


FLOAT32_KERNELS = [
    (saxpy, [ItemType(1), weak_float, F32, F32]),
    (saxpy, [ItemType(1), types.float32, F32, F32]),
    (pairwise_distance, [ItemType(2), F32_2D, F32_2D]),
    (mandelbrot, [ItemType(2), ArrayType(types.int32, 2, "C"), types.float32, weak_int]),
    (tile_sum, [NdItemType(1), F32, F32, LOCAL]),
]


@pytest.mark.parametrize(
    ("kernel", "signature"), FLOAT32_KERNELS, ids=lambda each: getattr(each, "__name__", str(each))
)
def test_float32_kernel_needs_no_doubles(validated_compile, kernel, signature):
    """A kernel whose source has no double runs on devices that have none; a Python float argument arrives as one."""
    module = validated_compile(kernel, signature)
    assert ("Float64" in module.capabilities) == (weak_float in signature)
    assert "double" not in module.optimized_llvm_ir or weak_float in signature


def test_float64_kernel_says_that_it_needs_doubles(validated_compile):
    """A device is asked before the launch."""
    module = validated_compile(saxpy, [ItemType(1), types.float64, F64, F64])
    assert "Float64" in module.capabilities


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_item_kernel_does_nothing_outside_of_its_range(validated_compile, ndim):
    """Each dimension's id is compared with the packed range before anything is touched."""

    def store(item, a):
        a[0] = 1

    module = validated_compile(store, [ItemType(ndim), F32])
    lines = [line.strip() for line in module.optimized_llvm_ir.splitlines()]
    (store_line,) = [index for index, line in enumerate(lines) if line.startswith("store float")]
    ids = [index for index, line in enumerate(lines) if "call" in line and "@_Z13get_global_idj(i32" in line]
    branches = [index for index, line in enumerate(lines) if line.startswith("br i1")]
    assert len(ids) == ndim
    assert max(ids) < max(branches) < store_line


def test_nd_item_kernel_has_no_guard(validated_compile):
    """Its range is submitted as it is."""

    def store(item, a):
        a[0] = 1

    module = validated_compile(store, [NdItemType(2), F32])
    assert "icmp" not in module.optimized_llvm_ir


@pytest.mark.parametrize("index_type", [ItemType(1), ItemType(3), NdItemType(1), NdItemType(3)], ids=str)
def test_kernel_without_arguments_compiles(validated_compile, index_type):
    """A kernel that does nothing still is one."""
    module = validated_compile(lambda item: None, [index_type])
    assert module.parameters == ()
    assert module.entry_point == "kapi__lambda_"


def test_kernel_of_rank_0_arrays_compiles(validated_compile):
    """A rank-0 array is indexed by the empty tuple."""

    def add(item, a, b):
        b[()] = a[()] + b[()] + a.ndim + len(a.shape)

    rank_0 = ArrayType(types.float32, 0, "C")
    module = validated_compile(add, [ItemType(1), rank_0, rank_0])
    assert [field.role for field in module.layout.fields] == ["range", "pointer", "pointer"]


@pytest.mark.parametrize("layout", ["C", "F", "A"])
@pytest.mark.parametrize("ndim", range(1, 7))
def test_kernel_of_arrays_of_any_rank_compiles(validated_compile, ndim, layout):
    """Ranks 1 to 6, with and without strides."""
    index = ", ".join("i" for _ in range(ndim))
    namespace = {}
    exec(f"def copy(item, a, b):\n    i = item.get_id(0)\n    b[{index}] = a[{index}]\n", namespace)
    array = ArrayType(types.int32, ndim, layout)
    module = validated_compile(namespace["copy"], [ItemType(1), array, array])
    assert len(module.layout.fields) == 1 + 2 * (1 + ndim * (1 if layout == "C" else 2))


def test_kernel_of_bools_compiles(validated_compile):
    """A bool is a byte in memory and a bit in registers."""

    def flip(item, flags, out, use):
        i = item.get_id(0)
        out[i] = not flags[i] and use
        flags[i] = out[i] | flags[i] ^ True

    validated_compile(flip, [ItemType(1), BOOL, BOOL, types.boolean])


def test_kernel_calls_device_functions(validated_compile):
    """Compiled for each list of types, and inlined: no call of them is left."""

    @kapi_sim.device_func
    def square(x):
        return x * x

    def norm(x, y):
        return math.sqrt(square(x) + square(y))

    def kernel(item, a, b):
        i = item.get_id(0)
        a[i] = norm(a[i], b[i]) + square(i)

    module = validated_compile(kernel, [ItemType(1), F32, F64])
    assert module.optimized_llvm_ir.count("define ") == 1


def test_kernel_with_a_switch_compiles(validated_compile):
    """LLVM makes a switch of a chain of comparisons, and the back end an OpSwitch of that."""

    def choose(item, a):
        i = item.get_id(0)
        if i == 0:
            a[i] = 1
        elif i == 1:
            a[i] = 5
        elif i == 2:
            a[i] = 7
        elif i == 3:
            a[i] = 2
        elif i == 4:
            a[i] = 11

    module = validated_compile(choose, [ItemType(1), F32])
    assert "switch" in module.optimized_llvm_ir


def test_kernel_that_exchanges_loop_variables_compiles(validated_compile):
    """`a, b = b, a + b`: no loop variable is another one's value of the iteration before, which crashes a driver."""

    def fibonacci(item, out, n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        out[item.get_id(0)] = a

    module = validated_compile(fibonacci, [ItemType(1), ArrayType(types.int64, 1, "C"), weak_int])
    assert "[ %kapi.copy, " in module.optimized_llvm_ir
    plain = validated_compile(saxpy, [ItemType(1), types.float32, F32, F32])
    assert "%kapi." not in plain.optimized_llvm_ir


def test_kernel_sums_of_indices_stay_in_64_bits(validated_compile):
    """LLVM would turn this loop into arithmetic on 65 bits, which the back end aborts on."""

    def triangle(item, out, n):
        s = 0
        for i in range(n):
            s += i
        out[item.get_id(0)] = s

    validated_compile(triangle, [ItemType(1), ArrayType(types.int64, 1, "C"), weak_int])


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6"])
def test_kernel_compiles_for_each_version(validated_compile, version):
    """The module's own version word is the target's."""
    module = validated_compile(saxpy, [ItemType(1), types.float32, F32, F32], target=SpirvTarget(version))
    assert module.code[4:8] == bytes([0, int(version[-1]), 1, 0])
    assert module.target.version == version


def without_counts(llvm_ir):
    """LLVM IR without the number that Numba gives each function it compiles in a process."""
    return re.sub(r"B\d+v\d+B", "B", llvm_ir)


def test_compilation_is_deterministic(validated_compile):
    """The same kernel gives the same LLVM IR, whatever was compiled between; ids may differ after it."""
    first = validated_compile(pairwise_distance, [ItemType(2), F32_2D, F32_2D])
    validated_compile(saxpy, [ItemType(1), types.float32, F32, F32])
    second = validated_compile(pairwise_distance, [ItemType(2), F32_2D, F32_2D])
    assert without_counts(first.optimized_llvm_ir) == without_counts(second.optimized_llvm_ir)


PROGRAM = """
import hashlib
from numba import types
from kapi_spirv import compile_kernel
from kapi_types import ItemType, ArrayType

def scale(item, x, y):
    for i in range(x.shape[0]):
        if x[i] > 2:
            y[i] = x[i] * 2 + item.get_id(0)

array = ArrayType(types.float32, 1, "C")
module = compile_kernel(scale, [ItemType(1), array, array])
print(hashlib.sha256(module.optimized_llvm_ir.encode()).hexdigest(), len(module.code))
"""


def test_compilation_is_deterministic_across_processes(run_python):
    """Two processes compile a kernel alike."""
    assert run_python(PROGRAM) == run_python(PROGRAM)


def test_usm_kind_does_not_matter_in_a_kernel(validated_compile):
    """Device, shared and host memory run one code."""
    kinds = [UsmArrayType(types.float32, 1, "C", usm_type=kind) for kind in ("device", "shared", "host")]
    modules = [validated_compile(saxpy, [ItemType(1), types.float32, kind, kind]) for kind in kinds]
    assert len({without_counts(module.optimized_llvm_ir) for module in modules}) == 1


def test_every_intrinsic_row_is_lowered():
    """The table's rows and what the lowering modules register are the same."""
    modules = [module for module in vars(lowering_registries).values() if hasattr(module, "LOWERED")]
    lowered = set().union(*(module.LOWERED for module in modules))
    assert sum(len(module.LOWERED) for module in modules) == len(lowered)
    # Those of mathematics are primitives, or written in the kernel language: see test_functions.
    assert lowered == {row.key for row in kapi_sim.language.table.intrinsics.INTRINSICS if row.family != "math"}


def wrong(item, a, b):
    a[0, 0] = 1
    b[0] = undefined_name  # noqa: F821


def test_compilation_error_lists_every_problem():
    """Kernel and location first, then `file:line`, what is wrong, and the line itself."""
    line = wrong.__code__.co_firstlineno
    with raises(
        KernelCompilationError,
        "name-undefined",
        line=("def wrong(item, a, b):", "a[0, 0] = 1", "b[0] = undefined_name"),
    ) as caught:
        compile_kernel(wrong, [ItemType(1), F32, I32])
    assert str(caught.value) == (
        f"kernel wrong ({__file__}:{line}) cannot be compiled:\n"
        f"{__file__}:{line + 1}: index must have 1 integer, one for each axis, got 2 [too-many-indices]\n"
        "    a[0, 0] = 1\n"
        f"{__file__}:{line + 2}: name 'undefined_name' is not defined [name-undefined]\n"
        "    b[0] = undefined_name  # noqa: F821"
    )


def test_recursive_kernel_is_refused():
    """A kernel cannot call itself, as no function can."""

    def again(item, a):
        again(item, a)

    with raises(KernelCompilationError, "recursion", line=("def again(item, a):", "again(item, a)")):
        compile_kernel(again, [ItemType(1), F32])


def test_compilation_goes_on_after_an_error(validated_compile):
    """One kernel's mistake does not stay in the compiler."""
    with raises(
        KernelCompilationError,
        "name-undefined",
        line=("def wrong(item, a, b):", "a[0, 0] = 1", "b[0] = undefined_name"),
    ):
        compile_kernel(wrong, [ItemType(1), F32, I32])
    validated_compile(saxpy, [ItemType(1), types.float32, F32, F32])


@pytest.mark.parametrize(
    ("function", "signature", "code"),
    [
        (math.sin, [ItemType(1)], "kernel-form"),
        (saxpy, [ItemType(1)], "signature-count"),
        (saxpy, [F32] * 4, "signature-work-item"),
        (lambda: None, [], "signature-work-item"),
        (kapi_sim.device_func(saxpy), [ItemType(1)], "kernel-form"),
        (saxpy, None, "signature-form"),
        (saxpy, [ItemType(1), "f4", F32, F32], "signature-form"),
        (saxpy, [ItemType(1), types.float32, types.float32[:], F32], "signature-form"),
    ],
    ids=["builtin", "too few", "no item", "nothing", "decorated", "None", "text in it", "array of Numba's"],
)
def test_compile_kernel_refuses_wrong_calls(function, signature, code):
    """Mistakes of the caller, not of the kernel's author, are TypeErrors."""
    with raises(kapi_sim.DtypeError, code) as raised:
        compile_kernel(function, signature)
    assert isinstance(raised.value, TypeError)
    if code == "kernel-form" and function is not math.sin:
        assert "pass its py_func" in raised.value.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "spirv"}, "target must be a SpirvTarget, got 'spirv': write one, or leave it out"),
        ({"options": {"debug": True}}, "options must be KernelOptions, got {'debug': True}: write KernelOptions.of"),
    ],
    ids=["target", "options"],
)
def test_compile_kernel_refuses_what_is_no_target_or_no_options(given, message):
    """In words, before anything is compiled."""
    with pytest.raises(TypeError, match=message):
        compile_kernel(saxpy, [ItemType(1), types.float32, F32, F32], **given)


def test_compile_kernel_refuses_parameters_that_kernels_lack():
    """A parameter's name and type are told."""
    with raises(KernelCompilationError, "parameter-unfit"):
        compile_kernel(saxpy, [ItemType(1), types.none, F32, F32])


@pytest.mark.parametrize("element", [types.NPDatetime("s")], ids=str)
def test_compile_kernel_refuses_elements_that_it_does_not_lower(element):
    """An error of the parameter, before anything is lowered."""
    with raises(KernelCompilationError, "parameter-unfit"):
        compile_kernel(saxpy, [ItemType(1), types.float32, ArrayType(element, 1, "C"), F32])


def test_long_kernel_costs_by_its_length(monkeypatch):
    """Statements were compared with all later ones of their block: 2,000 lines took a minute."""
    reads, list_vars = [0], ir.Expr.list_vars

    def counted(expression):
        reads[0] += 1
        return list_vars(expression)

    monkeypatch.setattr(ir.Expr, "list_vars", counted)
    seen = []
    for length in (100, 200):
        names: dict[str, Any] = {}
        lines = "".join(f"    x = (x * 3 + {k}) % 1009\n" for k in range(length))
        exec(f"def long(item, a):\n    x = item.get_id(0)\n{lines}    a[0] = x\n", names)
        reads[0] = 0
        compile_kernel(names["long"], [ItemType(1), ArrayType(types.int64, 1, "C")])
        seen.append(reads[0])
    assert 0 < seen[1] < 2.5 * seen[0]


def test_compile_refuses_arrays_of_more_axes_than_the_language_has():
    """In the simulator's words."""

    def first(item, a):
        a[0, 0, 0, 0, 0, 0, 0] = 1

    seven = ArrayType(types.float32, 7, "C")
    with raises(LimitError, "too-many-axes"):
        compile_kernel(first, [ItemType(1), seven])


def asserting(item: kapi_sim.Item, a):
    assert a[item.get_id(0)] > 0


def test_asserts_that_pytest_rewrote_are_named():
    """A test's module holds none of its asserts as they were written."""
    with raises(KernelCompilationError, "assert-rewritten", line="def asserting(item: kapi_sim.Item, a):"):
        compile_kernel(asserting, (ItemType(1), F32))


def by_halves(item, x, y, out):
    i = item.get_id(0)
    mask = np.uint64(0xFFFFFFFF)
    a, b, c, d = x[i] >> 32, x[i] & mask, y[i] >> 32, y[i] & mask
    middle = b * c + (b * d >> 32) + (a * d & mask)
    out[i] = a * c + (a * d >> 32) + (middle >> 32)


def test_products_of_128_bits_are_functions_of_the_library(validated_compile):
    """LLVM sees the upper half of a product in sums of halves, and SPIR-V has no integers of 128 bits."""
    array = ArrayType(types.uint64, 1, "C")
    module = validated_compile(by_halves, [ItemType(1), array, array, array])
    assert "i128" not in module.optimized_llvm_ir
    assert module.optimized_llvm_ir.count("call spir_func i64 @_Z6mul_himm") == 1


@pytest.mark.parametrize("condition", ["{} == 8", "{} != 0", "3 < {} <= 2**62", "{} in (np.uint64(8), x[0])"])
def test_upper_half_of_a_product_is_compared(validated_compile, condition):
    source = (
        "def compared(item, x, y):\n    i = item.get_id(0)\n    half = kapi.mul_hi(x[i], x[i + 1])\n"
        f"    y[i] = 1 if {condition.format('half')} else 2\n    y[i + 9] = half > 5\n"
    )
    names = {"kapi": kapi_sim, "np": np}
    exec(source, names)
    validated_compile(names["compared"], "item1, uint64[:], uint64[:]")


def test_random_numbers_take_values_of_branches(validated_compile):
    """A variable holds the callee while the branches of an argument are computed."""

    def kernel(item, a):
        i = item.get_id(0)
        a[i] = kapi_sim.random.uniform(1, i if i > 2 else 0, stream=3 if i < 9 else i)

    validated_compile(kernel, [ItemType(1), ArrayType(types.float32, 1, "C")])


def test_local_function_that_is_never_called_is_left_out(validated_compile):
    def kernel(item, a):
        i = item.get_id(0)

        def doubled(x):
            return x * 2

        unused = lambda x: x + 1  # noqa: E731, F841
        a[i] = 3

    validated_compile(kernel, [ItemType(1), ArrayType(types.float32, 1, "C")])
