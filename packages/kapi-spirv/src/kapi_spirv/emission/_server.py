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
    code = machine.emit_object(module)
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
