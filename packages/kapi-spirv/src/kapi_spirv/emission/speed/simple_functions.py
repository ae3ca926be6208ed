"""Minima, maxima and absolute values in loops as instructions: compilers make vectors of loops without calls."""

from __future__ import annotations

import re

from ..ir.functions import Function, bounds, derived

__all__ = ["write_out_simple_functions"]

_CALLED = re.compile(
    r"^  (%\"[^\"]*\"|%[-\w.$]+) = (?:tail |musttail |notail )?call (?:[^@]* )?@llvm\.([us]m(?:in|ax)|f?abs)\.[if]\d+"
    r"\((i\d+|float|double) (?:noundef )?([^\s,()]+)(?:, (?:i\d+) (?:noundef )?([^\s,()]+))?\)(?:.*?(, !dbg !\d+))?.*$"
)
_IS_FIRST = {"smin": "slt", "smax": "sgt", "umin": "ult", "umax": "ugt"}
_OF_BITS = {"float": ("i32", 2**31 - 1), "double": ("i64", 2**63 - 1)}


def write_out_simple_functions(text: str) -> str:
    """LLVM IR text in which loops compare and choose, in place of calls.

    The back end makes calls of OpenCL's functions of LLVM's ``smin``, ``abs``, ``fabs`` and their like. Intel's
    compiler for CPUs has vectors of these for work-items side by side, but makes no vectors of a loop that calls them.
    Of comparisons and of masks it makes one instruction again.
    """
    if not re.search(r" call [^@]*@llvm\.(?:[us]m(?:in|ax)|f?abs)\.", text):
        return text
    lines = text.split("\n")
    for first, last in bounds(lines):
        found = [number for number in range(first, last) if _CALLED.match(lines[number])]
        if found:
            function = Function(lines, first, last)
            in_loops = set().union(*(function.blocks[block] for loop in function.loops() for block in loop.blocks))
            for number in found:
                if number in in_loops:
                    lines[number] = _CALLED.sub(_written_out, lines[number])
    return "\n".join(lines)


def _written_out(call: re.Match[str]) -> str:
    name, function, type_, one, other, rest = call.groups("")
    first, second = derived(name, "first"), derived(name, "second")
    if function == "fabs":
        bits, mask = _OF_BITS[type_]
        return (
            f"  {first} = bitcast {type_} {one} to {bits}{rest}\n"
            f"  {second} = and {bits} {first}, {mask}{rest}\n"
            f"  {name} = bitcast {bits} {second} to {type_}{rest}"
        )
    if function == "abs":
        return (
            f"  {first} = icmp slt {type_} {one}, 0{rest}\n"
            f"  {second} = sub {type_} 0, {one}{rest}\n"
            f"  {name} = select i1 {first}, {type_} {second}, {type_} {one}{rest}"
        )
    return (
        f"  {first} = icmp {_IS_FIRST[function]} {type_} {one}, {other}{rest}\n"
        f"  {name} = select i1 {first}, {type_} {one}, {type_} {other}{rest}"
    )
