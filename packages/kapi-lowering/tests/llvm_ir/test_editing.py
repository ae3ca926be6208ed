"""Changes of modules: uses are kept, names stay apart, and LLVM accepts what comes of it."""

from __future__ import annotations

import pytest

from kapi_lowering.emission.llvm_ir import (
    I32,
    I64,
    Builder,
    ControlFlow,
    clone_blocks,
    clone_function,
    constant,
    declare,
    erase_unused,
    parse_module,
    parse_type,
    split_before,
)
from llvm_ir.checks import check_round_trip, check_uses, one, printed_by_llvm

LOOP = """define i32 @f(i32 %n, ptr %p) {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %total, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %x = load i32, ptr %at, align 4, !range !0
  %total = add nsw i32 %sum, %x
  %next = add nuw nsw i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  %result = phi i32 [ 0, %entry ], [ %total, %loop ]
  ret i32 %result
}
!0 = !{i32 0, i32 100}
"""


def made(function, name):
    return next(each for each in function.instructions() if each.name == name)


def changed(module):
    """The text of a changed module, which LLVM must accept."""
    check_uses(module)
    text = printed_by_llvm(str(module))
    check_round_trip(text)
    return text


def test_builder_inserts_in_order_with_names_of_their_own():
    module, function = one(LOOP)
    builder = Builder.before(made(function, "total"), prefix="x")
    twice = builder.emit("shl nsw i32 ?, 1", made(function, "x"), name="")
    sum_ = builder.emit("add i32 ?, ?", twice, 7, name=".sum", metadata=", !note !0")
    unnamed = builder.emit("xor i32 ?, ?", sum_, function.parameters[0])
    made(function, "total").replace_operand(made(function, "x"), unnamed)
    text = changed(module)
    block = function.blocks[1]
    assert [each.opcode for each in block.instructions[3:8]] == ["load", "shl", "add", "xor", "add"]
    assert (twice.name, sum_.name, unnamed.name) == ("x.1", "x.sum", None)
    assert "%x.1 = shl nsw i32 %x, 1" in text
    assert "%x.sum = add i32 %x.1, 7, !note !" in text
    assert sum_.operands[1] is constant(I32, 7)


def test_values_without_names_are_numbered_anew():
    module, function = one("define i64 @f(i64 %0) {\n  %2 = add i64 %0, 1\n  ret i64 %2\n}")
    (add,) = function.parameters[0].users
    square = Builder.before(add).emit("mul i64 ?, ?", function.parameters[0], function.parameters[0])
    add.set_operand(0, square)
    assert "  %2 = mul i64 %0, %0\n  %3 = add i64 %2, 1\n  ret i64 %3" in changed(module)


def test_rewriting_keeps_name_position_metadata_and_users():
    module, function = one(LOOP)
    load = made(function, "x")
    (user,) = load.users
    load.rewrite("load atomic i32, ptr ? monotonic, align 4", function.parameters[1])
    assert load.metadata == ", !range !0"
    assert load.users == [user]
    assert not made(function, "at").users
    erase_unused(made(function, "at"))
    assert "getelementptr" not in changed(module)


def test_operands_are_exchanged_everywhere():
    module, function = one(LOOP)
    total = made(function, "total")
    other = Builder.after(total).emit("sub i32 0, ?", total, name="negative")
    total.replace_all_uses_with(other, but=[other])
    assert total.users == [other]
    assert len(other.users) == 2
    text = changed(module)
    assert "%sum = phi i32 [ 0, %entry ], [ %negative, %loop ]" in text
    phi = made(function, "result")
    phi.set_incoming(function.entry, constant(I32, 5))
    assert phi.incoming_from(function.entry).integer == 5
    assert [block.name for _, block in phi.incoming] == ["entry", "loop"]


def test_block_is_split_in_two():
    module, function = one(LOOP)
    loop = function.blocks[1]
    rest = split_before(made(function, "total"), "rest")
    Builder(loop).emit("br label ?", rest)
    assert rest.predecessors == [loop]
    assert "%i = phi i32 [ 0, %entry ], [ %next, %rest ]" in changed(module)
    (found,) = ControlFlow(function).loops
    assert {each.name for each in found.blocks} == {"loop", "rest"}
    assert found.latch is rest


def test_region_is_copied_with_its_own_values():
    module, function = one(LOOP)
    loop, end = function.blocks[1:]
    values = {}
    (copy,) = clone_blocks([loop], values, before=end, suffix="copy")
    function.entry.terminator.set_operand(1, copy)
    for phi in loop.phis:
        phi.rewrite("phi i32 [ 0, ? ], [ ?, ? ]", copy, phi.incoming_from(loop), loop)
    copy.terminator.set_operand(2, loop)
    result = made(function, "result")
    assert [each.name for each in copy.phis] == ["i.copy", "sum.copy"]
    assert copy.phis[0].incoming_from(copy) is values[made(function, "next")]
    assert result.incoming_from(loop) is made(function, "total")
    assert "%next.copy = add nuw nsw i32 %i.copy, 1" in changed(module)


def test_function_is_copied_with_the_same_names():
    module, function = one(LOOP)
    copy = clone_function(function, "g")
    assert str(copy).replace("@g", "@f") == str(function)
    assert "define i32 @g(i32 %n, ptr %p)" in changed(module)
    made(copy, "total").rewrite("sub i32 ?, ?", made(copy, "sum"), made(copy, "x"))
    assert "sub i32" not in str(function)


def test_declarations_are_added_once():
    module, function = one(LOOP)
    for _ in range(2):
        declare(function, "spir_func i64 @_Z6mul_himm(i64, i64) nounwind memory(none)")
    n = Builder.before(function.entry.terminator).emit("sext i32 ? to i64", function.parameters[0])
    call = Builder.before(function.entry.terminator).call("spir_func i64 @_Z6mul_himm", n, n, name="upper")
    assert (call.callee, call.arguments, call.type) == ("_Z6mul_himm", [n, n], I64)
    assert changed(module).count("declare spir_func i64 @_Z6mul_himm(i64, i64)") == 1


def test_metadata_is_added_with_numbers_of_its_own():
    module, function = one(LOOP)
    domain = module.add_metadata("distinct !{{}}")
    scope = module.add_metadata(f"distinct !{{{{}}, {domain}}}")
    made(function, "x").attach("alias.scope", module.add_metadata(f"!{{{scope}}}"))
    assert module.metadata[1] == "distinct !{!1}"
    assert "!alias.scope !" in changed(module)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("half", 1.0, "0xH3C00"),
        ("half", -2.5, "0xHC100"),
        ("float", -1.0, "-1.000000e+00"),
        ("double", 0.1, "1.000000e-01"),
        ("double", 1 / 3, "0x3FD5555555555555"),
        ("i1", True, "true"),
        ("i8", -5, "-5"),
    ],
)
def test_constants_are_written_exactly(type_, value, text):
    type_ = parse_type(type_)
    assert constant(type_, value).ref == text
    check_round_trip(printed_by_llvm(f"define {type_} @f() {{\n  ret {constant(type_, value)}\n}}"))


def test_blocks_and_instructions_are_erased():
    module = parse_module(printed_by_llvm(LOOP))
    (function,) = module.definitions
    loop, end = function.blocks[1:]
    function.entry.terminator.rewrite("br label ?", end)
    made(function, "result").rewrite("phi i32 [ 0, ? ]", function.entry)
    loop.erase()
    assert function.blocks == [function.entry, end]
    assert "%total" not in changed(module)
