"""Code for systems and processors that the tests do not run on: what can be read off it, and that it is not loaded."""

import math
import re
from dataclasses import replace

import llvmlite.binding as llvm
import pytest

import kapi_sim as kapi
from kapi_cpu import CpuTarget, compile_kernel, host_target, read_module, write_module
from kapi_cpu.loading import load
from kapi_sim.errors import DriverError

SYSTEMS = {
    "aarch64-unknown-linux-gnu": (b"\x7fELF", "generic"),
    "arm64-apple-darwin23.0.0": (b"\xcf\xfa\xed\xfe", "apple-m1"),
    "aarch64-pc-windows-msvc": (b"\x64\xaa", "generic"),
    "x86_64-apple-darwin23.0.0": (b"\xcf\xfa\xed\xfe", "x86-64-v3"),
    "x86_64-pc-windows-msvc": (b"\x64\x86", "x86-64-v3"),
    "x86_64-unknown-linux-gnu": (b"\x7fELF", "x86-64-v3"),
}
ARM = [system for system in SYSTEMS if not system.startswith("x86_64")]


def abc(item, x):  # `kapi_abc` fills the eight bytes that COFF has for a short name
    i = item.get_id(0)
    x[i] = math.sin(x[i])


def halves(item, x):
    x[item.get_id(0)] *= 2


def counts(item, x):
    kapi.AtomicRef(x, 0).fetch_add(1)


def target_of(system, cpu="generic", features=""):
    llvm.initialize_all_targets()
    layout = str(llvm.Target.from_triple(system).create_target_machine().target_data)
    return CpuTarget(system, layout, cpu, features)


def compiled(function, signature, system, cpu="generic", features=""):
    return compile_kernel(function, signature, target=target_of(system, cpu, features))


def assembly(module):
    """The object code's text, as LLVM writes it of the same IR."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = module.target
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3
    )
    return machine.emit_assembly(llvm.parse_assembly(module.optimized_llvm_ir))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("function", [abc, halves])
def test_object_files_of_each_system_are_read(system, function):
    format_, cpu = SYSTEMS[system]
    module = compiled(function, "item1, float32[:]", system, cpu)
    read = read_module(write_module(module))
    assert read.code == module.code
    assert read.entry_point == f"kapi_{function.__name__}"
    assert module.target.emission_request()["vector_bits"] == 128
    from kapi_cpu.emission.object_code import ObjectCode

    assert ObjectCode.of(module.code).image.startswith(format_)


@pytest.mark.parametrize("system", ARM)
def test_vectors_fill_registers_of_neon(system):
    for dtype, lanes, operand in (("float32", 4, "4s"), ("float64", 2, "2d"), ("int32", 4, "4s")):
        module = compiled(halves, f"item1, {dtype}[:]", system)
        assert module.lanes == lanes
        assert re.search(rf"(add|shl|mul)(\.{operand}\s|\s+v\d+\.{operand})", assembly(module))


@pytest.mark.parametrize("system", ARM)
def test_mathematics_multiplies_and_adds_at_once(system):
    text = assembly(compiled(abc, "item1, float64[:]", system))
    assert re.search(r"\bfn?m(add|sub|la|ls)\b", text)
    assert not re.search(r"\bbl\s+_?(sin|fma)f?\b", text)


@pytest.mark.parametrize(("features", "widens"), [("", True), ("+fullfp16", False)])
def test_float16_without_instructions_for_it_is_widened(features, widens):
    text = assembly(compiled(halves, "item1, float16[:]", ARM[0], features=features))
    assert ("fcvtl" in text) == widens
    assert "hf2" not in text  # no function of a library converts


@pytest.mark.parametrize(("features", "instruction"), [("+lse", "ldadd"), ("", "ldxr")])
def test_atomics_are_those_of_the_features(features, instruction):
    assert instruction in assembly(compiled(counts, "item1, int32[:]", ARM[0], features=f"{features},-outline-atomics"))


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"features": "+made-up"}, "code that needs made-up"),
        ({"system": "riscv64-unknown-linux-gnu"}, "code for riscv64-unknown-linux-gnu"),
        ({"cpu": "made-up", "features": ""}, "code for made-up"),
    ],
)
def test_code_for_another_processor_is_not_loaded(changes, got):
    module = compile_kernel(halves, "item1, float32[:]")
    other = replace(module, target=replace(host_target(), **changes))
    with pytest.raises(DriverError, match=f"kernel `halves` must be compiled for a processor like .*, got {got}: "):
        load(read_module(write_module(other)))


def test_code_with_fewer_features_is_loaded():
    features = ",".join(each.replace("+", "-") for each in host_target().features.split(","))
    for changes in ({"cpu": "generic", "features": ""}, {"cpu": "other", "features": features}):
        module = compile_kernel(halves, "item1, float32[:]")
        assert load(replace(module, target=replace(host_target(), **changes))).address
