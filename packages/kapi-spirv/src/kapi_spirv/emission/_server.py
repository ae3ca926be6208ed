"""The helper process: reads requests from standard input, writes answers to standard output, until either closes.

It imports llvmlite and, of kapi, its own folder alone, so that it starts fast. Each message is a JSON header of one
line, followed by the number of bytes that the header names.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

import llvmlite.binding as llvm

# Relative, since the process that serves has this folder as a package of its own.
from ._bools import choose_floats, misused_bools
from ._linear_groups import inline_all, linear_groups
from ._negations import hide_negations
from ._powers import name_ldexp
from ._recurrences import break_recurrences
from ._round_trips import keep_round_trips
from ._unswitching import keep_conditions_in_loops
from ._validation import forbidden_constructs


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
    if request["passes"] == "none":
        return module, machine
    # Without optimisation functions are inlined all the same, as their attributes say.
    options = llvm.create_pipeline_tuning_options(speed_level=2 if request["passes"] == "all" else 0)
    # Drivers vectorise across work-items; vectors of one work-item would stand in their way.
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    if request["passes"] == "needed":
        # Structures in variables, which optimisation takes apart on its way, end the back end's process.
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return module, machine


def answer(request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Serve one request: the SPIR-V and the optimised IR, or what stands in the way."""
    sources, start = [], 0
    for size in request["sizes"]:
        sources.append(body[start : start + size].decode())
        start += size
    try:
        module, machine = optimise(request, inline_all(sources))
        text = linear_groups(str(module))
    except RuntimeError as error:
        return {"problems": [f"LLVM IR that LLVM refuses: {error}"]}, b""
    if request["assembly"]:
        return {"problems": [], "code": 0}, machine.emit_assembly(module).encode()
    text = choose_floats(name_ldexp(text))
    problems = forbidden_constructs(text) + misused_bools(text)
    if problems:
        return {"problems": problems}, text.encode()
    text = keep_round_trips(hide_negations(break_recurrences(keep_conditions_in_loops(text))))
    code = machine.emit_object(llvm.parse_assembly(text))
    return {"problems": [], "code": len(code)}, code + text.encode()


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the other end goes away."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    # Otherwise induction variables are rewritten in odd widths, which the back end cannot lower.
    llvm.set_option("", "-replexitval=never")
    # The back end's own loop strength reduction counts in odd widths too, and then it widens them without their limits:
    # wrong numbers, without a word.
    llvm.set_option("", "-disable-lsr")
    while line := requests.readline():
        request = json.loads(line)
        header, body = answer(request, requests.read(request["size"]))
        answers.write(json.dumps({**header, "size": len(body)}).encode() + b"\n" + body)
        answers.flush()


def main() -> None:
    """Serve on this process's standard input and output."""
    # What LLVM says last goes to standard error; it must never wait there for a reader.
    os.set_blocking(2, False)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, output)
