"""Effects of kernel options and of `compile_spirv`'s arguments on a module."""

from __future__ import annotations

import os
import pickle
import re

import numpy as np
import pytest
from numba import types

from kapi_sim import device_func, group_barrier
from kapi_sim.errors import KernelCompilationError, LimitError
from kapi_sim.language import KernelOptions
from kapi_sim.testing.reports import raises
from kapi_spirv import KAPI_DEFAULT_TARGET, Failure, FailureRecord, SpirvTarget, compile_kernel, compile_spirv
from kapi_spirv.binary_reader import read_header
from kapi_types import ArrayType, ItemType, NdItemType

F4, I4 = ArrayType(types.float32, 1, "C"), ArrayType(types.int32, 1, "C")


@device_func
def poly(x):
    return (x * x + x) / 3.0


def horner(item, a):
    i = item.get_id(0)
    a[i] = poly(a[i]) - a[i]


def groups(nd_item, a):
    a[nd_item.get_global_id(0)] = 1


def risky(item, a, n):
    i = item.get_id(0)
    a[i] = a[i + 1] // n


def named(source):
    """A function of source text: pytest rewrites the asserts of a test file."""
    namespace = {}
    exec(source, namespace)
    return namespace["body"]


def test_floats_are_ieee_without_fastmath(validated_compile):
    """Nothing may be contracted or reordered, and the module says so."""
    module = validated_compile(horner, [ItemType(1), F4])
    assert "ContractionOff" in module.assembly
    assert "FPFastMathMode" not in module.assembly
    assert " fma " not in module.assembly


@pytest.mark.parametrize(
    ("flags", "mode"),
    [({"nnan"}, "NotNaN"), ({"ninf"}, "NotInf"), ({"nsz"}, "NSZ"), ({"arcp"}, "AllowRecip")],
)
def test_fastmath_flags_become_decorations(validated_compile, flags, mode):
    """Each flag that SPIR-V has a bit for."""
    module = validated_compile(horner, [ItemType(1), F4], options=KernelOptions(fastmath=flags))
    assert re.search(rf"OpDecorate %\d+ FPFastMathMode {mode}\n", module.assembly)
    assert "ContractionOff" in module.assembly


def test_fastmath_contraction_is_not_forbidden(validated_compile):
    """`contract`, and with it True, takes the execution mode away."""
    for fastmath in ({"contract"}, True):
        module = validated_compile(horner, [ItemType(1), F4], options=KernelOptions(fastmath=fastmath))
        assert "ContractionOff" not in module.assembly
    assert re.search(r"FPFastMathMode .*NotNaN", module.assembly)


def test_inline_never_keeps_calls(validated_compile):
    """The function that the kernel calls is one in the module; by default it is none."""
    assert "OpFunctionCall" not in validated_compile(horner, [ItemType(1), F4]).assembly
    module = validated_compile(horner, [ItemType(1), F4], options=KernelOptions(inline="never"))
    assert module.assembly.count("OpFunctionCall") == 1


@device_func
def declared(x):
    print("a noinline function:", x)
    return poly(x)


@device_func
def declared_together(group, x):
    group_barrier(group)
    return poly(declared(x))


def of_groups(nd_item, a):
    i = nd_item.get_global_id(0)
    a[i] = declared_together(nd_item.get_group(), a[i])


def of_items(item, a):
    i = item.get_id(0)
    a[i] = poly(declared(a[i]))
    print("then", poly(a[i]))


@pytest.mark.parametrize(("body", "space"), [(of_groups, NdItemType(1)), (of_items, ItemType(1))])
@pytest.mark.parametrize("debug", [False, True])
def test_inline_never_keeps_no_function_of_a_kernel_that_prints(validated_compile, body, space, debug):
    """LLVM's back end takes `printf` in a module of one function only; what is printed may say anything."""
    module = validated_compile(body, [space, F4], options=KernelOptions(inline="never", debug=debug))
    assert "OpFunctionCall" not in module.assembly
    assert '"a noinline function: ' in module.optimized_llvm_ir.replace('c"', '"')


