"""Limits of LLVM's SPIR-V back end: a test here fails when LLVM lifts one, and the workaround should go.

Each construct is given to the back end unrewritten, in a process of its own, since the back end ends the process it
gives up in. Besides that, kapi's own validation names the construct in an exception.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from kapi_lowering.emission import client
from kapi_lowering.emission.client import EmissionError, emit
from kapi_spirv import SpirvTarget, target
from kapi_spirv.duplicate_ids import has_duplicate_ids

RAW = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
module = llvm.parse_assembly(sys.stdin.read())
machine = llvm.Target.from_triple("spirv64v1.2-unknown-unknown").create_target_machine(opt=2)
module.triple, module.data_layout = "spirv64v1.2-unknown-unknown", str(machine.target_data)
sys.stdout.buffer.write(machine.emit_object(module))
"""


def kernel(body, declaration=""):
    lines = "\n".join(f"  {line.strip()}" for line in body.strip().splitlines())
    return f"{declaration}\ndefine spir_kernel void @k(ptr addrspace(1) %p, i64 %n) {{\n{lines}\n  ret void\n}}\n"


def overflowing(name):
    """An addition or the like that tells whether it overflowed."""
    return kernel(
        f"""
        %pair = call {{i64, i1}} @llvm.{name}.with.overflow.i64(i64 %n, i64 3)
        %value = extractvalue {{i64, i1}} %pair, 0
        %overflows = extractvalue {{i64, i1}} %pair, 1
        %chosen = select i1 %overflows, i64 0, i64 %value
        store i64 %chosen, ptr addrspace(1) %p
        """,
        f"declare {{i64, i1}} @llvm.{name}.with.overflow.i64(i64, i64)",
    )


WIDE = kernel("""
    %wide = zext i64 %n to i128
    %turned = shl i128 %wide, %wide
    %high = lshr i128 %turned, 64
    %result = trunc i128 %high to i64
    store i64 %result, ptr addrspace(1) %p
""")
ODD = WIDE.replace("i128", "i65")
BIT_REVERSAL = kernel(
    "%bits = call i64 @llvm.bitreverse.i64(i64 %n)\nstore i64 %bits, ptr addrspace(1) %p",
    "declare i64 @llvm.bitreverse.i64(i64)",
)
ATOMIC_NAND = kernel("%old = atomicrmw nand ptr addrspace(1) %p, i32 3 seq_cst")
DYNAMIC_ARRAY = kernel("""
    %array = alloca i32, i64 %n
    store volatile i32 1, ptr %array
""")
INDIRECT_CALL = kernel("""
    %function = load ptr, ptr addrspace(1) %p
    call spir_func void %function(i64 %n)
""")
ATOMIC_FLOAT_ADD = kernel("%old = atomicrmw fadd ptr addrspace(1) %p, float 3.0 seq_cst")
ATOMIC_FLOAT_MIN = kernel("%old = atomicrmw fmin ptr addrspace(1) %p, float 3.0 seq_cst")
ATOMIC_WRAPPING = kernel("%old = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 3 seq_cst")
SHUFFLE = kernel(
    "%o = call spir_func i64 @_Z30__spirv_GroupNonUniformShufflejmj(i32 3, i64 %n, i32 1)",
    "declare spir_func i64 @_Z30__spirv_GroupNonUniformShufflejmj(i32, i64, i32)",
)
GROUP_PRODUCT = kernel(
    "%o = call spir_func i64 @_Z20__spirv_GroupIMulKHRjjm(i32 3, i32 0, i64 %n)",
    "declare spir_func i64 @_Z20__spirv_GroupIMulKHRjjm(i32, i32, i64)",
)
INLINE_ASSEMBLY = kernel('call void asm sideeffect "nop", ""()')
VARIADIC_CALL = kernel("call spir_func void (i64, ...) @f(i64 %n, i64 2)", "declare spir_func void @f(i64, ...)")

