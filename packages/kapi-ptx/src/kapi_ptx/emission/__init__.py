"""PTX's part of the helper process: the target machine, libdevice, validation, and the back end.

The helper loads this folder and `kapi_lowering.emission` alone: it may import llvmlite, these, and what finds
libdevice.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

from kapi_lowering.emission.pipeline import Pipeline, UnsupportedError, text_pass

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

__all__ = ["emit", "pipeline", "prepare", "start", "target_machine"]

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


def pipeline(request: dict[str, Any]) -> Pipeline:
    """The passes for a request: IR with the functions of libdevice that it needs, and what PTX can express."""
    is_optimised = request["passes"] == "all"
    linking = text_pass(link_libdevice).with_options(request=request)
    optimize = [text_pass(each) for each in (_loops, load_early)] if is_optimised else []
    if request["reads_apart"]:
        optimize.insert(1 if is_optimised else 0, text_pass(mark_constant_loads))
    if is_optimised and request["is_coarsened"]:
        optimize.append(text_pass(with_coarse_entry))
    return Pipeline(
        {
            "legalize": [
                text_pass(internalise),
                text_pass(name_functions),
                text_pass(settle_barriers),
                text_pass(named),
            ],
            "optimize": optimize,
            "finish": [text_pass(refuse), linking, text_pass(mask_shift_counts)],
        }
    )


def internalise(text: str) -> str:
    """What modules had in common is one module's now; PTX has no weak variables in shared memory."""
    return _MERGED.sub(r"\1internal ", text)


def named(text: str) -> str:
    """Names for all values."""
    return name_values(text, "first")


def _loops(text: str) -> str:
    """Loops."""
    return keeping_lines(text, lambda part: write_wide_products(narrow_counters(carry_values(part))))


def refuse(text: str) -> str:
    """Refuse what PTX cannot express."""
    problems = misspelled_names(text)
    if problems:
        raise UnsupportedError(problems)
    return text


def link_libdevice(text: str, request: dict[str, Any]) -> str:
    """Link functions of libdevice."""
    needed = needed_functions(text)
    if not needed:
        return text
    try:
        functions = library(needed, request["cache"]).functions(needed, request["sm"])
    except LibraryError as error:
        raise UnsupportedError([str(error)]) from error
    text = name_values(link(text, define_shifts(functions), request, target_machine(request)), "linked")
    return load_early(text) if request["passes"] == "all" else text


def emit(machine: Any, text: str) -> bytes:
    """The PTX of repaired IR."""
    code: str = machine.emit_assembly(llvm.parse_assembly(text))
    return hide_ones(write_signs_out(code)).encode()
