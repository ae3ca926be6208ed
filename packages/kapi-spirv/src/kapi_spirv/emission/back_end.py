"""SPIR-V's back end: LLVM's options, the pipeline of passes, and the emission of SPIR-V.

Faults of LLVM 22's SPIR-V back end, beside those that a pass of `legalize` keeps away:

- One module in a hundred has duplicate ids, and one in ten if one kernel is emitted again and again (60 of 6,000
  emissions of 128 kernels).  `kapi_spirv.duplicate_ids` checks each in 0.2 ms; a new helper process costs 80 ms.
- Ids depend on addresses: two processes give different bytes for one kernel, so modules are never compared by bytes.
- Source lines are dropped (no ``OpLine``): debuggers see none, and failures have their line from a table of the module.
- Structures in variables end the process, so "not optimised" means inlined, with variables in registers.
- A variadic ``printf`` with pointers ends the process: there is one declaration with fixed parameters for each list of
  types.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from kapi_lowering.emission.passes.declarations import drop_unused_declarations
from kapi_lowering.emission.passes.invariant_loads import hoist_invariant_loads
from kapi_lowering.emission.passes.narrow_counters import narrow_counters
from kapi_lowering.emission.pipeline import Pipeline

from .legalize.bit_reversals import expand_bit_reversals
from .legalize.bools import lower_bool_to_float
from .legalize.ldexp import lower_ldexp
from .legalize.linear_groups import linearize_groups
from .legalize.odd_widths import widen_odd_integers
from .legalize.single_function_kernels import inline_all
from .legalize.validation import refuse_unsupported
from .legalize.wide_products import lower_wide_products
from .optimize.float_indices import lower_float_indices
from .optimize.float_remainders import lower_frem
from .optimize.grid_stride_loops import split_grid_stride_loops
from .optimize.index_phis import narrow_index_phis
from .optimize.noalias import ALIASING, set_noalias_metadata
from .optimize.saturating_conversions import expand_saturating_conversions
from .optimize.simple_functions import expand_simple_functions
from .workarounds.called_barriers import inline_convergent_functions
from .workarounds.complements import obscure_complements
from .workarounds.counter_starts import obscure_counter_starts
from .workarounds.float_negation import obscure_float_negation
from .workarounds.id_comparisons import guard_id_comparisons
from .workarounds.integer_negation import obscure_integer_negation
from .workarounds.live_outs import copy_live_outs
from .workarounds.recurrences import break_recurrences
from .workarounds.round_trips import obscure_round_trips
from .workarounds.sines_and_cosines import separate_sines_and_cosines
from .workarounds.unswitching import prevent_loop_unswitching

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
    is_small, are_noalias = request["is_small"], request["reads_apart"]
    return Pipeline(
        {
            "legalize": [
                expand_bit_reversals,
                widen_odd_integers,
                linearize_groups,
                lower_ldexp,
                lower_wide_products,
                lower_bool_to_float,
                drop_unused_declarations,
                refuse_unsupported,
            ],
            "optimize": [
                lower_float_indices.with_options(is_small=is_small),
                expand_saturating_conversions,
                lower_frem,
                expand_simple_functions,
                hoist_invariant_loads.with_options(are_noalias=are_noalias),
                narrow_counters,
                split_grid_stride_loops,
                *([narrow_index_phis] if is_small else []),
            ],
            "workarounds": [
                copy_live_outs,
                prevent_loop_unswitching,
                obscure_integer_negation,
                break_recurrences,
                obscure_float_negation,
                obscure_round_trips,
                obscure_counter_starts,
                separate_sines_and_cosines,
                guard_id_comparisons,
                obscure_complements,
            ],
            "finish": [
                set_noalias_metadata.with_options(is_enabled=are_noalias and ALIASING in request["extensions"]),
                drop_unused_declarations,
            ],
        }
    )


def emit(machine: Any, text: str) -> bytes:
    """The SPIR-V of repaired IR."""
    code: bytes = machine.emit_object(llvm.parse_assembly(text))
    return code
