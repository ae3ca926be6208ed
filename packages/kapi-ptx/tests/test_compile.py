"""`compile_kernel` and `compile_ptx`: what comes out, by options, and what is refused."""

from __future__ import annotations

import re

import pytest
from numba import types

import kapi_sim as kapi
from kapi_ptx import PtxModule, PtxTarget, compile_kernel, compile_ptx
from kapi_sim import KernelCompilationError
from kapi_sim.language import KernelOptions
from kapi_sim.testing.reports import raises
from kapi_types import ArrayType, ItemType, NdItemType

F32 = ArrayType(types.float32, 1, "C")
SIGNATURE = [ItemType(1), types.float32, F32, F32]
TARGET = PtxTarget(80)


def saxpy(item, a, x, y):
    i = item.get_id(0)
    y[i] = a * x[i] + y[i]


def directives(module):
    return re.findall(r"^\.((?:max|req|min)\w+ [\d, ]+)$", module.ptx, re.MULTILINE)


def test_module_has_the_kernel_and_its_interface(assembled_compile):
    module = assembled_compile(saxpy, SIGNATURE, target=TARGET)
    assert isinstance(module, PtxModule)
    assert module.entry_point == "kapi_saxpy"
    assert module.ptx.count(".visible") == 1
    assert ".visible .entry kapi_saxpy(\n\t.param .align 8 .b8 kapi_saxpy_param_0[48]\n)" in module.ptx
    assert module.layout.format == "<qf4xQqQq"
    assert module.code == module.ptx.encode("ascii")
    assert "PTX 7.0 for sm_80" in module.summary()


def test_kernel_takes_nothing_from_outside(assembled_compile):
    """Nothing is left for the driver to link."""
    assert ".extern" not in assembled_compile(saxpy, SIGNATURE, target=TARGET).ptx


def test_name_beyond_ascii_is_spelled(assembled_compile):
    def größe(item, x):
        x[item.get_id(0)] = 1

    module = assembled_compile(größe, [ItemType(1), F32], target=TARGET)
    assert module.name == "größe"
    assert module.entry_point == "kapi_gr_uf6_udfe"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, []),
        ({"work_group_size": 64}, ["reqntid 64, 1, 1"]),
        ({"work_group_size": (4, 16)}, ["reqntid 16, 4, 1"]),
        ({"work_group_size": (2, 4, 8)}, ["reqntid 8, 4, 2"]),
        ({"max_work_group_size": 256}, ["maxntid 256"]),
        ({"work_group_size": (4, 16), "max_work_group_size": 256}, ["reqntid 16, 4, 1"]),
    ],
    ids=str,
)
def test_sizes_of_work_groups_are_directives(assembled_compile, options, expected):
    """The last dimension is x, as everywhere."""
    rank = len(KernelOptions(**options).local_range or (1,))

    def kernel(item, x):
        x[item.get_global_linear_id()] = 1

    module = assembled_compile(kernel, [NdItemType(rank), F32], target=TARGET, options=KernelOptions(**options))
    assert directives(module) == expected


def test_last_dimension_is_x(assembled_compile):
    def kernel(item, x):
        x[item.get_local_id(0)] = item.get_group().get_group_id(1)

    module = assembled_compile(kernel, [NdItemType(2), F32], target=TARGET)
    assert {"%tid.y", "%ctaid.x"} == set(re.findall(r"%\w+\.[xyz]", module.ptx))


def test_axis_that_is_computed_is_chosen(assembled_compile):
    def kernel(item, x, axis):
        x[0] = item.get_local_id(axis)

    module = assembled_compile(kernel, [NdItemType(3), F32, types.int64], target=TARGET)
    assert {"%tid.x", "%tid.y", "%tid.z"} == set(re.findall(r"%\w+\.[xyz]", module.ptx))


