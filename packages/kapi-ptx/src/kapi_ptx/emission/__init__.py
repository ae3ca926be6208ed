"""PTX's part of the helper process: the target machine, libdevice, validation, and the back end.

The helper loads this folder alone: it may import llvmlite, its own modules, relatively, and what finds libdevice.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

from .carried_values import carry_values
from .constant_loads import mark_constant_loads
from .dimensions import with_known_extents
from .early_loads import load_early
from .libdevice import LibraryError, library
from .line_notes import keeping_lines
from .linking import link
from .mathematics import name_functions, needed_functions
from .narrow_counters import narrow_counters
from .scratch_barriers import settle_barriers
from .validation import misspelled_names
from .wide_products import write_wide_products

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
    text = settle_barriers(text)
    if request["passes"] == "all":
        text = keeping_lines(text, lambda part: write_wide_products(narrow_counters(carry_values(part))))
    if request["reads_apart"]:
        text = mark_constant_loads(text)
    if request["passes"] == "all":
        text = load_early(text)
    problems = misspelled_names(text)
    needed = needed_functions(text)
    if problems or not needed:
        return text, problems
    try:
        functions = library(needed, request["cache"]).functions(needed, request["sm"])
    except LibraryError as error:
        return text, [str(error)]
    text = link(text, functions, request, target_machine(request))
    return load_early(text) if request["passes"] == "all" else text, []


def emit(machine: Any, text: str) -> bytes:
    """The PTX of repaired IR."""
    code: str = machine.emit_assembly(llvm.parse_assembly(text))
    return code.encode()
