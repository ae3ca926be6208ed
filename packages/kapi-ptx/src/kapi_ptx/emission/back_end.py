"""PTX's back end: the target machine, the pipeline of passes, and the emission of PTX."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from kapi_lowering.emission.passes.declarations import drop_unused_declarations
from kapi_lowering.emission.passes.narrow_counters import narrow_counters
from kapi_lowering.emission.pipeline import Pipeline

from .legalize.merged_globals import internalize_merged_globals
from .legalize.scratch_barriers import insert_scratch_barriers
from .legalize.shift_counts import mask_shift_counts
from .legalize.validation import refuse_misspelled_names
from .libdevice.linking import link_libdevice
from .libdevice.mathematics import lower_to_libdevice
from .optimize.ballots import reduce_bits_by_ballots
from .optimize.coarsening import add_coarse_entry
from .optimize.constant_loads import mark_invariant_loads
from .optimize.early_loads import schedule_loads_early
from .optimize.known_extents import with_known_extents
from .optimize.predictive_commoning import carry_values_across_iterations
from .optimize.rare_branches import keep_rare_branches
from .optimize.strided_loops import unroll_strided_loops
from .optimize.unrolling import guide_unrolling, needs_guide
from .optimize.wide_products import widen_products
from .workarounds.saturations import hide_ones
from .workarounds.signs import write_signs_out
from .workarounds.truncating_stores import store_bits

__all__ = ["emit", "guide_unrolling", "needs_guide", "pipeline", "prepare", "start", "target_machine"]


def start() -> None:
    """Set LLVM's options of the process, once."""
    # A condition of two parts is then one, where the second costs no more than a branch. Else a loop has two exits.
    llvm.set_option("", "-bonus-inst-threshold=16")
    # Loops are unrolled as much as NVIDIA's own compiler does.
    llvm.set_option("", "-unroll-threshold=300")
    llvm.set_option("", "-unroll-partial-threshold=150")


def target_machine(request: dict[str, Any]) -> Any:
    """LLVM's target machine for a request, which has what `PtxTarget.emission_request` gave."""
    target = llvm.Target.from_triple(request["triple"])
    version = request["version"].replace(".", "")
    return target.create_target_machine(cpu=f"sm_{request['sm']}", features=f"+ptx{version}", opt=3)


def prepare(sources: list[str]) -> list[str]:
    """The texts of IR as passes are to have them."""
    return with_known_extents(sources)


def pipeline(request: dict[str, Any]) -> Pipeline:
    """The passes for a request: IR with the functions of libdevice that it needs, as PTX can express it."""
    is_optimised, reads_apart = request["passes"] == "all", request["reads_apart"]
    schedule = [schedule_loads_early] if is_optimised else []
    loops = [carry_values_across_iterations, narrow_counters, unroll_strided_loops, widen_products]
    return Pipeline(
        {
            "legalize": [
                internalize_merged_globals,
                lower_to_libdevice,
                insert_scratch_barriers,
                refuse_misspelled_names,
            ],
            "optimize": [
                *([reduce_bits_by_ballots, *loops] if is_optimised else []),
                *([mark_invariant_loads] if reads_apart else []),
                *schedule,
                *([keep_rare_branches] if is_optimised else []),
                *([add_coarse_entry] if is_optimised and request["is_coarsened"] else []),
            ],
            "link": [
                drop_unused_declarations,
                link_libdevice.with_options(request=request, target_machine=target_machine),
            ],
            "finish": [*schedule, mask_shift_counts],
        }
    )


def emit(machine: Any, text: str) -> bytes:
    """The PTX of repaired IR."""
    code: str = machine.emit_assembly(llvm.parse_assembly(text))
    return store_bits(hide_ones(write_signs_out(code))).encode()
