"""Conditions that are kept in loops, by the IR that comes out."""

from __future__ import annotations

import pytest

from kapi_lowering.emission.llvm_ir import parse_module
from kapi_lowering.emission.pipeline import run_pass
from kapi_spirv.emission.workarounds.unswitching import prevent_loop_unswitching

LOOP = """define void @f(i1 %parts, i64 %n, ptr %p) {{
entry:
  %id = call spir_func i64 @_Z13get_global_idj(i32 0)
  %fixed = icmp eq i64 %id, 1
  br label %turn

turn:
  %k = phi i64 [ 0, %entry ], [ %next, %turn ]
  %changes = icmp ugt i64 %k, 1
  {line}
  %step = select i1 %both, i64 1, i64 2
  %next = add i64 %k, %step
  %more = icmp ult i64 %next, %n
  br i1 %more, label %turn, label %end

end:
  ret void
}}
"""


@pytest.mark.parametrize("end", ["", ", !prof !2"])
@pytest.mark.parametrize(
    "operation",
    [
        "and i1 %fixed, %changes",
        "or i1 %changes, %fixed",
        "xor i1 %changes, %fixed",
        "select i1 %fixed, i1 %changes, i1 false",
        "select i1 %changes, i1 %fixed, i1 false",
        "select i1 %changes, i1 true, i1 %fixed",
    ],
)
def test_part_of_a_condition_is_kept_in_its_loop(operation, end):
    text = run_pass(prevent_loop_unswitching, LOOP.format(line=f"%both = {operation}{end}"))
    made = next(line for line in text.splitlines() if line.startswith("  %both = "))
    assert "%fixed" not in made
    assert "%changes" in made
    assert made.endswith(end)
    assert text.count("= xor i1 %fixed, ") == 1


PATHS = """define void @f(i1 %more, ptr %p) {{
entry:
  %id = call spir_func i64 @_Z13get_global_idj(i32 0)
  %parts = icmp eq i64 %id, 1
  br i1 %parts, label %one, label %other

one:
  br i1 %more, label %one, label %met

other:
  br i1 %more, label %{back}, label %met

met:
  %behind = phi i64 [ 1, %one ], [ 2, %other ]
  br i1 %parts, label %first, label %second

first:
  br label %last

second:
  br label %last

last:
  %plain = phi i64 [ 3, %first ], [ 4, %second ]
  ret void
}}
"""


def test_values_that_join_behind_loops_are_each_work_items_own():
    text = run_pass(prevent_loop_unswitching, PATHS.format(back="other"))
    assert "%behind = phi i64 [ %kapi.kept," in text
    assert "%plain = phi i64 [ 3, %first ], [ 4, %second ]" in text


def test_values_that_join_without_loops_are_left_alone():
    text = PATHS.format(back="met")
    assert run_pass(prevent_loop_unswitching, text) == str(parse_module(text))
