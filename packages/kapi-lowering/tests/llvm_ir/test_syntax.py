"""Each kind of instruction, with each of its flags, by a grammar of them: it is understood, and printed as it was."""

from __future__ import annotations

import itertools
import re

import pytest

from kapi_lowering.emission.llvm_ir import OPAQUE, VOID, ConstantValue, parse_module, parse_type
from llvm_ir.checks import check_round_trip, one, printed_by_llvm

INTEGERS = ("i1", "i8", "i32", "i64", "i128", "i5", "<4 x i16>", "<vscale x 2 x i32>")
FLOATS = ("half", "bfloat", "float", "double", "fp128", "<2 x float>")
POINTERS = ("ptr", "ptr addrspace(1)", "<2 x ptr>")
AGGREGATES = ("{ i64, { ptr, i8 } }", "[4 x i32]", "<{ i8, i32 }>", "[2 x { i64, double }]")
FAST = ("", "nnan ", "contract afn ", "fast ", "reassoc nsz ")
LABELS = "\nnext:\n  ret void\nother:\n  ret void"


def values(type_):
    """Text of operands of a type: parameters, and constants of all kinds."""
    found = [f'%"{type_}"', "poison", "undef"]
    scalar = type_.split(" x ")[-1].rstrip(">")
    if type_ in INTEGERS:
        number = "true" if scalar == "i1" else "-7"
        found += [number] if scalar == type_ else [f"splat ({scalar} {number})", "zeroinitializer"]
    elif type_ in FLOATS:
        number = {"half": "0xH3C00", "bfloat": "0xR3F80", "fp128": "0xL00000000000000003FFF000000000000"}
        number = number.get(scalar, "-1.500000e+00")
        found += [number] if scalar == type_ else [f"<float {number}, float %s>" % "0x7FF8000000000000"]
    elif type_ == "ptr":
        found += ["null", "@variable", "getelementptr inbounds ([4 x i32], ptr @variable, i64 0, i64 2)"]
    else:
        found += ["zeroinitializer" if " x " in type_ or type_[0] in "{<[" else "null"]
    return found


def binaries():
    words = {
        "add sub mul shl": ("", "nuw ", "nsw ", "nuw nsw "),
        "udiv sdiv lshr ashr": ("", "exact "),
        "urem srem and xor": ("",),
        "or": ("", "disjoint "),
    }
    for names, flags in words.items():
        for name, flag, type_ in itertools.product(names.split(), flags, INTEGERS):
            for other in values(type_):
                yield f"{name} {flag}{type_} %x, {other}", type_, [type_, type_]
    for name, flag, type_ in itertools.product("fadd fsub fmul fdiv frem".split(), FAST, FLOATS):
        for other in values(type_):
            yield f"{name} {flag}{type_} {other}, {values(type_)[0]}", type_, [type_, type_]


def comparisons():
    for word, type_ in itertools.product("eq ne ugt uge ult ule sgt sge slt sle".split(), (*INTEGERS, *POINTERS)):
        result = str(parse_type(type_).with_scalar(parse_type("i1")))
        for flag in ("", "samesign "):
            yield f"icmp {flag}{word} {type_} %x, {values(type_)[-1]}", result, [type_, type_]
    for word, type_, flag in itertools.product("oeq ogt ole one ord ueq ugt une uno true".split(), FLOATS, FAST):
        result = str(parse_type(type_).with_scalar(parse_type("i1")))
        yield f"fcmp {flag}{word} {type_} %x, {values(type_)[-1]}", result, [type_, type_]


def casts():
    for flag, (name, one_, other) in itertools.product(
        ("",),
        [
            *(("trunc", "i64", each) for each in ("i1", "i8", "i5")),
            ("trunc", "<2 x i64>", "<2 x i32>"),
            ("trunc nuw nsw", "i64", "i32"),
            ("zext", "i8", "i64"),
            ("zext nneg", "<2 x i8>", "<2 x i64>"),
            ("sext", "i1", "i32"),
            ("fptrunc", "double", "half"),
            ("fptrunc contract", "double", "float"),
            ("fpext", "half", "<>".strip("<>") or "double"),
            ("fptoui", "float", "i64"),
            ("fptosi", "<2 x float>", "<2 x i32>"),
            ("uitofp", "i64", "float"),
            ("uitofp nneg", "i64", "float"),
            ("sitofp", "i1", "double"),
            ("ptrtoint", "ptr", "i64"),
            ("inttoptr", "i64", "ptr addrspace(1)"),
            ("bitcast", "double", "i64"),
            ("bitcast", "<2 x i16>", "i32"),
            ("addrspacecast", "ptr addrspace(1)", "ptr"),
        ],
    ):
        yield f"{name}{flag} {one_} %x to {other}", other, [one_]


