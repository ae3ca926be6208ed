"""The vectorizer's work grows as a kernel does, not faster: counted in lines of Python, which no clock disturbs."""

import sys

import pytest

from kapi_cpu.emission.groups.assembly import assemble_groups
from kapi_lowering.emission.llvm_ir import parse_module

HEAD = """
declare i64 @kapi.query.global_id(i32)
declare i64 @kapi.query.group_id(i32)

define void @k(ptr %packed) {
start:
  %b = load ptr, ptr %packed
  %i = call i64 @kapi.query.global_id(i32 0)
  %n = call i64 @kapi.query.QUERY(i32 0)
  %at = getelementptr float, ptr %b, i64 %i
  br label %s0
"""
BRANCH = """
s{0}:
  %x{0} = load float, ptr %at
  %c{0} = fcmp ogt float %x{0}, 1.0
  br i1 %c{0}, label %t{0}, label %s{1}

t{0}:
  %y{0} = fadd float %x{0}, 2.0
  store float %y{0}, ptr %at
  br label %s{1}
"""
LOOP = """
s{0}:
  br label %h{0}

h{0}:
  %k{0} = phi i64 [ 0, %s{0} ], [ %l{0}, %h{0} ]
  %x{0} = load float, ptr %at
  %y{0} = fadd float %x{0}, 2.0
  store float %y{0}, ptr %at
  %l{0} = add i64 %k{0}, 1
  %c{0} = icmp slt i64 %l{0}, %n
  br i1 %c{0}, label %h{0}, label %s{1}
"""


def lines_of(part, query, count):
    """Lines of Python that the vectorizer executes for a kernel that has a part so many times."""
    body = "".join(part.format(number, number + 1) for number in range(count))
    module = parse_module(f"{HEAD.replace('QUERY', query)}{body}\ns{count}:\n  ret void\n}}\n")
    options = {"entry_point": "k", "vector_bits": 256, "lanes": 8, "has_fast_gathers": False}
    lines = 0

    def count_line(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return count_line

    before = sys.gettrace()
    sys.settrace(count_line)
    try:
        assemble_groups.with_options(**options)(module)
    finally:
        sys.settrace(before)
    return lines


@pytest.mark.parametrize(
    ("part", "query"),
    [(BRANCH, "group_id"), (LOOP, "group_id"), (LOOP, "global_id")],
    ids=["branches", "loops", "loops that lanes leave apart"],
)
def test_twice_the_kernel_is_twice_the_work(part, query):
    lines_of(part, query, 1)  # what is computed once
    assert lines_of(part, query, 80) < 2.05 * lines_of(part, query, 40)
