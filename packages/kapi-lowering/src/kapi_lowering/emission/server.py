"""The helper process: reads requests from standard input, writes answers to standard output, until either closes.

It imports llvmlite, this package and the target's `emission` package, which are loaded alone, so that it starts fast.
Each message is a JSON header of one line, followed by the number of bytes that the header names.

An `emission` package defines:

``start()``
    Sets LLVM's options, which are the entire process's, once.
``target_machine(request)``
    LLVM's target machine for a request; the request holds what `Target.emission_request` gave, and ``triple``.
``prepare(sources)``
    The texts of IR as passes are to have them.
``pipeline(request)``
    The passes that make optimised IR what the back end lowers rightly, as a `Pipeline`.
``emit(machine, text)``
    The code, as bytes.

It may define:

``before_pipeline(module, machine, request)``
    Brings optimised IR into the form that the passes of the pipeline expect.
``unrolls``
    Whether LLVM's passes unroll loops; they do if it is left out.
``needs_guide(sources, optimised)`` and ``guide_unrolling(module)``
    Whether loops were unrolled badly in optimised IR, and the pass that marks which are to be unrolled, in IR that was
    optimised without. LLVM's passes then run again.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from types import ModuleType
from typing import Any, BinaryIO

import llvmlite.binding as llvm

from .llvm_ir import parse_module
from .pipeline import UnsupportedError

_QUESTION = re.compile(r"^(  \S+ = )(?:tail )?call i1 @llvm\.is\.constant\.i\d+\([^)]*\).*$", re.MULTILINE)


def decided(source: str, machine: Any) -> str:
    """IR without `llvm.is.constant`, which is true of what is a number once variables are values.

    LLVM's own passes leave the question open until most of them have run, and what depends on it hinders them.
    """
    if "llvm.is.constant" not in source:
        return source
    module = llvm.parse_assembly(source)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_function_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)
    return _QUESTION.sub(r"\1icmp ne i1 false, false", str(module))


def linked(sources: list[str], request: dict[str, Any], machine: Any) -> Any:
    """One module of the sources, in which the entry point alone is seen from outside."""
    module, *others = map(llvm.parse_assembly, sources)
    for each in others:
        module.link_in(each)
    module.triple = request["triple"]
    module.data_layout = str(machine.target_data)
    for function in module.functions:
        if not function.is_declaration and function.name != request["entry_point"]:
            function.linkage = llvm.Linkage.internal
    module.verify()
    return module


def run_passes(module: Any, machine: Any, level: int, unrolls: bool) -> Any:
    """Run LLVM's own pipeline, without its vectorizers; returns its builder.

    Drivers vectorise across work-items; vectors of one work-item would hinder them.
    """
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    options.loop_unrolling = unrolls
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return builder


def optimise(emission: ModuleType, request: dict[str, Any], sources: list[str]) -> tuple[Any, Any]:
    """Link the sources and run LLVM's passes; returns the module and its target machine."""
    machine = emission.target_machine(request)
    sources = [decided(source, machine) for source in sources]
    module = linked(sources, request, machine)
    if request["passes"] == "none":
        return module, machine
    # Without optimisation functions are inlined all the same, as their attributes say.
    level, unrolls = 2 if request["passes"] == "all" else 0, getattr(emission, "unrolls", True)
    builder = run_passes(module, machine, level, unrolls)
    if level and hasattr(emission, "needs_guide") and emission.needs_guide(sources, str(module)):
        module = linked(sources, request, machine)
        run_passes(module, machine, level, unrolls=False)
        guided = parse_module(str(module))
        emission.guide_unrolling(guided)
        module = llvm.parse_assembly(str(guided))
        run_passes(module, machine, level, unrolls)
    if request["passes"] == "needed":
        # Structures in variables, which optimisation takes apart on its way, end the back end's process.
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    return module, machine


def repaired(emission: ModuleType, request: dict[str, Any], text: str) -> str:
    """Optimised IR after the target's passes."""
    module = parse_module(text)
    limit = None if request["limit"] < 0 else request["limit"]
    title = re.sub(r"[^-\w.]", "_", request["entry_point"])
    emission.pipeline(request).run(module, limit=limit, dump=request["dump"], title=title)
    return str(module)


def answer(emission: ModuleType, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Serve one request: the code and the optimised IR, or what prevents it."""
    sources, start = [], 0
    for size in request["sizes"]:
        sources.append(body[start : start + size].decode())
        start += size
    try:
        module, machine = optimise(emission, request, emission.prepare(sources))
        if request["assembly"]:
            return {"problems": [], "code": 0}, machine.emit_assembly(module).encode()
        if hasattr(emission, "before_pipeline"):
            emission.before_pipeline(module, machine, request)
        text = repaired(emission, request, str(module))
    except RuntimeError as error:
        return {"problems": [f"LLVM IR that LLVM refuses: {error}"]}, b""
    except UnsupportedError as error:
        return {"problems": error.problems}, str(module).encode()
    code = emission.emit(machine, text)
    return {"problems": [], "code": len(code)}, code + text.encode()


def serve(emission: ModuleType, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the other end goes away."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    emission.start()
    gc.disable()
    while line := requests.readline():
        request = json.loads(line)
        header, body = answer(emission, request, requests.read(request["size"]))
        answers.write(json.dumps({**header, "size": len(body)}).encode() + b"\n" + body)
        answers.flush()
        # While nobody waits, for modules are full of cycles. What a request leaves behind, imports and parsed forms,
        # stays, and is not looked at again: that would take a third of a request's time.
        gc.collect()
        gc.freeze()


def main(emission: ModuleType) -> None:
    """Serve a target on this process's standard input and output."""
    # What LLVM says last goes to standard error; it must never wait there for a reader.
    os.set_blocking(2, False)
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(emission, sys.stdin.buffer, output)