def memory():
    for type_, pointer in itertools.product(("i8", "float", "<4 x i32>", "ptr", "{ i64, i64 }"), POINTERS[:2]):
        for word, tail in (("", ""), ("volatile ", ""), ("", ", align 4")):
            yield f"load {word}{type_}, {pointer} %p{tail}", type_, [pointer]
            yield f"store {word}{type_} %x, {pointer} %p{tail}", "void", [type_, pointer]
            yield f"store {word}{type_} poison, {pointer} %p{tail}", "void", [type_, pointer]
    for order, scope in itertools.product(("monotonic", "acquire", "seq_cst"), ("", 'syncscope("workgroup") ')):
        yield f"load atomic i32, ptr %p {scope}{order}, align 4", "i32", ["ptr"]
        if order != "acquire":
            yield f"store atomic volatile i32 5, ptr %p {scope}{order}, align 4", "void", ["i32", "ptr"]
        else:
            yield f"fence {scope}{order}", "void", []
        for word in "xchg add sub and nand or xor max min umax umin uinc_wrap usub_sat".split():
            yield f"atomicrmw {word} ptr %p, i32 %x {scope}{order}, align 4", "i32", ["ptr", "i32"]
        yield f"cmpxchg ptr %p, i32 %x, i32 7 {scope}{order} monotonic, align 4", "{ i32, i1 }", ["ptr", "i32", "i32"]
        yield (
            f"cmpxchg weak volatile ptr %p, i32 %x, i32 7 {scope}{order} monotonic, align 4",
            "{ i32, i1 }",
            ["ptr", "i32", "i32"],
        )
    for word in "fadd fsub fmax fmin".split():
        yield f"atomicrmw volatile {word} ptr %p, float %x monotonic, align 4", "float", ["ptr", "float"]
    for flag, pointer in itertools.product(("", "inbounds ", "nuw ", "nusw nuw ", "inbounds nuw "), POINTERS[:2]):
        yield f"getelementptr {flag}i8, {pointer} %p, i64 %n", pointer, [pointer, "i64"]
        yield f"getelementptr {flag}{{ i64, [4 x i8] }}, {pointer} %p, i64 %n, i32 1", pointer, [pointer, "i64", "i32"]
    yield "getelementptr float, ptr %p, <2 x i64> %x", "<2 x ptr>", ["ptr", "<2 x i64>"]
    yield "getelementptr i8, ptr @variable, i64 %n", "ptr", ["ptr", "i64"]
    for tail in ("", ", align 16", ", i64 4", ", i32 %x, align 8"):
        yield f"alloca i32{tail}", "ptr", ["i32" if "%x" in tail else "i64"] * (", i" in tail)
    yield "alloca [4 x float], align 4, addrspace(5)", "ptr addrspace(5)", []


def others():
    for type_ in (*INTEGERS, *FLOATS, *POINTERS, *AGGREGATES):
        yield f"freeze {type_} %x", type_, [type_]
        for other in values(type_):
            yield f"select i1 %c, {type_} %x, {type_} {other}", type_, ["i1", type_, type_]
    for type_, flag in itertools.product(FLOATS, FAST):
        yield f"fneg {flag}{type_} %x", type_, [type_]
        yield f"select {flag}i1 true, {type_} %x, {type_} %x", type_, ["i1", type_, type_]
    yield "extractvalue { i64, { ptr, i8 } } %x, 1, 0", "ptr", ["{ i64, { ptr, i8 } }"]
    yield "extractvalue [2 x { i64, double }] %x, 1, 1", "double", ["[2 x { i64, double }]"]
    yield "insertvalue { i64, { ptr, i8 } } poison, i8 %x, 1, 1", "{ i64, { ptr, i8 } }", ["{ i64, { ptr, i8 } }", "i8"]
    yield "extractelement <4 x i16> %x, i64 %n", "i16", ["<4 x i16>", "i64"]
    yield "insertelement <2 x float> %x, float 0.0, i32 1", "<2 x float>", ["<2 x float>", "float", "i32"]
    yield (
        "shufflevector <2 x float> %x, <2 x float> poison, <4 x i32> <i32 0, i32 1, i32 poison, i32 0>",
        "<4 x float>",
        ["<2 x float>", "<2 x float>", "<4 x i32>"],
    )
    yield (
        "shufflevector <2 x float> %x, <2 x float> %x, <2 x i32> zeroinitializer",
        "<2 x float>",
        ["<2 x float>", "<2 x float>", "<2 x i32>"],
    )