FATAL = {
    "128-bit integers": (WIDE, "128-bit integers (i128)"),
    "odd widths": (ODD, "65-bit integers (i65)"),
    "sadd.with.overflow": (overflowing("sadd"), "overflow-checking arithmetic"),
    "atomicrmw nand": (ATOMIC_NAND, "atomic nand"),
    "dynamic alloca": (DYNAMIC_ARRAY, "an array of a size known only at run time"),
    "indirect call": (INDIRECT_CALL, "An indirect call is encountered but SPIR-V without extensions"),
    "atomicrmw fadd": (ATOMIC_FLOAT_ADD, "requires the following SPIR-V extension: SPV_EXT_shader_atomic_float_add"),
    "atomicrmw fmin": (
        ATOMIC_FLOAT_MIN,
        "requires the following SPIR-V extension: SPV_EXT_shader_atomic_float_min_max",
    ),
    "atomicrmw uinc_wrap": (ATOMIC_WRAPPING, "unable to legalize instruction"),
    "shuffle before SPIR-V 1.3": (SHUFFLE, "Unable to meet SPIR-V requirements for this target"),
    "product over a group": (GROUP_PRODUCT, "requires the following SPIR-V extension: SPV_KHR_uniform_group"),
    "inline assembly": (INLINE_ASSEMBLY, "require the following SPIR-V extension: SPV_INTEL_inline_assembly"),
    "variadic call": (VARIADIC_CALL, "SPIR-V does not support variadic functions"),
}


def raw(source):
    return subprocess.run([sys.executable, "-c", RAW], input=source.encode(), capture_output=True, check=False)


@pytest.mark.parametrize("construct", FATAL)
def test_backend_ends_the_process_on(construct):
    """Fails when LLVM has mended it: then its validation rule or rewriting may go."""
    done = raw(FATAL[construct][0])
    assert done.returncode != 0, f"LLVM's SPIR-V back end has learned {construct}"
    assert b"error" in done.stderr.lower()


def test_backend_ends_the_process_on_reversed_bits():
    """While it does, `kapi_spirv.emission.legalize.bit_reversals` writes them as shifts and masks."""
    done = raw(BIT_REVERSAL)
    assert done.returncode != 0, "LLVM's SPIR-V back end has learned llvm.bitreverse"
    assert emit([BIT_REVERSAL], "k", SpirvTarget()).code


def test_emission_names_reversed_bits_of_an_odd_number_that_an_unknown_instruction_takes():
    body = (
        "%t = trunc i64 %n to i5\n%b = call i5 @llvm.bitreverse.i5(i5 %t)\n%d = sdiv i5 %b, 3\n%s = sext i5 %d to i64\n"
    )
    source = kernel(body + "store i64 %s, ptr addrspace(1) %p", "declare i5 @llvm.bitreverse.i5(i5)")
    with pytest.raises(EmissionError, match=re.escape("5-bit integers (i5)")):
        emit([source], "k", SpirvTarget())


@pytest.mark.parametrize("construct", FATAL)
def test_emission_names(construct):
    """In this process the same is an exception that says what prevented it."""
    source, words = FATAL[construct]
    with pytest.raises(EmissionError, match=re.escape(words)):
        emit([source], "k", SpirvTarget())


PRINTF = kernel(
    "%r = call spir_func i32 (ptr addrspace(2), ...) @printf(ptr addrspace(2) @f, ptr addrspace(2) @f)",
    '@f = internal addrspace(2) constant [3 x i8] c"%s\\00"\ndeclare spir_func i32 @printf(ptr addrspace(2), ...)',
)


def test_backend_ends_the_process_on_a_variadic_printf_of_pointers():
    """While it does, `kapi_lowering.calls.printing` declares a `printf` for each list of types."""
    done = raw(PRINTF)
    assert done.returncode != 0, "LLVM's SPIR-V back end has learned printf of texts"
    assert b"getArg() out of range" in done.stderr
    named = PRINTF.replace("(ptr addrspace(2), ...) @printf", "@_Z6printfPU3AS2KcS0_").replace(
        "@printf(ptr addrspace(2), ...)", "@_Z6printfPU3AS2KcS0_(ptr addrspace(2), ptr addrspace(2))"
    )
    assert raw(named).returncode == 0


