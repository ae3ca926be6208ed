"""Small LLVM functions over bools and integers of all widths: what LLVM's SPIR-V back end may be given.

Each case is the body of a function of two 64-bit integers, `%x` and `%y`, that gives the 64-bit integer `%r`. None
has an undefined result for any operands. The widths that SPIR-V lacks are here as well: LLVM's passes invent them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["NARROW_WIDTHS", "ODD_WIDTHS", "Case", "cases"]

NARROW_WIDTHS = (1, 8, 16, 32, 64)
ODD_WIDTHS = (2, 3, 4, 7, 9, 12, 15, 17, 24, 31, 33, 48, 63, 65, 128)
_FLOATS = {"half": 16, "float": 32, "double": 64}
_PREDICATES = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")


@dataclass(frozen=True, slots=True)
class Case:
    """One function: a name for reports, its body, and the declarations that it needs."""

    name: str
    body: str
    declarations: tuple[str, ...] = ()


def cases(width: int) -> Iterator[Case]:
    """All cases over integers of `width` bits, and over vectors of them."""
    type_ = f"i{width}"
    yield from _instructions(type_, width)
    yield from _conversions(type_, width)
    yield from _intrinsics(type_, width)
    yield from _control_flow(type_, width)
    yield from _memory(type_, width)
    for lanes in (2, 4):
        yield from _vectors(type_, width, lanes)


def _from_64(name: str, source: str, type_: str, width: int) -> str:
    if width == 64:
        return f"%{name} = or i64 {source}, 0"
    return f"%{name} = {'trunc' if width < 64 else 'sext'} i64 {source} to {type_}"


def _to_64(name: str, value: str, type_: str, width: int, how: str = "zext") -> str:
    if width == 64:
        return f"%{name} = or i64 {value}, 0"
    return f"%{name} = {how if width < 64 else 'trunc'} {type_} {value} to i64"


def _bits_of(name: str, value: str, real: str) -> str:
    """Code that names the bits of a float; those of half as a float, which a host can compute in."""
    if real == "half":
        return f"%{name}.f = fpext half {value} to float\n%{name} = bitcast float %{name}.f to i32"
    return f"%{name} = bitcast {real} {value} to i{_FLOATS[real]}"


def _operands(type_: str, width: int) -> str:
    return "\n".join((_from_64("a", "%x", type_, width), _from_64("b", "%y", type_, width)))


def _case(name: str, type_: str, width: int, body: str, value: str = "%v", *declarations: str) -> Case:
    code = "\n".join((_operands(type_, width), body, _to_64("r", value, type_, width)))
    return Case(f"{name} {type_}", code, declarations)


def _instructions(type_: str, width: int) -> Iterator[Case]:
    for name in ("add", "sub", "mul", "and", "or", "xor"):
        yield _case(name, type_, width, f"%v = {name} {type_} %a, %b")
    for name in ("shl", "lshr", "ashr"):
        amount = f"%s = urem {type_} %b, {width}" if width > 1 else "%s = and i1 %b, false"
        yield _case(name, type_, width, f"{amount}\n%v = {name} {type_} %a, %s")
    for name in ("udiv", "urem"):
        yield _case(name, type_, width, f"%d = or {type_} %b, 1\n%v = {name} {type_} %a, %d")
    if width > 1:
        # Neither 0 nor -1.
        for name in ("sdiv", "srem"):
            yield _case(name, type_, width, f"%c = and {type_} %b, {2 ** (width - 1) - 1}\n"
                        f"%d = or {type_} %c, 1\n%v = {name} {type_} %a, %d")  # fmt: skip
    for predicate in _PREDICATES:
        body = f"{_operands(type_, width)}\n%c = icmp {predicate} {type_} %a, %b\n%r = select i1 %c, i64 7, i64 5"
        yield Case(f"icmp {predicate} {type_}", body)
        for constant in (0, -1):
            right = {0: "0", -1: "-1"}[constant]
            yield Case(f"icmp {predicate} {type_} {right}", f"{_operands(type_, width)}\n"
                       f"%c = icmp {predicate} {type_} %a, {right}\n%r = zext i1 %c to i64")  # fmt: skip
    yield _case("select", type_, width, f"%c = icmp slt i64 %x, %y\n%v = select i1 %c, {type_} %a, {type_} %b")
    for left, right in ((-1, 0), (0, -1), (1, 0), (-1, 1)) if width > 1 else ():
        yield _case(f"select {left} {right}", type_, width,
                    f"%c = icmp slt i64 %x, %y\n%v = select i1 %c, {type_} {left}, {type_} {right}")  # fmt: skip
    yield _case("select own", type_, width, f"%c = trunc i64 %y to i1\n%v = select i1 %c, {type_} %a, {type_} -1")
    yield _case("freeze", type_, width, f"%v = freeze {type_} %a")
    yield _case("not", type_, width, f"%v = xor {type_} %a, -1")
    yield _case("neg", type_, width, f"%v = sub {type_} 0, %a")
    yield _case("add -1", type_, width, f"%v = add {type_} %a, -1")
    yield _case("mul -1", type_, width, f"%v = mul {type_} %a, -1")
    yield _case("sub from -1", type_, width, f"%v = sub {type_} -1, %a")
    yield _case("bitcast", type_, width, f"%w = bitcast {type_} %a to {type_}\n%v = xor {type_} %w, %b")


def _conversions(type_: str, width: int) -> Iterator[Case]:
    operands = _operands(type_, width)
    for how in ("sext", "zext"):
        for wide in (8, 16, 32, 64):
            if wide > width:
                yield Case(f"{how} {type_} to i{wide}", "\n".join((operands, f"%v = {how} {type_} %a to i{wide}",
                           _to_64("r", "%v", f"i{wide}", wide, "sext"))))  # fmt: skip
                yield Case(f"{how} of a comparison, {type_} to i{wide}", "\n".join((
                    operands, f"%c = icmp slt {type_} %a, %b", f"%v = {how} i1 %c to i{wide}",
                    _to_64("r", "%v", f"i{wide}", wide))))  # fmt: skip
    for narrow in (1, 8, 16, 32):
        if narrow < width:
            yield Case(f"trunc {type_} to i{narrow}", "\n".join((operands, f"%v = trunc {type_} %a to i{narrow}",
                       _to_64("r", "%v", f"i{narrow}", narrow, "sext"))))  # fmt: skip
    for real, bits in _FLOATS.items():
        for how in ("sitofp", "uitofp"):
            value = f"%v = {how} {type_} %a to {real}"
            # Past half's largest: the same on both sides only where the number fits.
            if bits == 16 and width > 8:
                value = f"%m = and {type_} %a, 1023\n%v = {how} {type_} %m to {real}"
            ends = _bits_of("w", "%v", real) + "\n" + _to_64("r", "%w", f"i{max(bits, 32)}", max(bits, 32))
            yield Case(f"{how} {type_} to {real}", f"{operands}\n{value}\n{ends}")
            is_beyond = bits == 16 and width > 8 and how == "uitofp"
            for constant in ("true", "false") if width == 1 else ("1",) if is_beyond else ("-1", "1"):
                yield Case(f"{how} {type_} {constant} to {real}", f"%v = {how} {type_} {constant} to {real}\n{ends}")
            if bits > 16:
                yield Case(f"{how} {type_} to {real}, added", f"{operands}\n{value}\n"
                           f"%s = fadd {real} %v, 2.5\n" + ends.replace("%v", "%s"))  # fmt: skip
                yield Case(f"{how} {type_} to {real}, compared", f"{operands}\n{value}\n"
                           f"%c = fcmp olt {real} %v, 0.0\n%r = zext i1 %c to i64")  # fmt: skip
        for how in ("fptosi", "fptoui"):
            # An integer that every one of these types holds: 0 or 1, and -1 for a signed bool.
            sign = "sitofp" if (how, width) == ("fptosi", 1) else "uitofp"
            yield Case(f"{how} {real} to {type_}", "\n".join((
                "%c = trunc i64 %x to i8\n%o = and i8 %c, 1",
                "%l = " + ("sub i8 0, %o" if sign == "sitofp" else "or i8 %o, 0"),
                f"%f = sitofp i8 %l to {real}\n%v = {how} {real} %f to {type_}",
                _to_64("r", "%v", type_, width))))  # fmt: skip
            if width > 7:
                yield Case(f"{how} {real} to {type_}, larger", "\n".join((
                    f"%c = and i64 %x, 127\n%f = uitofp i64 %c to {real}\n%g = fdiv {real} %f, 4.0",
                    f"%v = {how} {real} %g to {type_}", _to_64("r", "%v", type_, width))))  # fmt: skip


def _intrinsics(type_: str, width: int) -> Iterator[Case]:
    unary = ["ctpop"] + (["bitreverse"]) + (["bswap"] if width % 16 == 0 else [])
    for name in unary:
        yield _case(name, type_, width, f"%v = call {type_} @llvm.{name}.{type_}({type_} %a)", "%v",
                    f"declare {type_} @llvm.{name}.{type_}({type_})")  # fmt: skip
    for name in ("ctlz", "cttz", "abs"):
        yield _case(name, type_, width, f"%v = call {type_} @llvm.{name}.{type_}({type_} %a, i1 false)", "%v",
                    f"declare {type_} @llvm.{name}.{type_}({type_}, i1)")  # fmt: skip
    for name in ("smax", "smin", "umax", "umin", "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat"):
        yield _case(name, type_, width, f"%v = call {type_} @llvm.{name}.{type_}({type_} %a, {type_} %b)", "%v",
                    f"declare {type_} @llvm.{name}.{type_}({type_}, {type_})")  # fmt: skip
    for name in ("sshl.sat", "ushl.sat"):
        amount = f"%s = urem {type_} %b, {width}" if width > 1 else "%s = and i1 %b, false"
        yield _case(name, type_, width, f"{amount}\n%v = call {type_} @llvm.{name}.{type_}({type_} %a, {type_} %s)",
                    "%v", f"declare {type_} @llvm.{name}.{type_}({type_}, {type_})")  # fmt: skip
    for name in ("fshl", "fshr"):
        three = f"{type_}, {type_}, {type_}"
        yield _case(name, type_, width, f"%v = call {type_} @llvm.{name}.{type_}({type_} %a, {type_} %b, {type_} %a)",
                    "%v", f"declare {type_} @llvm.{name}.{type_}({three})")  # fmt: skip
        if width > 1:
            yield _case(f"{name} by a constant", type_, width,
                        f"%v = call {type_} @llvm.{name}.{type_}({type_} %a, {type_} %a, {type_} {width - 1})",
                        "%v", f"declare {type_} @llvm.{name}.{type_}({three})")  # fmt: skip
    for name in ("scmp", "ucmp"):
        if width > 1:
            yield _case(name, type_, width, f"%v = call {type_} @llvm.{name}.{type_}.i64(i64 %x, i64 %y)", "%v",
                        f"declare {type_} @llvm.{name}.{type_}.i64(i64, i64)")  # fmt: skip
            yield Case(f"{name} of {type_}", f"{_operands(type_, width)}\n"
                       f"%v = call i8 @llvm.{name}.i8.{type_}({type_} %a, {type_} %b)\n%r = sext i8 %v to i64",
                       (f"declare i8 @llvm.{name}.i8.{type_}({type_}, {type_})",))  # fmt: skip
    for name in ("fptosi.sat", "fptoui.sat"):
        for real, suffix in (("float", "f32"), ("double", "f64")):
            yield Case(f"{name} {real} to {type_}", f"%n = ashr i64 %x, 20\n%f = sitofp i64 %n to {real}\n"
                       f"%v = call {type_} @llvm.{name}.{type_}.{suffix}({real} %f)\n{_to_64('r', '%v', type_, width)}",
                       (f"declare {type_} @llvm.{name}.{type_}.{suffix}({real})",))  # fmt: skip
    for name in ("sadd", "uadd", "ssub", "usub", "smul", "umul"):
        pair = f"{{{type_}, i1}}"
        for part in (0, 1):
            value = "%p" if part == 0 else "%q"
            yield Case(f"{name}.with.overflow {type_}, part {part}", f"{_operands(type_, width)}\n"
                       f"%s = call {pair} @llvm.{name}.with.overflow.{type_}({type_} %a, {type_} %b)\n"
                       f"{value} = extractvalue {pair} %s, {part}\n"
                       + (_to_64("r", "%p", type_, width) if part == 0 else "%r = zext i1 %q to i64"),
                       (f"declare {pair} @llvm.{name}.with.overflow.{type_}({type_}, {type_})",))  # fmt: skip


def _control_flow(type_: str, width: int) -> Iterator[Case]:
    operands = _operands(type_, width)
    labels = (0, -1) if width == 1 else (0, 1, -1)
    names = ("zero", "one", "last")[: len(labels)] if width > 1 else ("zero", "last")
    branches = " ".join(f"{type_} {label}, label %{name}" for label, name in zip(labels, names, strict=True))
    yield Case(f"switch {type_}", "\n".join((
        operands, f"switch {type_} %a, label %other [ {branches} ]",
        *(f"{name}:\nbr label %end" for name in (*names, "other")),
        "end:", "%r = phi i64 " + ", ".join(f"[ {10 + n}, %{name} ]" for n, name in enumerate((*names, "other"))),
    )))  # fmt: skip
    yield Case(f"phi {type_}", "\n".join((
        operands, "%c = icmp slt i64 %x, %y\nbr i1 %c, label %left, label %right",
        f"left:\n%l = xor {type_} %a, -1\nbr label %end", "right:\nbr label %end",
        f"end:\n%v = phi {type_} [ %l, %left ], [ %b, %right ]", _to_64("r", "%v", type_, width))))  # fmt: skip
    yield Case(f"loop of {type_}", "\n".join((
        operands, "br label %head",
        "head:\n%n = phi i64 [ 0, %entry ], [ %m, %head ]",
        f"%v = phi {type_} [ %a, %entry ], [ %w, %head ]",
        f"%w = xor {type_} %v, %b\n%m = add i64 %n, 1\n%c = icmp ult i64 %m, 5\nbr i1 %c, label %head, label %end",
        "end:", _to_64("r", "%w", type_, width))))  # fmt: skip
    yield Case(f"call of {type_}", f"{operands}\n%v = call spir_func {type_} @pass.{type_}({type_} %a)\n"
               + _to_64("r", "%v", type_, width),
               (f"define internal spir_func {type_} @pass.{type_}({type_} %a) noinline "
                f"{{\n  %r = xor {type_} %a, -1\n  ret {type_} %r\n}}",))  # fmt: skip


def _memory(type_: str, width: int) -> Iterator[Case]:
    operands = _operands(type_, width)
    if width <= 64:
        # Private memory: what was stored is what is loaded.
        yield Case(f"store and load {type_}", f"%p = alloca {type_}\n{operands}\nstore volatile {type_} %a, ptr %p\n"
                   f"%v = load volatile {type_}, ptr %p\n{_to_64('r', '%v', type_, width)}")  # fmt: skip
        table = f"@table.{type_}"
        values = ", ".join(f"{type_} {value}" for value in ((0, 1, -1, 1) if width > 1 else (0, -1, -1, 0)))
        yield Case(f"constant table of {type_}", f"%k = and i64 %x, 3\n"
                   f"%p = getelementptr [4 x {type_}], ptr addrspace(1) {table}, i64 0, i64 %k\n"
                   f"%v = load {type_}, ptr addrspace(1) %p\n{_to_64('r', '%v', type_, width)}",
                   (f"{table} = internal addrspace(1) constant [4 x {type_}] [{values}]",))  # fmt: skip
        # The index is a signed number of any width: a true bool is -1.
        small = f"%k = and {type_} %a, 1\n%i = sub {type_} 0, %k" if width > 1 else "%i = and i1 %a, true"
        yield Case(f"index of {type_}", f"%m = alloca [3 x i64]\n%z = getelementptr [3 x i64], ptr %m, i64 0, i64 1\n"
                   f"{operands}\n%e = getelementptr [3 x i64], ptr %m, i64 0, i64 0\nstore volatile i64 7, ptr %e\n"
                   f"store volatile i64 8, ptr %z\n{small}\n%p = getelementptr i64, ptr %z, {type_} %i\n"
                   "%r = load volatile i64, ptr %p")  # fmt: skip
    if width in (32, 64):
        for name in ("add", "sub", "and", "or", "xor", "max", "min", "umax", "umin", "xchg"):
            yield Case(f"atomicrmw {name} {type_}", f"%p = alloca {type_}\n{operands}\nstore {type_} %a, ptr %p\n"
                       f"%o = atomicrmw {name} ptr %p, {type_} %b seq_cst\n%w = load {type_}, ptr %p\n"
                       f"%v = xor {type_} %w, %o\n{_to_64('r', '%v', type_, width)}")  # fmt: skip


def _vectors(type_: str, width: int, lanes: int) -> Iterator[Case]:
    """The same element by element: lane 0 holds `%a`, lane 1 `%b`, the others the first two turned around."""
    vector = f"<{lanes} x {type_}>"
    made = [_operands(type_, width), f"%n = xor {type_} %a, -1"]
    previous = "undef"
    for lane in range(lanes):
        made.append(
            f"%u{lane} = insertelement {vector} {previous}, {type_} {('%a', '%b', '%n', '%b')[lane]}, i32 {lane}"
        )
        previous = f"%u{lane}"
    made.append(f"%w = shufflevector {vector} {previous}, {vector} poison, <{lanes} x i32> <"
                + ", ".join(f"i32 {lane}" for lane in reversed(range(lanes))) + ">")  # fmt: skip
    text = "\n".join(made)

    def folded(kind: str, element: str, bits: int) -> str:
        """Code that makes `%r` of the vector `%v`, whose elements are of `element`."""
        wide = [f"%e{lane} = extractelement <{lanes} x {element}> %v, i32 {lane}" for lane in range(lanes)]
        total = "0"
        for lane in range(lanes):
            source = f"%e{lane}"
            size = bits
            if kind == "float":
                wide.append(_bits_of(f"f{lane}", source, element))
                source, size = f"%f{lane}", max(bits, 32)
            wide.append(_to_64(f"g{lane}", source, f"i{size}", size))
            wide.append(f"%h{lane} = mul i64 %g{lane}, {2 * lane + 3}\n%t{lane} = add i64 {total}, %h{lane}")
            total = f"%t{lane}"
        return "\n".join(wide) + f"\n%r = or i64 {total}, 0"

    for name in ("add", "sub", "mul", "and", "xor"):
        yield Case(f"{name} {vector}", f"{text}\n%v = {name} {vector} {previous}, %w\n{folded('int', type_, width)}")
    for predicate in _PREDICATES:
        yield Case(f"icmp {predicate} {vector}", f"{text}\n%v = icmp {predicate} {vector} {previous}, %w\n"
                   + folded("int", "i1", 1))  # fmt: skip
    yield Case(f"select {vector}", f"{text}\n%c = icmp ult {vector} {previous}, %w\n"
               f"%v = select <{lanes} x i1> %c, {vector} {previous}, {vector} %w\n"
               + folded("int", type_, width))  # fmt: skip
    for how in ("sext", "zext"):
        for wide in (8, 16, 32, 64):
            if wide > width:
                yield Case(f"{how} {vector} to i{wide}", f"{text}\n"
                           f"%v = {how} {vector} {previous} to <{lanes} x i{wide}>\n"
                           + folded("int", f"i{wide}", wide))  # fmt: skip
    for narrow in (1, 8, 16, 32):
        if narrow < width:
            yield Case(f"trunc {vector} to i{narrow}", f"{text}\n"
                       f"%v = trunc {vector} {previous} to <{lanes} x i{narrow}>\n"
                       + folded("int", f"i{narrow}", narrow))  # fmt: skip
    for real, bits in _FLOATS.items():
        if bits == 16 and width > 8:
            continue
        for how in ("sitofp", "uitofp"):
            yield Case(f"{how} {vector} to {real}", f"{text}\n%v = {how} {vector} {previous} to <{lanes} x {real}>\n"
                       + folded("float", real, bits))  # fmt: skip
    for name in ("ctpop", "smax", "umin", "usub.sat"):
        operands = f"{vector} {previous}" + ("" if name == "ctpop" else f", {vector} %w")
        given = vector if name == "ctpop" else f"{vector}, {vector}"
        yield Case(f"{name} {vector}", f"{text}\n%v = call {vector} @llvm.{name}.v{lanes}{type_}({operands})\n"
                   + folded("int", type_, width),
                   (f"declare {vector} @llvm.{name}.v{lanes}{type_}({given})",))  # fmt: skip
    for name in ("and", "or", "xor", "add", "umax", "smin"):
        yield Case(f"reduce.{name} {vector}", f"{text}\n"
                   f"%v = call {type_} @llvm.vector.reduce.{name}.v{lanes}{type_}({vector} {previous})\n"
                   + _to_64("r", "%v", type_, width),
                   (f"declare {type_} @llvm.vector.reduce.{name}.v{lanes}{type_}({vector})",))  # fmt: skip