def calls():
    yield "call void @nothing()", "void", ["ptr"]
    yield "call spir_func i64 @of_kernels(i32 0)", "i64", ["ptr", "i32"]
    yield "call cc 10 i64 @number_ten(i32 %x)", "i64", ["ptr", "i32"]
    yield "musttail call void @nothing() #1", "void", ["ptr"]
    yield "tail call fast float @llvm.sqrt.f32(float %x)", "float", ["ptr", "float"]
    yield (
        "call nnan <2 x float> @llvm.fma.v2f32(<2 x float> %x, <2 x float> %x, <2 x float> zeroinitializer)",
        ("<2 x float>"),
        ["ptr", *["<2 x float>"] * 3],
    )
    yield (
        "call noundef range(i32 0, 5) i32 @plain(i32 noundef signext 5, ptr nonnull align 8 @variable)",
        ("i32"),
        ["ptr", "i32", "ptr"],
    )
    yield (
        "call i32 @by_value(ptr byval({ i64, ptr }) align 8 @variable, ptr sret(i32) null)",
        "i32",
        ["ptr", "ptr", "ptr"],
    )
    yield (
        "call i32 (ptr, ...) @printf(ptr @variable, i32 %x, double 1.000000e+00)",
        "i32",
        [
            "ptr",
            "ptr",
            "i32",
            "double",
        ],
    )
    yield 'call i32 %"ptr"(i32 %x)', "i32", ["ptr", "i32"]
    yield 'call i32 @"odd name, (of)"(i32 %x) nounwind memory(none)', "i32", ["ptr", "i32"]
    yield 'call i64 asm "mul.wide.u32 $0, $1, $2;", "=l,r,r"(i32 %x, i32 5)', "i64", ["ptr", "i32", "i32"]
    yield 'call i32 asm sideeffect "mov.u32 $0, %laneid; // %x, !p", "=r"()', "i32", ["ptr"]
    yield (
        'call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 8), "nonnull"(ptr %p) ]',
        "void",
        [*("ptr", "i1", "ptr", "i64", "ptr")],
    )
    yield (
        "call void @llvm.memset.p0.i64(ptr align 8 @variable, i8 0, i64 %n, i1 immarg false)".replace("immarg ", ""),
        ("void"),
        ["ptr", "ptr", "i8", "i64", "i1"],
    )


def ends():
    yield "br label %next", "void", ["label"]
    yield "br i1 %c, label %next, label %other", "void", ["i1", "label", "label"]
    yield (
        "switch i32 %x, label %next [\n    i32 1, label %other\n    i32 -2, label %next\n  ]",
        "void",
        [
            "i32",
            "label",
            *["i32", "label"] * 2,
        ],
    )
    yield "switch i64 %n, label %next [\n  ]", "void", ["i64", "label"]
    yield "ret void", "void", []
    yield "unreachable", "void", []
    yield "indirectbr ptr %p, [label %next, label %other]", None, None


DECLARED = """
@variable = internal addrspace(0) global [4 x i32] zeroinitializer
declare void @nothing()
declare spir_func i64 @of_kernels(i32)
declare cc 10 i64 @number_ten(i32)
declare float @llvm.sqrt.f32(float)
declare <2 x float> @llvm.fma.v2f32(<2 x float>, <2 x float>, <2 x float>)
declare i32 @plain(i32, ptr)
declare i32 @by_value(ptr, ptr)
declare i32 @printf(ptr, ...)
declare i32 @"odd name, (of)"(i32)
declare void @llvm.assume(i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
attributes #1 = { nounwind }
"""


def type_before(code, offset):
    """The type that ends in front of an offset."""
    return next(code[at : offset - 1] for at in range(offset) if is_type(code[at : offset - 1]))


def is_type(text):
    try:
        return str(parse_type(text)) == text and text not in ("void", "label")
    except ValueError:
        return False


def module_of(code):
    """A module of an instruction, whose operands are parameters that have their types for names."""
    code = re.sub(r"(?<!/ )%[xpnc]\b", lambda found: f'%"{type_before(code, found.start())}"', code)
    given = ", ".join(f'{type_} %"{type_}"' for type_ in dict.fromkeys(re.findall('%"([^"]*)"', code)))
    is_end = code.startswith(("br", "switch", "ret", "unreachable", "indirectbr"))
    is_void = is_end or code.startswith(("store", "fence")) or re.match("(?:musttail )?call void", code)
    line = code if is_void else f"%result = {code}"
    return f"{DECLARED}define void @f({given}) {{\nentry:\n  {line}\n{LABELS if is_end else '  ret void'}\n}}\n"