PRINTING_FUNCTION = kernel(
    "call spir_func void @told(i64 %n)",
    """
@f = internal addrspace(2) constant [4 x i8] c"%ld\\00"
declare spir_func i32 @_Z6printfPU3AS2Kcl(ptr addrspace(2), i64)
define internal spir_func void @told(i64 %n) noinline {
  %r = call spir_func i32 @_Z6printfPU3AS2Kcl(ptr addrspace(2) @f, i64 %n)
  ret void
}""",
)


def test_backend_ends_the_process_on_a_printf_in_a_function():
    """While it does, `kapi_spirv.emission.legalize.single_function_kernels` inlines functions of kernels that print."""
    done = raw(PRINTING_FUNCTION)
    assert done.returncode != 0, "LLVM's SPIR-V back end has learned printf in modules of several functions"
    assert emit([PRINTING_FUNCTION], "k", SpirvTarget()).code


LINES = """
define spir_kernel void @k(ptr addrspace(1) %p) !dbg !2 {
  store i32 1, ptr addrspace(1) %p, !dbg !5
  ret void, !dbg !5
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!6}
!0 = distinct !DICompileUnit(language: DW_LANG_OpenCL, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "kernel.py", directory: "/")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 3, type: !3, unit: !0, spFlags: DISPFlagDefinition)
!3 = !DISubroutineType(types: !4)
!4 = !{null}
!5 = !DILocation(line: 4, scope: !2)
!6 = !{i32 2, !"Debug Info Version", i32 3}
"""


def test_backend_drops_the_lines_of_instructions():
    """While it does, modules carry none: what fails in debug mode has its line from kapi's own table of failures."""
    done = raw(LINES)
    assert done.returncode == 0
    operations = [operation for operation, _words in instructions(done.stdout)]
    assert len(operations) > 10
    assert 8 not in operations, "LLVM's SPIR-V back end emits OpLine: kernels may carry line information now"


@pytest.mark.parametrize("name", ["smul", "umul"])
def test_emission_refuses_what_drivers_cannot_link(name):
    """The back end makes SPIR-V of these, for which Intel's runtime has no function."""
    assert raw(overflowing(name)).returncode == 0
    with pytest.raises(EmissionError, match=rf"overflow-checking arithmetic \(llvm.{name}.with.overflow\)"):
        emit([overflowing(name)], "k", SpirvTarget())


LDEXP = kernel(
    """
    %exponent = trunc i64 %n to i32
    %scaled = call double @llvm.ldexp.f64.i32(double 1.5, i32 %exponent)
    store double %scaled, ptr addrspace(1) %p
    """,
    "declare double @llvm.ldexp.f64.i32(double, i32)",
)


def test_emission_names_ldexp_as_opencl_does(validate):
    """LLVM's passes make the intrinsic of powers of two. Fails when LLVM has mended it: then `powers` may go."""
    assert raw(LDEXP).returncode != 0, "LLVM's SPIR-V back end has learned llvm.ldexp"
    assert validate(emit([LDEXP], "k", SpirvTarget()).code) == ""


SIGNED_BOOL = kernel(
    """
    %is_odd = trunc i64 %n to i1
    %minus_one = sitofp i1 %is_odd to double
    store double %minus_one, ptr addrspace(1) %p
    """
)


