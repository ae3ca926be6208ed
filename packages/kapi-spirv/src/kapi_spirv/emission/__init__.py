"""SPIR-V's part of the helper process: LLVM's options, repairs of the IR, validation, and the back end.

The helper loads this folder alone: it may import llvmlite and its own modules, relatively, and nothing else.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from .back_end.bit_reversals import write_out_bit_reversals
from .back_end.bools import choose_floats, misused_bools
from .back_end.linear_groups import linear_groups
from .back_end.powers import name_ldexp
from .back_end.products import name_products
from .back_end.single_functions import inline_all
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

__all__ = ["emit", "prepare", "repair", "start", "target_machine"]


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


def repair(text: str, request: dict[str, Any]) -> tuple[str, list[str]]:
    """Optimised IR as the back end and the drivers take it rightly, and what the back end cannot lower at all."""
    text = name_products(name_ldexp(linear_groups(write_out_bit_reversals(text))))
    text = write_out_conversions(convert_places(text, request["is_small"]))
    text = choose_floats(name_remainders(text))
    problems = forbidden_constructs(text) + misused_bools(text)
    if problems:
        return text, problems
    text = write_out_simple_functions(text)
    text = turn_equally(narrow_counters(read_early(text, request["reads_apart"])))
    if request["is_small"]:
        text = narrow_places(text)
    text = hide_zeros_of_negatives(keep_conditions_in_loops(copy_live_outs(text)))
    text = hide_first_zeros(keep_round_trips(hide_negations(break_recurrences(text))))
    text = hide_complements(compare_ids_rightly(part_sines_and_cosines(text)))
    return tell_apart(define_unknowns(text), request["reads_apart"] and ALIASING in request["extensions"]), []


def emit(machine: Any, text: str) -> bytes:
    """The SPIR-V of repaired IR."""
    code: bytes = machine.emit_object(llvm.parse_assembly(text))
    return code