FORMS = [*binaries(), *comparisons(), *casts(), *memory(), *others(), *calls(), *ends()]
FAMILIES = [binaries, comparisons, casts, memory, others, calls, ends]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_forms_are_understood_and_printed_as_they_were(family):
    for code, type_, operand_types in family():
        text = printed_by_llvm(module_of(code))
        module = check_round_trip(text)
        (function,) = module.definitions
        instruction = function.entry.instructions[0]
        if type_ is None:  # kept as it is written
            assert instruction.type in (OPAQUE, VOID)
            continue
        form = instruction.form
        assert (str(form.type), [*map(str, form.operand_types)]) == (type_, operand_types), code
        words = [each for each in code.split() if each not in ("tail", "musttail")]
        assert form.opcode == words[0]


def test_grammar_is_not_empty():
    assert len(FORMS) > 900


ODD = """%pair = type { i32, ptr }
@names = global [2 x ptr] [ptr @"odd \\22 name", ptr null]
@alias = alias i32, ptr @number
@number = global i32 5, align 4, !note !2
declare void @"odd \\22 name"(ptr)
define internal fastcc noundef range(i32 0, 9) i32 @f(ptr byval({ i64, ptr }) %0, %pair %1, i32 %"a b") #0 !kind !0 {
  %3 = extractvalue %pair %1, 0
  %4 = alloca %pair, align 8
  br label %5

5:
  %6 = phi i32 [ 0, %2 ], [ %"x y", %5 ]
  %"x y" = add i32 %6, %"a b", !note !{i32 1}
  %7 = icmp slt i32 %"x y", %3
  br i1 %7, label %5, label %"the end", !prof !1, !llvm.loop !2

"the end":
  %8 = getelementptr %pair, ptr %4, i64 0, i32 1
  call void @"odd \\22 name"(ptr %8), !note !2
  ret i32 %6
}
attributes #0 = { nounwind "key"="a value, with } and !0" }
!named = !{!0, !1}
!0 = !{!"text, with ) and }", i32 5}
!1 = !{!"branch_weights", i32 99, i32 1}
!2 = distinct !{!2}
"""


def test_odd_names_types_and_metadata_are_kept():
    module, function = one(ODD.replace("!note !{i32 1}", "!note !0"))
    assert function.name == "f"
    assert str(function.result) == "i32"
    assert function.words[:2] == ["internal", "fastcc"]
    assert [str(each.type) for each in function.parameters] == ["ptr", "%pair", "i32"]
    assert "nounwind" in function.attributes
    assert module.types == {"%pair": "type { i32, ptr }"}
    assert set(module.globals) == {"@names", "@alias", "@number"}
    assert "distinct !{!0}" in module.metadata.values()
    branch = function.blocks[1].terminator
    assert (branch.attachment("prof"), branch.attachment("llvm.loop")) == ("!2", "!0")
    branch.attach("prof", None)
    assert branch.metadata == ", !llvm.loop !0"
    call = function.blocks[2].instructions[1]
    assert call.metadata == ", !note !0"
    assert call.callee == "odd \\22 name"


def test_unknown_syntax_is_kept_with_the_values_in_it():
    text = "define void @f(i32 %x, ptr %p) {\nentry:\n  %y = newfangled i32 %x [ %p, 5 ], !note !7\n  ret void\n}\n"
    module = parse_module(text)
    (function,) = module.definitions
    instruction = function.entry.instructions[0]
    assert instruction.type is OPAQUE
    assert instruction.operands == function.parameters
    assert "  %y = newfangled i32 %x [ %p, 5 ], !note !7\n" in str(module)
    function.parameters[0].replace_all_uses_with(function.parameters[1])
    assert "  %y = newfangled i32 %p [ %p, 5 ], !note !7\n" in str(module)


def test_records_of_debug_information_are_kept():
    text = """define void @f(i32 %x) !dbg !3 {
entry:
    #dbg_value(i32 %x, !4, !DIExpression(), !5)
  %y = add i32 %x, 1, !dbg !5
  ret void, !dbg !5
}
!llvm.module.flags = !{!6}
!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)
!1 = !DIFile(filename: "a.py", directory: "/")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocalVariable(name: "x", scope: !3)
!5 = !DILocation(line: 2, scope: !3)
!6 = !{i32 2, !"Debug Info Version", i32 3}
"""
    _, function = one(text)
    record, addition, _ = function.entry.instructions
    assert record.operands == function.parameters
    assert addition.attachment("dbg") == "!5" or addition.metadata.startswith(", !dbg !")


def test_constants_are_one_object_each():
    _, function = one("define i64 @f(i64 %x) {\n  %y = add i64 %x, 7\n  %z = mul i64 %y, 7\n  ret i64 -3\n}")
    add, mul, end = function.entry.instructions
    assert add.operands[1] is mul.operands[1]
    assert isinstance(add.operands[1], ConstantValue)
    assert (add.operands[1].integer, end.operands[0].integer, mul.operands[0].integer) == (7, -3, None)
