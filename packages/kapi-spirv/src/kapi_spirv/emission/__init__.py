"""SPIR-V's part of the helper process: LLVM's options, repairs of the IR, validation, and the back end.

The helper loads this folder and `kapi_lowering.emission` alone: it may import llvmlite and these, and nothing else.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from kapi_lowering.emission.pipeline import Pipeline, UnsupportedError, text_pass

from .back_end.bit_reversals import write_out_bit_reversals
from .back_end.bools import choose_floats, misused_bools
from .back_end.linear_groups import inline_all, linear_groups
from .back_end.powers import name_ldexp
from .back_end.products import name_products
from .back_end.validation import forbidden_constructs
from .faults.called_barriers import inline_convergent_functions
from .faults.complements import hide_complements
from .faults.counters import hide_first_zeros
from .faults.id_comparisons import compare_ids_rightly
from .faults.live_outs import copy_live_outs
from .faults.negations import hide_negations
from .faults.recurrences import break_recurrences
from .faults.round_trips import keep_round_trips
from .faults.signs import hide_zeros_of_negatives
from .faults.sines import part_sines_and_cosines
from .faults.unswitching import keep_conditions_in_loops
from .ir.unknowns import define_unknowns
from .speed.aliases import ALIASING, tell_apart
from .speed.chosen_places import narrow_places
from .speed.conversions import write_out_conversions
from .speed.converted_places import convert_places
from .speed.early_reads import read_early
from .speed.equal_turns import turn_equally
from .speed.narrowing import narrow_counters
from .speed.remainders import name_remainders
from .speed.simple_functions import write_out_simple_functions

__all__ = ["emit", "pipeline", "prepare", "start", "target_machine"]


def start() -> None:
    """Set LLVM's options of the process, once."""
    # Otherwise induction variables are rewritten in odd widths, which the back end cannot lower.
    llvm.set_option("", "-replexitval=never")
    # The back end's own loop strength reduction counts in odd widths too, and then it widens them without their limits:
    # wrong numbers, without a word.
    llvm.set_option("", "-disable-lsr")


def target_machine(request: dict[str, Any]) -> Any:
    """LLVM's target machine for a request, which has what `SpirvTarget.emission_request` gave."""
    # The option is captured when a target machine is made.
    llvm.set_option("", "--spirv-ext=" + ",".join("+" + name for name in request["extensions"]))
    return llvm.Target.from_triple(request["triple"]).create_target_machine(opt=2)


def prepare(sources: list[str]) -> list[str]:
    """The texts of IR as passes are to have them."""
    return inline_convergent_functions(inline_all(sources))


def pipeline(request: dict[str, Any]) -> Pipeline:
    """The passes for a request: IR as the back end and the drivers take it rightly."""
    is_small, reads_apart = request["is_small"], request["reads_apart"]
    return Pipeline(
        {
            "legalize": [
                text_pass(write_out_bit_reversals),
                text_pass(linear_groups),
                text_pass(name_ldexp),
                text_pass(name_products),
                text_pass(convert_places).with_options(is_small=is_small),
                text_pass(write_out_conversions),
                text_pass(name_remainders),
                text_pass(choose_floats),
                text_pass(refuse),
            ],
            "optimize": [
                text_pass(write_out_simple_functions),
                text_pass(read_early).with_options(are_apart=reads_apart),
                text_pass(narrow_counters),
                text_pass(turn_equally),
                *([text_pass(narrow_places)] if is_small else []),
            ],
            "workarounds": [
                text_pass(copy_live_outs),
                text_pass(keep_conditions_in_loops),
                text_pass(hide_zeros_of_negatives),
                text_pass(break_recurrences),
                text_pass(hide_negations),
                text_pass(keep_round_trips),
                text_pass(hide_first_zeros),
                text_pass(part_sines_and_cosines),
                text_pass(compare_ids_rightly),
                text_pass(hide_complements),
            ],
            "finish": [
                text_pass(define_unknowns),
                text_pass(tell_apart).with_options(is_told=reads_apart and ALIASING in request["extensions"]),
            ],
        }
    )


def refuse(text: str) -> str:
    """Refuse what the back end cannot lower."""
    problems = forbidden_constructs(text) + misused_bools(text)
    if problems:
        raise UnsupportedError(problems)
    return text


def emit(machine: Any, text: str) -> bytes:
    """The SPIR-V of repaired IR."""
    code: bytes = machine.emit_object(llvm.parse_assembly(text))
    return code
