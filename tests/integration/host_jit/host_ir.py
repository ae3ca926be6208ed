"""LLVM IR for SPIR-V as LLVM IR for the host: one address space, C's calling convention, and code for the built-ins."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["NOT_COVERED", "NotOnHost", "host_ir"]

NOT_COVERED: dict[str, str] = {
    "Group": "group algorithms and shuffles",
    "ControlBarrier": "barriers",
    "MemoryBarrier": "fences",
    "SubgroupLocalInvocationId": "sub-groups",
    "get_local_id": "work-groups",
    "get_group_id": "work-groups",
    "get_num_groups": "work-groups",
    "get_sub_group_id": "sub-groups",
    "get_sub_group_local_id": "sub-groups",
    "printf": "print",
}
"""Built-ins without code for the host, by a part of their names, and what they belong to."""


class NotOnHost(Exception):
    """A kernel uses what has no code for the host."""


_DECLARED = re.compile(r'^declare (.*?)@"?(_Z\d+[\w]+|printf)"?\(([^\n]*?)\)[^\n]*$', re.MULTILINE)
_SPACE = re.compile(r"\s*addrspace\(\d+\)")
_BYVAL = re.compile(r"byval\((?:[^()]|\([^()]*\))*\)")
_INTRINSIC = re.compile(r"(@llvm\.\w+(?:\.\w+)?)((?:\.p\d+)+)(?=\.|\()")
_ATTRIBUTE = re.compile(r"^(attributes #\d+ = \{)([^}]*)\}$", re.MULTILINE)

_ATOMICS = {
    "Exchange": "xchg", "IAdd": "add", "ISub": "sub", "SMin": "min", "UMin": "umin", "SMax": "max", "UMax": "umax",
    "And": "and", "Or": "or", "Xor": "xor", "FAddEXT": "fadd", "FMinEXT": "fmin", "FMaxEXT": "fmax",
}  # fmt: skip
_OF_C = {name: name for name in (
    "cbrt", "expm1", "log1p", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "hypot", "remainder", "nextafter", "erf", "erfc", "tgamma", "lgamma", "ldexp", "ilogb",
)}  # fmt: skip
_POSITIONS = {"get_global_id": "kapi.id", "get_global_size": "kapi.size"}


def host_ir(text: str, entry_point: str, triple: str, data_layout: str) -> str:
    """The IR of a kernel as IR that the host can run.

    Parameters
    ----------
    text : str
        One module.
    entry_point : str
        The kernel's.
    triple, data_layout : str
        The host's.

    Raises
    ------
    NotOnHost
        If the kernel uses what is not covered.
    """
    text = re.sub(r'^(?:target (?:triple|datalayout)|source_filename) = "[^"]*"$', "", text, flags=re.MULTILINE)
    text = re.sub(r"^!opencl\.[^\n]*$", "", text, flags=re.MULTILINE)
    text = _SPACE.sub("", text).replace("spir_func ", "").replace("spir_kernel ", "")
    # By value the argument would be copied to where only the caller of C knows.
    text = _BYVAL.sub("", text)
    text = text.replace("addrspacecast", "bitcast")
    text = _INTRINSIC.sub(lambda found: found[1] + re.sub(r"\.p\d+", ".p0", found[2]), text)
    # Calls of built-ins without effect are merged and moved; here they read where the work-item is kept.
    text = _ATTRIBUTE.sub(_without_memory, text)
    text = re.sub(r"(?m)^(declare [^\n]*)\breadnone\b", r"\1", text)
    defined: dict[str, str] = {}

    def define(found: re.Match[str]) -> str:
        name = found[2]
        defined[name] = _definition(name, found[1].split()[-1], _parameter_types(found[3]))
        return ""

    text = _DECLARED.sub(define, text)
    head = f'target triple = "{triple}"\ntarget datalayout = "{data_layout}"\n'
    positions = "".join(f"@{name} = external global [3 x i64]\n" for name in _POSITIONS.values())
    if not re.search(rf'define [^\n]*@"?{re.escape(entry_point)}"?\(', text):
        positions = positions if defined else ""
    return "\n".join((head + positions, text, *defined.values()))


def _without_memory(found: re.Match[str]) -> str:
    return found[1] + re.sub(r"memory\([^)]*\)|\breadnone\b|\bspeculatable\b", "", found[2]) + "}"


def _parameter_types(text: str) -> list[str]:
    return [part.split()[0] for part in text.split(",") if part.strip()]


def _definition(symbol: str, result: str, types: list[str]) -> str:
    if symbol == "printf":
        raise NotOnHost("print has no code for the host")
    size = re.match(r"_Z(\d+)", symbol)
    assert size is not None
    name = symbol[size.end() : size.end() + int(size[1])]
    arguments = [f"%a{n}" for n in range(len(types))]
    head = f'define internal {result} @"{symbol}"({", ".join(map(" ".join, zip(types, arguments, strict=True)))}) {{'
    for part, what in NOT_COVERED.items():
        if part in name:
            raise NotOnHost(f"{name} ({what}) has no code for the host")
    for part, make in _MADE.items():
        if name.startswith(part):
            return f"{head}\n{make(name, result, types)}}}\n"
    if name in _OF_C:
        return f"{_declaration(name, result, types)}{head}\n{_of_c(name, result, types)}}}\n"
    raise NotOnHost(f"{name} has no code for the host")


def _position(name: str, result: str, types: list[str]) -> str:
    kept = _POSITIONS[name]
    return (
        "  %n = zext i32 %a0 to i64\n"
        f"  %p = getelementptr [3 x i64], ptr @{kept}, i64 0, i64 %n\n"
        "  %v = load volatile i64, ptr %p\n"
        "  ret i64 %v\n"
    )


def _atomic(name: str, result: str, types: list[str]) -> str:
    operation = name.removeprefix("__spirv_Atomic")
    if operation == "Load":
        align = _bytes(result)
        return f"  %v = load atomic {result}, ptr %a0 seq_cst, align {align}\n  ret {result} %v\n"
    if operation == "Store":
        return f"  store atomic {types[3]} %a3, ptr %a0 seq_cst, align {_bytes(types[3])}\n  ret void\n"
    if operation == "CompareExchange":
        return (
            f"  %p = cmpxchg ptr %a0, {result} %a5, {result} %a4 seq_cst seq_cst\n"
            f"  %v = extractvalue {{ {result}, i1 }} %p, 0\n  ret {result} %v\n"
        )
    return f"  %v = atomicrmw {_ATOMICS[operation]} ptr %a0, {result} %a3 seq_cst\n  ret {result} %v\n"


def _bytes(type_: str) -> int:
    return {"i32": 4, "float": 4}.get(type_, 8)


_MADE: dict[str, Callable[[str, str, list[str]], str]] = {"get_global": _position, "__spirv_Atomic": _atomic}


def _name_in_c(name: str, type_: str) -> str:
    if name == "nextafter" and type_ == "half":
        return "kapi_nextafter_half"
    return name if type_ == "double" else f"{name}f"


def _declaration(name: str, result: str, types: list[str]) -> str:
    if types[0] == "half" and name == "nextafter":
        return f"declare i16 @{_name_in_c(name, 'half')}(i16, i16)\n"
    widened = ["float" if each == "half" else each for each in types]
    given = "float" if result == "half" else result
    return f"declare {given} @{_name_in_c(name, widened[0])}({', '.join(widened)})\n"


def _of_c(name: str, result: str, types: list[str]) -> str:
    called = _name_in_c(name, types[0])
    if types[0] != "half":
        given = ", ".join(f"{each} %a{n}" for n, each in enumerate(types))
        return f"  %v = call {result} @{called}({given})\n  ret {result} %v\n"
    if name == "nextafter":
        bits = "".join(f"  %b{n} = bitcast half %a{n} to i16\n" for n in range(2))
        return f"{bits}  %w = call i16 @{called}(i16 %b0, i16 %b1)\n  %v = bitcast i16 %w to half\n  ret half %v\n"
    lines, given = "", []
    for n, each in enumerate(types):
        if each == "half":
            lines += f"  %w{n} = fpext half %a{n} to float\n"
            given.append(f"float %w{n}")
        else:
            given.append(f"{each} %a{n}")
    wide = "float" if result == "half" else result
    lines += f"  %w = call {wide} @{_name_in_c(name, 'float')}({', '.join(given)})\n"
    return lines + ("  %v = fptrunc float %w to half\n  ret half %v\n" if result == "half" else f"  ret {wide} %w\n")
