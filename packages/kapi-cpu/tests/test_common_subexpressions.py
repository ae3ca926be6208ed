"""Equal instructions of which one dominates the other."""

from kapi_cpu.emission.common_subexpressions import merge_common_subexpressions
from kapi_lowering.emission.pipeline import run_pass


def test_an_equal_instruction_that_dominates_gives_the_result():
    text = """
define i64 @f(i64 %a, i64 %b, i1 %c) {
entry:
  %x = srem i64 %a, %b
  br i1 %c, label %left, label %right
left:
  %y = srem i64 %a, %b
  %l = add i64 %y, 1
  %m = mul i64 %a, %a
  br label %end
right:
  %r = add i64 %x, 1
  %n = mul i64 %a, %a
  br label %end
end:
  %p = phi i64 [ %l, %left ], [ %r, %right ]
  %q = phi i64 [ %m, %left ], [ %n, %right ]
  %s = add i64 %p, %q
  %t = add nsw i64 %p, %q
  %u = sub i64 %s, %t
  ret i64 %u
}
"""
    found = run_pass(merge_common_subexpressions, text)
    assert found.count("srem") == 1
    assert found.count("mul i64") == 2  # of two paths
    assert found.count(" 1\n") == 2
    assert found.count("add nsw") == 1  # which may be poison where the other is a number


def test_what_a_barrier_would_keep_is_computed_again():
    text = """
declare void @kapi.barrier.0.work_group()
define void @f(i64 %a, ptr %p) {
  %x = mul i64 %a, %a
  store i64 %x, ptr %p
  call void @kapi.barrier.0.work_group()
  %y = mul i64 %a, %a
  store i64 %y, ptr %p
  ret void
}
"""
    assert run_pass(merge_common_subexpressions, text).count("mul i64") == 2