def test_inline_never_keeps_loops_over_recurrences_valid(validated_compile):
    """Code for the driver's sake is added where it is used: in the called function."""

    @device_func
    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    def fill(item, a):
        i = item.get_id(0)
        a[i] = fibonacci(i)

    validated_compile(fill, [ItemType(1), I4], options=KernelOptions(inline="never"))


def test_group_sizes_become_execution_modes(validated_compile):
    """The fastest dimension first, as OpenCL counts."""
    options = KernelOptions(work_group_size=(4, 32), sub_group_size=16)
    module = validated_compile(groups, [NdItemType(2), I4], options=options)
    assert re.search(r"OpExecutionMode %\d+ LocalSize 32 4 1\n", module.assembly)
    assert re.search(r"OpExecutionMode %\d+ SubgroupSize 16\n", module.assembly)


def test_sub_group_size_must_be_one_of_the_target():
    """The attributes in which the target names its sizes."""
    options = KernelOptions(sub_group_size=8)
    compile_kernel(groups, [NdItemType(2), I4], options=options, target=SpirvTarget(sub_group_sizes=(8, 16)))
    with raises(LimitError, "sub-group-size-unknown"):
        compile_kernel(groups, [NdItemType(2), I4], options=options, target=SpirvTarget(sub_group_sizes=(16, 32)))


def test_modules_without_checks_have_no_failures(validated_compile):
    """And no field for a record."""
    module = validated_compile(risky, [ItemType(1), I4, types.int32])
    assert module.failures == ()
    assert {each.role for each in module.layout.fields} == {"range", "pointer", "shape", "value"}


def test_boundscheck_numbers_the_failures(validated_compile):
    """One for each source location; the record's address comes last."""
    module = validated_compile(risky, [ItemType(1), I4, types.int32], options=KernelOptions(boundscheck=True))
    line = risky.__code__.co_firstlineno + 2
    assert module.failures == (Failure("OutOfBoundsError", ("a",), __file__, line),)
    assert module.layout.fields[-1].role == "failure"
    assert "OpAtomicCompareExchange" in module.assembly


def test_debug_numbers_divisions_asserts_and_raises(validated_compile):
    """Classes by name, constant arguments, lines."""
    body = named(
        "def body(item, a, n):\n"
        "    assert n > 0, 'positive'\n"
        "    if n == 5:\n"
        "        raise OverflowError('five', 5)\n"
        "    a[0] = n % 7 // n\n"
    )
    module = validated_compile(body, [ItemType(1), I4, types.int32], options=KernelOptions(debug=True))
    assert [(each.error, each.args, each.line) for each in module.failures] == [
        ("AssertionError", ("positive",), 2),
        ("OverflowError", ("five", 5), 4),
        ("DivisionByZeroError", ("division-by-zero", "divisor of % must not be zero, got 0"), 5),
        ("DivisionByZeroError", ("division-by-zero", "divisor of // must not be zero, got 0"), 5),
        ("OutOfBoundsError", ("a",), 5),
    ]


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("raise ValueError(n)", "raise-value"),
        ("raise ValueError(f'{n}')", "raise-value"),
        ("raise n", "raise-class"),
        ("raise", "raise-class"),
        ("raise Own('x')", "raise-class"),
    ],
)
def test_debug_refuses_what_it_cannot_raise(statement, code):
    """Only a number comes back from the device."""
    namespace = {}
    exec(f"class Own(Exception): pass\ndef body(item, a, n):\n    if n > 3:\n        {statement}\n", namespace)
    with raises(KernelCompilationError, code, line=4) as caught:
        compile_kernel(namespace["body"], [ItemType(1), I4, types.int32], options=KernelOptions(debug=True))
    assert str(caught.value).count("<string>") == 2  # one problem, and the kernel's own location


def test_raise_without_debug_says_what_to_write():
    """In place of raising nothing."""
    body = named("def body(item, a):\n    if a[0] > 3:\n        raise ValueError('x')\n")
    with raises(KernelCompilationError, "raise-without-debug"):
        compile_kernel(body, [ItemType(1), I4])


