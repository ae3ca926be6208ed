"""The second entry point, whose threads run several work-items each.

Its LLVM IR is run here, by LLVM's own compiler for the host: a thread at a time, and the registers of a GPU are
variables.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import struct

import llvmlite.binding as llvm
import numpy as np
import pytest

import kapi_sim as kapi
from kapi_ptx import PtxTarget, compile_kernel
from kapi_ptx.emission.optimize.coarsening import BLOCKS
from kapi_sim.language import KernelOptions

BOTH = PtxTarget(80, is_small=True, reads_apart=True)
LOG2_E = f"0d{struct.unpack('>Q', struct.pack('>d', 1 / np.log(2)))[0]:016X}"
REGISTERS = [f"{name}.{axis}" for name in ("ctaid", "ntid", "tid") for axis in "xyz"]

# -- what a host runs of it


def of_a_host(text: str) -> str:
    """LLVM IR of a GPU as a host compiles it."""
    text = re.sub(r"^target .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^declare .*@llvm\.nvvm\.read\.ptx\.sreg\..*\n", "", text, flags=re.MULTILINE)
    text = text.replace("define ptx_kernel ", "define ")
    text = re.sub(r"byval\(\{[^}]*\}\) align 8 ", "", text)
    text = re.sub(r"captures\(none\) ", "", text)
    text = text.replace("@llvm.nvvm.read.ptx.sreg.", "@read.")
    text = re.sub(r"call i64 asm \"mul\.wide\.(\w)32 [^\"]*\", \"=l,r,r\"", r"call i64 @wide.\g<1>", text)
    reads = [
        f"@{name} = global i32 0\ndefine i32 @read.{name}() {{\n  %v = load i32, ptr @{name}\n  ret i32 %v\n}}\n"
        for name in REGISTERS
    ]
    wide = [
        f"define i64 @wide.{sign}(i32 %a, i32 %b) {{\n  %x = {extended} i32 %a to i64\n"
        f"  %y = {extended} i32 %b to i64\n  %p = mul i64 %x, %y\n  ret i64 %p\n}}\n"
        for sign, extended in (("u", "zext"), ("s", "sext"))
    ]
    return "\n".join([text, *reads, *wide])


class Host:
    """A module's entry points, run on the host."""

    def __init__(self, module) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        parsed = llvm.parse_assembly(of_a_host(module.optimized_llvm_ir))
        parsed.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
        self._engine = llvm.create_mcjit_compiler(parsed, machine)
        self._engine.finalize_object()
        self._registers = {
            name: ctypes.c_int32.from_address(self._engine.get_global_value_address(name)) for name in REGISTERS
        }

    def run(self, entry: str, packed: bytes, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        """Run the threads of a grid, one after the other; three extents each, x first."""
        function = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(self._engine.get_function_address(entry))
        for axis, size in zip("xyz", block, strict=True):
            self._registers[f"ntid.{axis}"].value = size
        for ids in itertools.product(*map(range, (*grid, *block))):
            names = [f"{name}.{axis}" for name in ("ctaid", "tid") for axis in "xyz"]
            for name, value in zip(names, ids, strict=True):
                self._registers[name].value = value
            function(packed)


def packed_arguments(module, space, values) -> bytes:
    """The packed argument of a launch."""
    fields, leaves = [], iter(space)
    by_name = dict(zip([each.name for each in module.parameters], values, strict=True))
    seen = dict.fromkeys(by_name, 0)
    for field in module.layout.fields:
        if field.role == "range":
            fields.append(next(leaves))
            continue
        value = by_name[field.owner]
        if field.role == "pointer":
            fields.append(value.ctypes.data)
            seen[field.owner] = 0
        elif field.role == "value":
            fields.append(value)
        else:
            told = value.shape if field.role == "shape" else value.strides
            fields.append(told[seen[field.owner] % value.ndim])
            seen[field.owner] += 1
    return struct.pack(module.layout.format, *fields)


def results(module, entry, blocks, space, block, values):
    """Launch, and return the arrays."""
    values = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
    groups = [-(-extent // size) for extent, size in zip(space, block, strict=True)]
    x, *others = [*reversed(groups), 1, 1][:3]
    threads = tuple([*reversed(block), 1, 1][:3])
    Host(module).run(entry, packed_arguments(module, space, values), (-(-x // blocks), *others), threads)
    return [value for value in values if isinstance(value, np.ndarray)]


# -- kernels that are memory's business


def saxpy(item, a, x, y, z):
    i = item.get_id(0)
    z[i] = a * x[i] + y[i]


def in_place(item, x, y):
    i = item.get_id(0)
    before = x[i]
    x[i] = y[i] + x[i]
    y[i] = before - x[i]


def stencil(item, x, y):
    i = item.get_id(0) + 1
    j = item.get_id(1) + 1
    y[i, j] = np.float32(0.2) * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def turned(item, x, y):
    i, j, k = item.get_id(0), item.get_id(1), item.get_id(2)
    y[k, j, i] = x[i, j, k] * 2 + i - 3 * j + k


def gathered(item, x, indices, y):
    i = item.get_id(0)
    y[i] = x[indices[i]] + x[0]


def chosen(item, x, y):
    i = item.get_id(0)
    value = x[i] if x[i] > 3 else -x[i]
    y[i] = min(value, 7) % 5 + (i << 2)


def own_range(item, x, y):
    i = item.get_id(0)
    y[i] = x[item.get_range(0) - 1 - i] + item.get_range(0)


def without_the_first(item, x, y):
    i = item.get_id(0)
    if i < 2:
        return
    y[i] = 4


def odd_ones(item, x, y):
    i, j = item.get_id(0), item.get_id(1)
    if j % 3 != 1:
        y[i, j] = 7 * j


def numbers(dtype, *shape):
    return (np.arange(np.prod(shape)) * 7 % 23).astype(dtype).reshape(shape)


CASES = {
    "saxpy": (saxpy, "item1, float32, float32[::1], float32[::1], float32[::1]",
              lambda n: (2.5, numbers("f4", n), numbers("f4", n)[::-1].copy(), np.full(n, -1, "f4"))),
    "in_place": (in_place, "item1, int64[::1], int64[::1]", lambda n: (numbers("i8", n), numbers("i8", n) * 3)),
    "stencil": (stencil, "item2, float32[:,::1], float32[:,::1]",
                lambda n, m: (numbers("f4", n + 2, m + 2), np.full((n + 2, m + 2), -1, "f4"))),
    "turned": (turned, "item3, int32[:,:,::1], int32[:,:,::1]",
               lambda n, m, k: (numbers("i4", n, m, k), np.full((k, m, n), -1, "i4"))),
    "gathered": (gathered, "item1, float64[::1], int32[::1], float64[::1]",
                 lambda n: (numbers("f8", n), numbers("i4", n) % n, np.full(n, -1, "f8"))),
    "chosen": (chosen, "item1, int16[::1], int64[::1]", lambda n: (numbers("i2", n) - 9, np.full(n, -1, "i8"))),
    "without_the_first": (without_the_first, "item1, float32[::1], float32[::1]",
                          lambda n: (numbers("f4", n), np.full(n, -1, "f4"))),
    "odd_ones": (odd_ones, "item2, float32[:,::1], float32[:,::1]",
                 lambda n, m: (numbers("f4", n, m), np.full((n, m), -1, "f4"))),
    "own_range": (own_range, "item1, float32[::1], float32[::1]",
                  lambda n: (numbers("f4", n), np.full(n, -1, "f4"))),
}  # fmt: skip
SPACES = {
    1: [((1,), (1,)), ((3,), (2,)), ((17,), (2,)), ((64,), (4,)), ((67,), (8,))],
    2: [((1, 1), (1, 1)), ((5, 19), (2, 2)), ((3, 64), (1, 4)), ((7, 3), (2, 4))],
    3: [((2, 3, 21), (1, 2, 4)), ((3, 2, 16), (1, 1, 1))],
}


@pytest.mark.parametrize("name", CASES)
def test_several_work_items_of_a_thread_do_what_each_does(assembled_compile, name):
    function, signature, make = CASES[name]
    module = assembled_compile(function, signature, target=BOTH)
    entry, blocks = module.coarse_entry_point
    assert (entry, blocks) == (f"{module.entry_point}_by_{BLOCKS}", BLOCKS)
    for space, block in SPACES[module.ndim]:
        values = make(*space)
        expected = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
        kapi.call_kernel(kapi.kernel(function), kapi.Range(*space), *expected)  # by the simulator
        for entry_point, count in ((module.entry_point, 1), (entry, blocks)):
            got = results(module, entry_point, count, space, block, values)
            for one, other in zip(got, [each for each in expected if isinstance(each, np.ndarray)], strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{entry_point} {space} {block}")


def test_functions_of_libdevice_are_called_for_each_work_item(assembled_compile):
    def prices(item, x, y):
        i = item.get_id(0)
        y[i] = np.exp(x[i])

    for dtype, part in (("float32", "ex2.approx"), ("float64", LOG2_E)):
        module = assembled_compile(prices, f"item1, {dtype}[::1], {dtype}[::1]", target=BOTH)
        entry, _ = module.coarse_entry_point
        plain, coarse = module.ptx.split(entry, 1)[0], module.ptx.rsplit(f".entry {entry}(", 1)[1]
        assert coarse.count(part) == (BLOCKS + 1) * plain.count(part) > 0


@pytest.mark.parametrize(("dtype", "has_coarse"), [("float32", True), ("float64", False)])
def test_a_function_of_float64_counts_twice(assembled_compile, dtype, has_coarse):
    def sums(item, x, y):
        i = item.get_id(0)
        a = x[i]
        y[i] = np.exp(a) + np.sin(a) + np.cos(a) + np.tanh(a) + np.arctan(a)

    module = assembled_compile(sums, f"item1, {dtype}[::1], {dtype}[::1]", target=BOTH)
    assert (module.coarse_entry_point is not None) == has_coarse


# -- kernels that have one entry point


def looping(item, x, y):
    i = item.get_id(0)
    total = x[i]
    while total < 100:
        total += x[i]
    y[i] = total


def branching(item, x, y):
    i = item.get_id(0)
    if x[i] > 3:
        y[i] = 1


def atomic(item, x, y):
    kapi.AtomicRef(y, 0).fetch_add(x[item.get_id(0)])


def private(item, x, y):
    i = item.get_id(0)
    own = kapi.PrivateArray(64, np.float32)
    for k in range(64):
        own[k] = x[i] * k
    y[i] = own[int(x[i]) % 64]


def printing(item, x, y):
    i = item.get_id(0)
    y[i] = x[i]
    print(i)


def of_groups(item, x, y):
    i = item.get_global_id(0)
    y[i] = x[i]


TWO = "item1, float32[::1], float32[::1]"


@pytest.mark.parametrize("function", [looping, branching, atomic, private, printing])
def test_kernels_that_do_more_than_compute_have_one_entry_point(assembled_compile, function):
    module = assembled_compile(function, TWO, target=BOTH)
    assert module.coarse_entry_point is None
    assert module.ptx.count(".entry ") == 1


def test_kernels_of_work_groups_have_one_entry_point(assembled_compile):
    assert assembled_compile(of_groups, TWO.replace("item1", "nd_item1"), target=BOTH).coarse_entry_point is None


@pytest.mark.parametrize("target", [PtxTarget(80), PtxTarget(80, is_small=True), PtxTarget(80, reads_apart=True)])
def test_code_for_any_launch_has_one_entry_point(assembled_compile, target):
    assert assembled_compile(saxpy, CASES["saxpy"][1], target=target).coarse_entry_point is None


def test_kernel_s_own_name_is_not_taken_for_the_second_entry_point(assembled_compile):
    def halves_by_2(item, x, y):
        i = item.get_id(0)
        y[i] = x[i] / 2

    assert assembled_compile(halves_by_2, TWO, target=PtxTarget(80)).coarse_entry_point is None
    coarse = assembled_compile(halves_by_2, TWO, target=BOTH)
    assert coarse.coarse_entry_point == (f"kapi_halves_by_2_by_{BLOCKS}", BLOCKS)


def test_checks_and_no_optimisation_leave_one_entry_point(assembled_compile):
    signature = CASES["saxpy"][1]
    checked = assembled_compile(saxpy, signature, target=BOTH, options=KernelOptions(debug=True))
    assert checked.coarse_entry_point is None
    assert compile_kernel(saxpy, signature, target=BOTH, optimise=False).coarse_entry_point is None


def test_long_bodies_have_one_entry_point(assembled_compile):
    source = "def long(item, x, y):\n    i = item.get_id(0)\n    t = x[i]\n"
    source += "".join(f"    t = t * x[i] + {k}\n" for k in range(100)) + "    y[i] = t\n"
    names: dict = {}
    exec(source, names)
    assert assembled_compile(names["long"], TWO, target=BOTH).coarse_entry_point is None


def test_kernel_with_lines_of_its_source_has_one_entry_point(assembled_compile):
    """A profiler looks for them in the entry point that runs."""
    with_lines = assembled_compile(in_place, TWO, target=BOTH, options=KernelOptions(lineinfo=True))
    assert with_lines.coarse_entry_point is None
    assert "\t.loc\t" in with_lines.ptx
    assert assembled_compile(in_place, TWO, target=BOTH).coarse_entry_point is not None
