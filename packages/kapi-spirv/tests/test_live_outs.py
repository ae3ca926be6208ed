"""Loops' variables that are used behind their loops, by the IR that comes out."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from kapi_lowering.emission.llvm_ir import parse_module
from kapi_lowering.emission.pipeline import run_pass
from kapi_spirv.emission.workarounds.live_outs import copy_live_outs

LOOP = """define void @f({type} %start, {type} %other, i64 %n, ptr %p) {{
entry:
  br label %turn

turn:
  %k = phi i64 [ 0, %entry ], [ %next, %turn ]
  %value = phi {type} [ %start, %entry ], [ %other, %turn ]
  store {type} %value, ptr %p, align 8
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %turn, label %end

end:
  {use}
  ret void
}}
"""


@pytest.mark.parametrize("type_", ["i1", "i8", "i64", "half", "float", "double", "ptr", "ptr addrspace(1)"])
def test_variable_that_is_used_behind_its_loop_is_copied_in_it(type_):
    text = run_pass(copy_live_outs, LOOP.format(type=type_, use=f"store {type_} %value, ptr %p, align 8"))
    llvm.parse_assembly(text).verify()
    body, end = text.split("\nturn:\n")[1].split("\nend:\n")
    assert f"store {type_} %value, ptr %p" in body
    assert "%value" not in end
    copy = end.split(f"store {type_} ")[1].split(",")[0]
    assert f"  {copy}.before = phi {type_} [ %start, %entry ], [ {copy}, %turn ]" in body
    assert f"  {copy} = " in body


@pytest.mark.parametrize("use", ["", "store i64 %next, ptr %p, align 8"], ids=["nothing", "the next value"])
def test_other_values_stay_as_they_are(use):
    text = LOOP.format(type="double", use=use)
    assert run_pass(copy_live_outs, text) == str(parse_module(text))


def test_optimiser_leaves_the_copy_in_its_loop():
    text = run_pass(copy_live_outs, LOOP.format(type="double", use="store double %value, ptr %p, align 8"))
    module = llvm.parse_assembly(text)
    llvm.initialize_native_target()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    end = str(module).split("\nend:")[1]
    assert "xor" not in end
    assert "%kapi.copy" in end
