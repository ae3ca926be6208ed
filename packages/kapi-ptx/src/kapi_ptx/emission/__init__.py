"""PTX's part of the helper process: the target machine, libdevice, validation, and the back end.

The helper loads this folder alone: it may import llvmlite, its own modules, relatively, and what finds libdevice.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

from .back_end.saturations import hide_ones
from .back_end.scratch_barriers import settle_barriers
from .back_end.shift_counts import define_shifts, mask_shift_counts
from .back_end.signs import write_signs_out
from .back_end.validation import misspelled_names
from .ir.line_notes import keeping_lines
from .ir.value_names import name_values
from .libdevice.library import LibraryError, library
from .libdevice.linking import link
from .libdevice.mathematics import name_functions, needed_functions
from .speed.carried_values import carry_values
from .speed.coarsening import with_coarse_entry
from .speed.constant_loads import mark_constant_loads
from .speed.dimensions import with_known_extents
from .speed.early_loads import load_early
from .speed.narrow_counters import narrow_counters
from .speed.wide_products import write_wide_products

__all__ = ["emit", "prepare", "repair", "start", "target_machine"]

_MERGED = re.compile(r"^(@kapi_\w+ = )linkonce_odr ", re.MULTILINE)


def start() -> None:
    """Set LLVM's options of the process, once."""
    # A condition of two parts is then one, where the second costs no more than a branch. Else a loop has two exits.
    llvm.set_option("", "-bonus-inst-threshold=16")
    # Loops are unrolled as much as NVIDIA's own compiler does.
    llvm.set_option("", "-unroll-threshold=300")
    llvm.set_option("", "-unroll-partial-threshold=75")


def target_machine(request: dict[str, Any]) -> Any:
    """LLVM's target machine for a request, which has what `PtxTarget.emission_request` gave."""
    target = llvm.Target.from_triple(request["triple"])
    version = request["version"].replace(".", "")
    return target.create_target_machine(cpu=f"sm_{request['sm']}", features=f"+ptx{version}", opt=3)


def prepare(sources: list[str]) -> list[str]:
    """The texts of IR as passes are to have them."""
    return with_known_extents(sources)


def repair(text: str, request: dict[str, Any]) -> tuple[str, list[str]]:
    """Optimised IR with the functions of libdevice that it needs, and what PTX cannot express."""
    # What modules had in common is one module's now; PTX has no weak variables in shared memory.
    text = name_functions(_MERGED.sub(r"\1internal ", text))
    text = name_values(settle_barriers(text), "first")
    is_optimised = request["passes"] == "all"
    if is_optimised:
        text = keeping_lines(text, lambda part: write_wide_products(narrow_counters(carry_values(part))))
    if request["reads_apart"]:
        text = mark_constant_loads(text)
    if is_optimised:
        text = load_early(text)
        if request["is_coarsened"]:
            text = with_coarse_entry(text)
    problems = misspelled_names(text)
    if problems:
        return text, problems
    needed = needed_functions(text)
    if needed:
        try:
            functions = library(needed, request["cache"]).functions(needed, request["sm"])
        except LibraryError as error:
            return text, [str(error)]
        text = name_values(link(text, define_shifts(functions), request, target_machine(request)), "linked")
        if is_optimised:
            text = load_early(text)
    return mask_shift_counts(text), []


def emit(machine: Any, text: str) -> bytes:
    """The PTX of repaired IR."""
    code: str = machine.emit_assembly(llvm.parse_assembly(text))
    return hide_ones(write_signs_out(code)).encode()
