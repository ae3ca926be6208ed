"""The helper process: reads requests from standard input, writes answers to standard output, until either closes.

It imports llvmlite and nothing of kapi, so that it starts fast; it is run by path. Each message is a JSON header of
one line, followed by the number of bytes that the header names.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, BinaryIO

import llvmlite.binding as llvm

_ODD_INTEGER = re.compile(r"(?<![%@.$\w-])i(?!1\b|8\b|16\b|32\b|64\b)(\d+)\b(?!:)")
_FORBIDDEN = tuple(
    (re.compile(pattern), description)
    for pattern, description in (
        (r"@llvm\.([su](?:add|sub|mul))\.with\.overflow\b", "overflow-checking arithmetic (llvm.{0}.with.overflow)"),
        (r"@llvm\.(bitreverse)\b", "bit reversal (llvm.{0})"),
        (r"\batomicrmw (?:volatile )?(nand)\b", "atomic {0}"),
        (r"\balloca [^,\n]+, (i(?:32|64) %[-\w.\"]+)", "an array of a size known only at run time (alloca of {0})"),
    )
)
_STRING = re.compile(r'"[^"\n]*"')


def forbidden_constructs(text: str) -> list[str]:
    """What the SPIR-V back end would end the process on, found in LLVM IR text before it is given to it."""
    code = "\n".join(line.split(" ;", 1)[0] for line in text.splitlines() if not line.startswith((";", "source_")))
    code = _STRING.sub('""', code)
    found = [f"{match.group(1)}-bit integers (i{match.group(1)})" for match in _ODD_INTEGER.finditer(code)]
    for pattern, description in _FORBIDDEN:
        found += [description.format(match.group(1)) for match in pattern.finditer(code)]
    return list(dict.fromkeys(found))


_BLOCK = re.compile(r"^(?:([-\w.$]+)|\"([^\"]*)\"):")
_PHI = re.compile(r"^  (%\S+) = phi (\S+|ptr addrspace\(\d\)) (\[.*\])")
_INCOMING = re.compile(r"\[ (%?[^,\]]+), (%[^\]]+) \]")
_SIZE_OF = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "half": 16, "float": 32, "double": 64}
_ZERO = (
    "  %kapi.size = call spir_func i64 @_Z15get_global_sizej(i32 0)",
    "  %kapi.zero = ashr i64 %kapi.size, 63",
)


def break_recurrences(text: str, entry_point: str) -> str:
    """LLVM IR text in which no loop variable takes the value that another one had an iteration before.

    Intel's OpenCL CPU compiler (2026.2) crashes when it vectorises some loops of this kind across work-items, of
    which `a, b = b, a + b` is the shortest; it does so from OpenCL C as well. Adding a zero that it cannot know to be
    one keeps it from seeing the pattern. Remove this when `test_driver_limits` says that the driver is mended.
    """
    lines = text.split("\n")
    copies: dict[tuple[str, str], list[str]] = {}  # function and block, to what goes before the block's terminator
    function, where = "", []
    phis: dict[str, int] = {}
    for number, line in enumerate(lines):
        if line.startswith("define "):
            function, phis = line, {}
        elif _BLOCK.match(line):
            phis = {}
        phi = _PHI.match(line)
        if phi:
            phis[phi.group(1)] = number
            where.append((function, phis, number, phi))
    for function, phis, number, phi in where:
        for value, block in _INCOMING.findall(phi.group(3)):
            type_ = phi.group(2)
            if value in phis and value != phi.group(1) and type_ in _SIZE_OF:
                name = f"%kapi.copy.{sum(map(len, copies.values()))}"
                copies.setdefault((function, block), []).extend(_opaque_copy(name, value, type_))
                lines[number] = lines[number].replace(f"[ {value}, {block} ]", f"[ {name}, {block} ]")
    if not copies:
        return text
    return "\n".join(_with_copies(lines, copies, entry_point))


def _opaque_copy(name: str, value: str, type_: str) -> list[str]:
    """Code that gives `value` the name `name` by adding zero to its bits."""
    bits = f"i{_SIZE_OF[type_]}"
    code, zero = [], "%kapi.zero"
    if bits != "i64":
        zero = f"{name}.zero"
        code.append(f"  {zero} = trunc i64 %kapi.zero to {bits}")
    if type_ == bits:
        return [*code, f"  {name} = add {bits} {value}, {zero}"]
    return [
        *code,
        f"  {name}.bits = bitcast {type_} {value} to {bits}",
        f"  {name}.sum = add {bits} {name}.bits, {zero}",
        f"  {name} = bitcast {bits} {name}.sum to {type_}",
    ]


def _with_copies(lines: list[str], copies: dict[tuple[str, str], list[str]], entry_point: str) -> list[str]:
    """The lines with each block's copies before its terminator, and the zero at the entry point's start."""
    result: list[str] = []
    function, block, is_first = "", "", False
    for position, line in enumerate(lines):
        label = _BLOCK.match(line)
        if line.startswith("define "):
            function, is_first = line, True
        elif label and function:
            block = f'%"{label.group(2)}"' if label.group(2) is not None else f"%{label.group(1)}"
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if line.startswith("  ") and (not following or following == "}" or _BLOCK.match(following)):
            result += copies.get((function, block), [])
        result.append(line)
        if label and is_first:
            result += _ZERO if f"@{entry_point}(" in function else []
            is_first = False
    if not any(line.startswith("declare") and "@_Z15get_global_sizej(" in line for line in lines):
        result.append("declare spir_func i64 @_Z15get_global_sizej(i32) nounwind memory(none)")
    return result


def optimise(request: dict[str, Any], sources: list[str]) -> tuple[Any, Any]:
    """Link the sources and run LLVM's passes; returns the module and its target machine."""
    # The option is captured when a target machine is made.
    llvm.set_option("", "--spirv-ext=" + ",".join("+" + name for name in request["extensions"]))
    machine = llvm.Target.from_triple(request["triple"]).create_target_machine(opt=2)
    module = llvm.parse_assembly(sources[0])
    for source in sources[1:]:
        module.link_in(llvm.parse_assembly(source))
    module.triple = request["triple"]
    module.data_layout = str(machine.target_data)
    for function in module.functions:
        if not function.is_declaration and function.name != request["entry_point"]:
            function.linkage = llvm.Linkage.internal
    module.verify()
    if request["optimise"]:
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        # Drivers vectorise across work-items; vectors of one work-item would stand in their way.
        options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    # What numbers the labels afterwards cannot read a switch.
    finish = llvm.create_new_module_pass_manager()
    finish.add_lower_switch_pass()
    finish.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return module, machine


def answer(request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Serve one request: the SPIR-V and the optimised IR, or what stands in the way."""
    sources, start = [], 0
    for size in request["sizes"]:
        sources.append(body[start : start + size].decode())
        start += size
    try:
        module, machine = optimise(request, sources)
    except RuntimeError as error:
        return {"problems": [f"LLVM IR that LLVM refuses: {error}"]}, b""
    text = str(module)
    problems = forbidden_constructs(text)
    if problems:
        return {"problems": problems}, text.encode()
    text = break_recurrences(text, request["entry_point"])
    code = machine.emit_object(llvm.parse_assembly(text))
    return {"problems": [], "code": len(code)}, code + text.encode()


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the other end goes away."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Otherwise induction variables are rewritten in odd widths, which the back end cannot lower.
    llvm.set_option("", "-replexitval=never")
    while line := requests.readline():
        request = json.loads(line)
        header, body = answer(request, requests.read(request["size"]))
        answers.write(json.dumps({**header, "size": len(body)}).encode() + b"\n" + body)
        answers.flush()


if __name__ == "__main__":
    # What LLVM says last goes to standard error; it must never wait there for a reader.
    os.set_blocking(2, False)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, output)
