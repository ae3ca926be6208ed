"""The CPU's back end: the target machine, the pipeline of passes, and the emission of object code."""

from __future__ import annotations

import itertools
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kapi_cpu.emission.lane_numbers import bound_lane_numbers, has_lane_numbers
from kapi_cpu.emission.object_code import ObjectCode

if TYPE_CHECKING:
    from kapi_lowering.emission.pipeline import Pipeline

__all__ = [
    "RELOCATION",
    "before_pipeline",
    "emit",
    "is_kept_together",
    "pipeline",
    "prepare",
    "start",
    "target_machine",
    "unrolls",
]

unrolls = True

_SPACE = re.compile(r" addrspace\(\d+\)")
_NOT_INLINED = re.compile(r"^(define .*) noinline\b", re.MULTILINE)
_TEXT = re.compile(r' (c"[^"]*")')  # a constant, such as what a kernel prints
_QUERY = re.compile(r'^declare (i64 @"?kapi\.query\.)', re.MULTILINE)
_INFORMATION = re.compile(r"^@[\w.]+\.info = constant \[2 x i64\] \[i64 (\d+), i64 (\d+)\]", re.MULTILINE)
_DECISIONS = re.compile(r'!\{!"kapi\.decisions", !"(\w+)"\}')


RELOCATION = {True: {"reloc": "pic", "codemodel": "small"}, False: {"reloc": "static", "codemodel": "large"}}
"""Relocation models, by whether an object file is kept together in memory."""


def is_kept_together(triple: str) -> bool:
    """Whether the linker puts code and constants of an object file next to each other."""
    return triple.startswith("x86_64") and "linux" in triple


def start() -> None:
    """Unroll loops fully or not at all, bound the schedulers' work in long blocks, and load all passes."""
    import llvmlite.binding as llvm

    # Copies of an iteration before lanes are made are as many more vectors; full unrolling leaves constant indices.
    llvm.set_option("", "-unroll-runtime=0")
    llvm.set_option("", "-unroll-allow-partial=0")
    # So many accesses of a block are compared with each other, in quadratic time; of more, groups keep their order.
    llvm.set_option("", "-dag-maps-huge-region=500")
    # Now, while the kernel's front end runs, rather than when its IR waits.
    for name in ("groups.assembly", "mathematics.library"):
        import_module(f"{__package__}.{name}")


def target_machine(request: dict[str, Any]) -> Any:
    """The processor that code is for.

    Where `kapi_cpu.loading` keeps an object file in one piece, constants are near their code. What is called may be
    anywhere in memory.
    """
    import llvmlite.binding as llvm

    features = request["features"] + ",+fast-gather" * request["has_fast_gathers"]
    return llvm.Target.from_triple(request["triple"]).create_target_machine(
        cpu=request["cpu"], features=features, opt=3, **RELOCATION[is_kept_together(request["triple"])]
    )


def prepare(sources: list[str]) -> list[str]:
    """The texts with one address space, and functions that are inlined whatever they were to be."""
    return [_in_one_space(each) for each in sources]


def _in_one_space(text: str) -> str:
    constants = _TEXT.findall(text)
    text = _TEXT.sub(" \0", text) if constants else text
    text = _SPACE.sub("", text.replace("addrspacecast ", "bitcast "))
    text = _QUERY.sub(r"declare range(i64 0, -9223372036854775808) \1", text)  # divisions of ids need no signs
    text = _with_remainders(_NOT_INLINED.sub(r"\1", text) if " noinline" in text else text)
    return "".join(itertools.chain(*itertools.zip_longest(text.split("\0"), constants, fillvalue="")))


def _with_remainders(text: str) -> str:
    """The text with calls of `fmod`, which the library has, where LLVM has an instruction that calls C's."""
    for type_, name in (("float", "fmodf"), ("double", "fmod")):
        pattern = rf"= frem {type_} ([^,\n]+), ([^,\n]+)"
        text, count = re.subn(pattern, rf"= call {type_} @{name}({type_} \1, {type_} \2)", text)
        if count:
            text += f"\ndeclare {type_} @{name}({type_}, {type_}) nounwind willreturn memory(none)\n"
    return text


def before_pipeline(module: Any, machine: Any, request: dict[str, Any]) -> None:
    """Mathematics inlined; loops of one entry and latch, values that leave them by phis, one return, no switches."""
    import llvmlite.binding as llvm

    from kapi_cpu.emission.mathematics.library import link_mathematics

    features = request["features"].split(",")
    # LLVM names no features of Apple's processors; all of ARM's with 64 bits have it.
    has_fma = "+fma" in features or request["triple"].startswith(("aarch64", "arm64"))
    link_mathematics(module, machine, has_fma, has_scale={"+avx512f", "+avx512vl", "+avx512dq"} <= {*features})
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=0))
    passes = llvm.create_new_function_pass_manager()
    passes.add_lower_switch_pass()
    passes.add_unify_function_exit_nodes_pass()
    passes.add_loop_simplify_pass()
    passes.add_lcssa_pass()
    for function in module.functions:
        if not function.is_declaration:
            passes.run(function, builder)


def pipeline(request: dict[str, Any]) -> Pipeline:
    """The passes, in their order."""
    from kapi_cpu.emission.common_subexpressions import merge_common_subexpressions
    from kapi_cpu.emission.group_updates import define_group_updates
    from kapi_cpu.emission.groups.assembly import assemble_groups
    from kapi_cpu.emission.half_conversions import convert_halves_by_float32, define_half_conversions
    from kapi_cpu.emission.legalize.group_operations import expand_group_operations
    from kapi_cpu.emission.legalize.queries import lower_queries
    from kapi_cpu.emission.narrow_integers import narrow_integers
    from kapi_cpu.emission.narrow_truncations import narrow_truncations
    from kapi_cpu.emission.vectorize.private_fills import expand_private_fills
    from kapi_cpu.emission.zero_remainders import simplify_zero_remainders
    from kapi_lowering.emission.passes.invariant_loads import hoist_invariant_loads
    from kapi_lowering.emission.pipeline import Pipeline

    options = {name: request[name] for name in ("entry_point", "vector_bits", "lanes", "has_fast_gathers")}
    return Pipeline(
        {
            "legalize": [lower_queries, convert_halves_by_float32, expand_group_operations, expand_private_fills],
            "optimize": [
                hoist_invariant_loads.with_options(are_noalias=False),
                simplify_zero_remainders,
                merge_common_subexpressions,
                narrow_integers,
                narrow_truncations,
            ],
            "finish": [
                assemble_groups.with_options(**options),
                define_group_updates,
                define_half_conversions.with_options(features=request["features"]),
            ],
        }
    )


def emit(machine: Any, text: str) -> bytes:
    """An object file, behind what launches must know of it."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    found = _INFORMATION.search(text)
    assert found
    lanes, context_bytes = map(int, found.groups())
    # Loops of scalar work-items may have vectors of their own; sums keep their order all the same.
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = lanes == 1
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    if has_lane_numbers(text):
        module = llvm.parse_assembly(bound_lane_numbers(str(module)))
    decisions = _DECISIONS.search(text)
    assert decisions
    return bytes(ObjectCode(lanes, context_bytes, machine.emit_object(module), bytes.fromhex(decisions[1])))