def test_failure_record_reads_what_the_device_wrote():
    """Little-endian words: number from 1, global id, details."""
    memory = np.array([3, 7, 8, 0, -1, 1, 20, 0], dtype="<i8").tobytes()
    assert FailureRecord.read(memory) == FailureRecord(2, (7, 8, 0), (-1, 1, 20))


def test_module_can_be_looked_into(validated_compile):
    """Typed IR, LLVM IR, SPIR-V and a summary, each as text; the module pickles with all of it."""
    module = validated_compile(risky, [ItemType(1), I4, types.int32], options=KernelOptions(debug=True))
    assert module.typed_ir.startswith("risky(Item(1d), array(int32, 1d, C), int32) -> none\n")
    assert re.search(r"i = call .*# line \d+: weak_int\n", module.typed_ir)
    assert "define spir_func i32" in module.llvm_ir
    assert "define spir_kernel void @kapi_risky(" in module.optimized_llvm_ir
    assert "OpEntryPoint Kernel %" in module.assembly
    summary = module.summary()
    for said in (
        "kernel risky over Item of 1 dimensions, entry point kapi_risky",
        f"SPIR-V 1.2, {len(module.code)} bytes",
        "    8 a pointer (Q)",
        "failure failure (Q)",
        "parameter n: scalar, int32",
        "may raise OutOfBoundsError at ",
    ):
        assert said in summary
    again = pickle.loads(pickle.dumps(module))
    assert (again.code, again.failures, again.options, again.target) == (
        module.code, module.failures, module.options, module.target,
    )  # fmt: skip


def test_compile_spirv_gives_a_kernel_and_its_type(validate):
    """The short form of `compile_kernel`."""
    code, return_type = compile_spirv(horner, [ItemType(1), F4])
    assert code == compile_kernel(horner, [ItemType(1), F4]).code
    assert return_type == types.none
    assert read_header(code).version == KAPI_DEFAULT_TARGET.version


def test_compile_spirv_options_reach_the_module(validate):
    """Version, debug mode, fast math and optimisation."""
    code, _ = compile_spirv(horner, [ItemType(1), F4], target=SpirvTarget("1.4"), fastmath=True)
    assert read_header(code).version == "1.4"
    plain, optimised = (compile_spirv(horner, [ItemType(1), F4], opt=opt)[0] for opt in (False, True))
    assert len(plain) > len(optimised)
    assert len(compile_spirv(horner, [ItemType(1), F4], debug=True)[0]) > len(optimised)
    for code in (plain, optimised):
        assert validate(code) == ""


def test_device_function_is_exported(validate):
    """For other modules to link with: its own name, plain arguments, its value."""

    def lerp(a, b, t):
        return a + (b - a) * t

    def is_far(x, index):
        return x[index] > 3

    code, return_type = compile_spirv(lerp, [types.float32] * 3, device_function=True)
    assert return_type == types.float32
    assert validate(code) == ""
    assert b"lerp" in code
    header = read_header(code)
    assert "Linkage" in header.capabilities
    code, return_type = compile_spirv(is_far, [F4, types.int64], device_function=True)
    assert return_type == types.boolean
    assert validate(code) == ""


def test_device_function_has_no_debug_mode():
    """There is no launch that could raise."""
    with raises(KernelCompilationError, "debug-of-device-function"):
        compile_spirv(poly.py_func, [types.float32], device_function=True, debug=True)


def test_compiler_works_after_a_fork():
    """A child of a process that has compiled starts a helper of its own."""
    here = read_header(compile_spirv(horner, [ItemType(1), F4])[0])
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            there = read_header(compile_spirv(horner, [ItemType(1), F4])[0])
            os.write(writing, b"same" if there == here else b"other")
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(reading, 10) == b"same"
    os.close(reading)


def test_line_information_is_not_there_and_harms_nothing():
    """LLVM's SPIR-V back end drops lines; see `test_backend_limits`."""
    plain, lined = (
        compile_kernel(horner, [ItemType(1), F4], options=KernelOptions(lineinfo=on)) for on in (False, True)
    )
    assert lined.code == plain.code
    assert "!dbg" not in lined.llvm_ir