def test_backend_converts_signed_bools_as_unsigned(validate):
    """A true one is -1. Fails when LLVM has mended it: then `_bools.choose_floats` may go."""
    select, convert = 169, 111
    operations = [operation for operation, _words in instructions(raw(SIGNED_BOOL).stdout)]
    assert {select, convert} <= set(operations), "LLVM's SPIR-V back end has another way with sitofp of i1"
    emitted = emit([SIGNED_BOOL], "k", SpirvTarget(), passes="none")
    assert "double -1.000000e+00, double 0.000000e+00" in emitted.llvm_ir
    assert convert not in [operation for operation, _words in instructions(emitted.code)]
    assert validate(emitted.code) == ""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("%b = trunc i64 %n to i1\n%v = mul i1 %b, %b\n%w = zext i1 %v to i64", "mul of bools"),
        ("%b = trunc i64 %n to i1\n%v = shl i1 %b, false\n%w = zext i1 %v to i64", "shl of bools"),
        ("%b = trunc i64 %n to i1\n%q = getelementptr i64, ptr addrspace(1) %p, i1 %b\n"
         "%w = load i64, ptr addrspace(1) %q", "getelementptr with a bool for an index"),
        ("%q = alloca i1\nstore volatile i1 true, ptr %q\n%b = load volatile i1, ptr %q\n%w = zext i1 %b to i64",
         "memory of bools"),
    ],
)  # fmt: skip
def test_emission_refuses_bools_that_the_backend_spoils(body, words):
    """Some become invalid modules, which may crash a driver, and some lose their value."""
    source = kernel(f"{body}\nstore i64 %w, ptr addrspace(1) %p")
    with pytest.raises(EmissionError, match=words):
        emit([source], "k", SpirvTarget(), passes="none")


NARROW_COUNTER = """
declare spir_func i64 @_Z13get_global_idj(i32)
define spir_kernel void @k(ptr addrspace(1) %p, i64 %n) {
entry:
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %start = and i64 %i, 3
  br label %outer
outer:
  %w = phi i64 [ %start, %entry ], [ %next, %latch ]
  %next = add nuw nsw i64 %w, 1
  %first = and i64 %next, 3
  br label %inner
inner:
  %v = phi double [ 1.0, %outer ], [ %doubled, %inner ]
  %u = phi i64 [ %first, %outer ], [ %step, %inner ]
  %step = add nuw nsw i64 %u, 3
  %doubled = fmul double %v, 2.0
  %again = icmp ult i64 %u, 3
  br i1 %again, label %inner, label %latch
latch:
  %last = icmp eq i64 %next, 6
  br i1 %last, label %done, label %outer
done:
  %q = getelementptr inbounds double, ptr addrspace(1) %p, i64 %i
  store double %doubled, ptr addrspace(1) %q, align 8
  ret void
}
"""
"""A loop that LLVM counts in two bits, given the chance; nothing in it is narrower than 64."""
OP_UCONVERT = 113


def test_backend_counts_loops_in_two_bits():
    """Fails when LLVM has mended it: then -disable-lsr may go. The two bits become eight, with no limit to four."""
    narrow = {opcode for opcode, _operands in instructions(raw(NARROW_COUNTER).stdout)}
    assert OP_UCONVERT in narrow, "LLVM's SPIR-V back end counts in the widths of the source"
    emitted = emit([NARROW_COUNTER], "k", SpirvTarget(), passes="none")
    assert OP_UCONVERT not in {opcode for opcode, _operands in instructions(emitted.code)}


PLAIN = {
    "load": "%old = load atomic i32, ptr addrspace(1) %p acquire, align 4\nstore i32 %old, ptr addrspace(1) %p",
    "store": "store atomic i32 7, ptr addrspace(1) %p release, align 4",
}
LLVM_FENCE = kernel("fence acq_rel")
ACQUIRE_RELEASE = 0x8
OP_ATOMIC_LOAD, OP_ATOMIC_STORE, OP_MEMORY_BARRIER = 227, 228, 225


def instructions(code):
    """Each instruction of a module: its opcode and its operands' words."""
    words = memoryview(code).cast("I")[5:]
    while words:
        size, opcode = words[0] >> 16, words[0] & 0xFFFF
        yield opcode, list(words[1:size])
        words = words[size:]


