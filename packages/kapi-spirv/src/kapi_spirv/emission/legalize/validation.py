"""Validation: IR on which LLVM's SPIR-V back end would end the process, or write invalid code, is refused before."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapi_lowering.emission.llvm_ir import I1, Instruction, Module
from kapi_lowering.emission.pipeline import UnsupportedError, module_pass

__all__ = ["refuse_unsupported"]

_INTEGER = re.compile(r"(?<![%@.$\w-])i(\d+)\b(?!:)")
_STRING = re.compile(r'"[^"\n]*"')
_WIDTHS = ("1", "8", "16", "32", "64")
_OVERFLOW = re.compile(r"llvm\.([su](?:add|sub|mul))\.with\.overflow\.")
_BOOL_SHIFT = re.compile(r"llvm\.(fsh[lr])\.(?:v\d+)?i1")
_NO_BOOLS = "mul shl ashr lshr udiv sdiv urem srem".split()


@module_pass
def refuse_unsupported(module: Module) -> None:
    """Name what the back end would end the process on, or make invalid SPIR-V of.

    LLVM's passes leave no such use of bools behind: a product of bools is their `and`, a switch on one is a branch, and
    a variable is no memory. Bools in memory are valid, and lost on their way; invalid SPIR-V may crash a driver.

    Raises `UnsupportedError` if there is any.
    """
    problems: list[str] = []
    known: set[str] = set()
    texts = [*module.types.values(), *module.globals.values(), *(each.head() for each in module.functions.values())]
    misuses: list[str] = []
    for each in module.instructions():
        problems += _forbidden(each)
        misuses += _misused_bools(each)
        known.add(each.form.text)
    widths = dict.fromkeys(found for text in (*texts, *known) for found in _INTEGER.findall(_STRING.sub("", text)))
    odd = [f"{width}-bit integers (i{width})" for width in widths if width not in _WIDTHS]
    if odd or problems or misuses:
        raise UnsupportedError([*dict.fromkeys((*odd, *problems, *misuses))])


def _forbidden(each: Instruction) -> Iterator[str]:
    """Return the problems on which the back end would end the process."""
    callee = each.callee
    if callee.startswith("llvm."):
        if found := _OVERFLOW.match(callee):
            yield f"overflow-checking arithmetic (llvm.{found[1]}.with.overflow)"
        elif callee.startswith("llvm.bitreverse."):
            yield "bit reversal (llvm.bitreverse)"
    elif each.opcode == "atomicrmw" and each.predicate == "nand":
        yield "atomic nand"
    elif each.opcode == "alloca" and each.operands and each.operands[0].integer is None:
        yield f"an array of a size known only at run time (alloca of {each.operands[0]})"


def _misused_bools(each: Instruction) -> Iterator[str]:
    """Return the problems of which the back end makes invalid SPIR-V."""
    types = each.form.operand_types
    if each.opcode in _NO_BOOLS and each.type.scalar is I1:
        yield f"{each.opcode} of bools"
    elif each.opcode == "call" and (found := _BOOL_SHIFT.fullmatch(each.callee)):
        yield f"{found[1]} of bools"
    elif each.opcode == "switch" and types[0] is I1:
        yield "switch on a bool"
    elif each.opcode == "alloca" and re.match(r"(?:\[\d+ x )?i1\b", str(each.form.element)):
        yield "memory of bools (alloca of i1)"
    elif each.opcode == "getelementptr" and any(type_.scalar is I1 for type_ in types[1:]):
        yield "getelementptr with a bool for an index"