def test_debug_mode_records_failures(assembled_compile):
    module = assembled_compile(saxpy, SIGNATURE, target=TARGET, options=KernelOptions(debug=True))
    assert {each.error for each in module.failures} == {"OutOfBoundsError"}
    assert module.layout.fields[-1].role == "failure"
    assert re.search(r"atom\.relaxed\.sys\.global\.cas\.b32|atom\.global\.cas\.b32", module.ptx)


def test_functions_stay_functions_if_asked(assembled_compile):
    def half(v):
        return v * np_half

    np_half = 0.5

    def kernel(item, x):
        x[item.get_id(0)] = half(x[item.get_id(0)])

    always = assembled_compile(kernel, [ItemType(1), F32], target=TARGET)
    never = assembled_compile(kernel, [ItemType(1), F32], target=TARGET, options=KernelOptions(inline="never"))
    assert "call.uni" not in always.ptx
    assert never.ptx.count("call.uni") == 1


def test_print_is_vprintf(assembled_compile):
    """Floats are handed over as doubles, each value in 8 bytes."""

    def kernel(item, x):
        print("at", item.get_id(0), x[0], x[0] > 1, sep=" % ")

    module = assembled_compile(kernel, [ItemType(1), F32], target=TARGET)
    assert ".extern .func  (.param .b32 func_retval0) vprintf" in module.ptx
    assert re.search(r"\.local \.align 8 \.b8\s+\w+\[32\]", module.ptx)
    texts = re.findall(r"\.b8 kapi_text\S* = \{([\d, ]+)\}", module.ptx)
    assert b"at %% %ld %% %g%s %% %s\n" in [bytes(map(int, each.split(","))) for each in texts]


def test_device_function_is_exported_with_plain_arguments():
    def mean(x, y):
        return (x + y) / 2

    code, return_type = compile_ptx(mean, [types.float32, types.float32], device_function=True, target=TARGET)
    assert return_type == types.float32
    text = code.decode()
    assert re.search(r"\.visible \.func +\(\.param \.b32 func_retval0\) mean\(\s+\.param \.b32 mean_param_0,", text)
    assert ".entry" not in text


def test_compile_ptx_gives_a_kernel():
    code, return_type = compile_ptx(saxpy, SIGNATURE, target=TARGET)
    assert code == compile_kernel(saxpy, SIGNATURE, target=TARGET).code
    assert return_type == types.none


def test_device_function_whose_name_ptx_cannot_spell_is_refused():
    def größe(x):
        return x

    with raises(KernelCompilationError, "target-lacks"):
        compile_ptx(größe, [types.float32], device_function=True)


def test_device_function_has_no_debug_mode():
    with raises(KernelCompilationError, "debug-of-device-function"):
        compile_ptx(saxpy, SIGNATURE, device_function=True, debug=True)


def test_kernel_outside_of_the_language_is_refused_with_each_line():
    def wrong(item, x):
        x[0, 0] = 1
        x[1] = undefined  # noqa: F821

    with raises(KernelCompilationError, "too-many-indices") as caught:
        compile_kernel(wrong, [ItemType(1), F32])
    assert "name 'undefined' is not defined" in str(caught.value)


def test_another_target_is_refused():
    with pytest.raises(TypeError, match="target must be a PtxTarget, got 'sm_80': write one, or leave it out"):
        compile_kernel(saxpy, SIGNATURE, target="sm_80")


def test_unoptimised_module_assembles(assembled_compile):
    plain = assembled_compile(saxpy, SIGNATURE, target=TARGET, optimise=False)
    assert plain.ptx != assembled_compile(saxpy, SIGNATURE, target=TARGET).ptx


def test_modules_are_the_same_each_time():
    """A cache's key is what goes in: so what comes out depends on nothing else."""
    first = compile_kernel(saxpy, SIGNATURE, target=TARGET)

    def another(item, x):
        x[item.get_global_id(0)] = kapi.reduce_over_group(item.get_group(), x[0], kapi.plus)

    compile_kernel(another, [NdItemType(1), F32], target=PtxTarget(90))
    assert compile_kernel(saxpy, SIGNATURE, target=TARGET).code == first.code