@pytest.mark.parametrize("operation", PLAIN)
def test_backend_makes_plain_accesses_of_atomic_ones(operation):
    """Fails when LLVM has mended it: until then atomic loads and stores are called by their SPIR-V names."""
    done = raw(kernel(PLAIN[operation]))
    opcodes = {opcode for opcode, _operands in instructions(done.stdout)}
    assert opcodes
    assert not opcodes & {OP_ATOMIC_LOAD, OP_ATOMIC_STORE}, f"LLVM's SPIR-V back end has learned the atomic {operation}"


def test_backend_leaves_out_which_memory_a_fence_orders():
    """Fails when LLVM has mended it: until then fences and atomics are called by their SPIR-V names."""
    found = list(instructions(raw(LLVM_FENCE).stdout))
    constants = {operands[1]: operands[2] for opcode, operands in found if opcode == 43}
    ((_scope, semantics),) = [operands for opcode, operands in found if opcode == OP_MEMORY_BARRIER]
    assert constants[semantics] == ACQUIRE_RELEASE, "LLVM's SPIR-V back end names the memory that a fence orders"


def test_emission_is_not_misled_by_names():
    """Only constructs are refused, not names or texts that look like them."""
    source = kernel("%i128 = add i64 %n, 1\nstore i64 %i128, ptr addrspace(1) %p")
    assert emit([source], "k", SpirvTarget(), passes="none").code


DUPLICATES = """
import struct, sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
source = sys.stdin.read()
for _ in range(int(sys.argv[1])):
    machine = llvm.Target.from_triple("spirv64v1.2-unknown-unknown").create_target_machine(opt=2)
    module = llvm.parse_assembly(source)
    module.triple, module.data_layout = "spirv64v1.2-unknown-unknown", str(machine.target_data)
    code = machine.emit_object(module)
    sys.stdout.buffer.write(struct.pack("<I", len(code)) + code)
"""


def loop(item, a, b, c):
    i = item.get_id(0)
    for k in range(b.shape[0]):
        if a[i] > b[k]:
            a[i] = a[i] % b[k]
        else:
            c[i] = c[i] // b[k]


@pytest.fixture(scope="module")
def emitted_in_one_process(validated_compile):
    """Emit one kernel again and again in one process."""
    from numba import types

    from kapi_types import ArrayType, ItemType

    array = ArrayType(types.int64, 1, "C")
    source = validated_compile(loop, [ItemType(1), array, array, array]).optimized_llvm_ir
    command = [sys.executable, "-c", DUPLICATES, "400"]
    output = subprocess.run(command, input=source.encode(), capture_output=True, check=True).stdout
    codes = []
    while output:
        size = int.from_bytes(output[:4], "little")
        codes.append(output[4 : 4 + size])
        output = output[4 + size :]
    return codes


def test_backend_gives_labels_ids_of_other_things(emitted_in_one_process):
    """Fails when LLVM has mended it: then `has_duplicate_ids` may go."""
    assert len(emitted_in_one_process) == 400
    assert any(map(has_duplicate_ids, emitted_in_one_process)), "LLVM's SPIR-V back end gives labels ids of their own"


def test_modules_without_duplicate_ids_are_valid(emitted_in_one_process, validate):
    """Whatever spirv-val refuses of what LLVM made has been found before."""
    kept = {code for code in emitted_in_one_process if not has_duplicate_ids(code)}
    assert kept
    assert {validate(code) for code in kept} == {""}


def test_emission_with_duplicate_ids_is_done_again_by_a_new_helper(monkeypatch):
    """A new process remembers nothing of earlier modules, and what it makes is taken."""
    asked = []
    monkeypatch.setattr(target, "has_duplicate_ids", lambda code: asked.append(code) or True)
    before = client._helper(SpirvTarget())
    assert emit([kernel("store i64 %n, ptr addrspace(1) %p")], "k", SpirvTarget()).code
    assert len(asked) == 1
    assert client._helper(SpirvTarget()) is not before
    assert not before.is_usable()
