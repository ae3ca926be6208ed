"""A second entry point, whose threads run several work-items each: thread coarsening.

A thread that reads one number and writes one has too little under way to fill the memory's bandwidth. The second entry
point is for large ranges. A block of it does the work of `BLOCKS` blocks that follow each other along x, so that
neighbours still read neighbours. Where the guard lets all of a thread's work-items in, their instructions are written
in turn: the loads of all of them, and then what uses those. Work-items have no order among them, so any order is
theirs. Otherwise a loop looks at each by itself: a guard has the kernel's own condition in it, too.

References
----------
V. Volkov, "Better performance at lower occupancy", GPU Technology Conference 2010.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..ir.patterns import DEFINED, FUNCTION, NAME, next_note

__all__ = ["BLOCKS", "with_coarse_entry"]

BLOCKS = 4
"""Blocks whose work one block of the second entry point does."""

_MOST_INSTRUCTIONS = 128  # of a work-item: more hold registers, and gain nothing where memory is not what they wait for
_MOST_FUNCTIONS = 8  # of libdevice, each of which becomes dozens of instructions

_SIGNATURE = re.compile(r"^define ptx_kernel void @(?P<name>[-\w.$]+)\([^\n]*\{$")
_LABEL = re.compile(r"^(?P<label>\"[^\"\n]+\"|[-\w.$]+):")
_GUARD = re.compile(r"^  br i1 (?P<condition>\S+), label %(?P<yes>\S+), label %(?P<no>[^\s,]+)")
_BLOCK_ID = re.compile(rf"^  (?P<name>{NAME}) = (?:tail )?call i32 @llvm\.nvvm\.read\.ptx\.sreg\.ctaid\.x\(\)")
_OTHER_GRIDS = re.compile(r"@llvm\.nvvm\.read\.ptx\.sreg\.(?:nctaid|ctaid\.x)")
_NOTE = re.compile(r"^  (?:tail )?call void @llvm\.experimental\.noalias\.scope\.decl")
_OF_GLOBAL_MEMORY = re.compile(
    rf"^  (?:{NAME} = load (?!atomic|volatile)[^,]+|store (?!atomic|volatile).+?), ptr addrspace\(1\) "
)
_OF_THE_ARGUMENT = re.compile(rf"^  {NAME} = load (?!atomic|volatile)[^,]+, ptr {NAME}(?:,|$)")
_COMPUTES = re.compile(
    rf"^  {NAME} = (?:getelementptr|(?:s|z|fp|ui|si)?(?:ext|trunc)|add|sub|mul|[us]div|[us]rem|shl|[al]shr|and|or|xor"
    r"|f(?:add|sub|mul|div|rem|neg|cmp|ptosi|ptoui)|uitofp|sitofp|icmp|select|freeze|bitcast|insertvalue|extractvalue) "
)
_PURE_CALL = re.compile(
    rf"^  {NAME} = (?:tail )?call (?:[a-z]+ )*(?:i\d+ asm \"mul\.wide|(?:half|float|double|i\d+) @(?P<name>[\w.]+)\()"
)
_POINTER = re.compile(r"\bptr\b")


def _coarse_name(entry: str) -> str:
    """The name of the second entry point, by that of the first."""
    return f"{entry}_by_{BLOCKS}"


def with_coarse_entry(text: str) -> str:
    """LLVM IR text with the second entry point, if its kernel has no more than a guard and what the guard lets in.

    Loops, branches, atomics, local and private memory, and functions in float64, whose arithmetic takes longer than
    memory does, leave a kernel as it is.
    """
    number = next_note(text)
    coarse = FUNCTION.sub(lambda found: found[0] + _coarse(found[0], text, number), text)
    if coarse == text:
        return text
    # The loop at the edge is for few blocks, and is not worth being unrolled.
    loop = f"!{number} = distinct !{{!{number}, !{number + 1}}}"
    return f'{coarse}\n{loop}\n!{number + 1} = !{{!"llvm.loop.unroll.disable"}}\n'


@dataclass(frozen=True)
class _Kernel:
    """A kernel in its three parts.

    Attributes
    ----------
    head : str
        The line that defines it.
    name : str
        Its name.
    guard : list of str
        The instructions in front of the branch.
    condition : str
        What is branched on.
    goes_in : bool
        What the condition is of work-items in the range.
    body : list of str
        What those do.
    block : str
        The place of the block along x, a name of the guard's.
    """

    head: str
    name: str
    guard: list[str]
    condition: str
    goes_in: bool
    body: list[str]
    block: str


def _coarse(function: str, text: str, loop: int) -> str:
    """The second entry point of a function, or nothing."""
    kernel = _parted(function)
    if kernel is None or not _is_worth_it(kernel, text):
        return ""
    return _written(kernel, loop)


def _parted(function: str) -> _Kernel | None:
    """The parts of a kernel that is a guard, a body, and a return."""
    head, *lines = function.splitlines()
    signature = _SIGNATURE.match(head)
    if signature is None:
        return None
    blocks: dict[str, list[str]] = {}
    label = ""
    for line in lines[:-1]:
        found = _LABEL.match(line)
        if found:
            label = found["label"]
        elif line.strip() and not _NOTE.match(line):
            blocks.setdefault(label, []).append(line)
    if len(blocks) != 3:
        return None
    (_, (*guard, branch)), *others = blocks.items()
    rest = dict(others)
    found = _GUARD.match(branch)
    block = next((each["name"] for each in map(_BLOCK_ID.match, guard) if each), None)
    if found is None or block is None or {found["yes"], found["no"]} != set(rest):
        return None
    goes_in = rest[found["no"]] == ["  ret void"]
    inside, outside = (found["yes"], found["no"]) if goes_in else (found["no"], found["yes"])
    *body, end = rest[inside]
    if rest[outside] != ["  ret void"] or not (end == "  ret void" or end.startswith(f"  br label %{outside}")):
        return None
    return _Kernel(head, signature["name"], guard, found["condition"], goes_in, body, block)


def _is_worth_it(kernel: _Kernel, text: str) -> bool:
    """Whether each instruction may be written several times, and what a work-item does is memory's business."""
    if not any(map(_OF_GLOBAL_MEMORY.match, kernel.body)) or len(kernel.body) > _MOST_INSTRUCTIONS:
        return False
    others = [line for line in kernel.guard if not _BLOCK_ID.match(line)]
    if len(others) != len(kernel.guard) - 1 or any(map(_OTHER_GRIDS.search, [*others, *kernel.body])):
        return False
    if any(map(_OF_GLOBAL_MEMORY.match, kernel.guard)):
        return False
    functions = [line for line in kernel.body if "@__nv_" in line]
    if len(functions) > _MOST_FUNCTIONS or any(" double @__nv_" in line for line in functions):
        return False
    return all(_may_repeat(line, text) for line in [*others, *kernel.body])


def _may_repeat(line: str, text: str) -> bool:
    """Whether an instruction only computes, or reads or writes the work-item's own elements."""
    if _OF_GLOBAL_MEMORY.match(line) or _COMPUTES.match(line) or _OF_THE_ARGUMENT.match(line):
        return True
    called = _PURE_CALL.match(line)
    if called is None:
        return False
    name = called["name"]
    if name is None:
        return True
    if name.startswith("__nv_"):
        return not _POINTER.search(line)
    return name.startswith("llvm.") and _is_pure(name, text)


def _is_pure(name: str, text: str) -> bool:
    """Whether an intrinsic touches no memory and tells nobody anything, by its declaration."""
    declared = re.search(rf"^declare [^\n]*@{re.escape(name)}\([^\n]*#(\d+)$", text, re.MULTILINE)
    group = declared and re.search(rf"^attributes #{declared[1]} = \{{([^\n]*)\}}$", text, re.MULTILINE)
    return group is not None and "memory(none)" in group[1] and "convergent" not in group[1]


def _written(kernel: _Kernel, loop: int) -> str:
    """The second entry point; `loop` is the number of the metadata of its loop."""
    varying = _varying(kernel)
    blocks, turn = '%"coarse.blocks"', '%"coarse.turn"'
    own = set(_defined(kernel.guard)) & varying
    all_own = own | set(_defined(kernel.body))

    def guard(copy: str) -> list[str]:
        return [_renamed(line, own, copy) for line in kernel.guard if _given(line) in varying - {kernel.block}]

    def block(copy: str, place: str) -> str:
        return f"  {_copied(kernel.block, copy)} = add nuw nsw i32 {blocks}, {place}"

    first = [line for line in kernel.guard if _given(line) not in varying or _given(line) == kernel.block]
    copies = [f"of.{each}" for each in range(BLOCKS)]
    *conditions, last = (_renamed(kernel.condition, own, copy) for copy in copies)
    # Everybody is let in: of a condition that lets in, all are true, and of one that keeps out, none.
    joined = [last, *(f'%"coarse.joined.{each}"' for each in range(len(conditions)))]
    entry = [
        *first,
        f"  {blocks} = shl nuw nsw i32 {kernel.block}, {BLOCKS.bit_length() - 1}",
        *(block(copy, str(each)) for each, copy in enumerate(copies)),
        *(line for copy in copies for line in guard(copy)),
        *(
            f"  {joined[each + 1]} = {'and' if kernel.goes_in else 'or'} i1 {joined[each]}, {condition}"
            for each, condition in enumerate(conditions)
        ),
        _branch(joined[-1], kernel.goes_in, "coarse.inside", "coarse.edge"),
    ]
    inside = []
    for line in kernel.body:
        if _given(line) in varying or _given(line) is None:
            inside += [_renamed(line, varying, copy) for copy in copies]
        else:
            inside.append(line)
    edge = [
        f'  {turn} = phi i32 [ 0, %entry ], [ %"coarse.following", %coarse.next ]',
        block("at.edge", turn),
        *guard("at.edge"),
        _branch(_renamed(kernel.condition, own, "at.edge"), kernel.goes_in, "coarse.one", "coarse.next"),
    ]
    one = [*(_renamed(line, all_own, "at.edge") for line in kernel.body), "  br label %coarse.next"]
    following = [
        f'  %"coarse.following" = add nuw nsw i32 {turn}, 1',
        f'  %"coarse.more" = icmp ult i32 %"coarse.following", {BLOCKS}',
        f'  br i1 %"coarse.more", label %coarse.edge, label %coarse.end, !llvm.loop !{loop}',
    ]
    head = kernel.head.replace(f"@{kernel.name}(", f"@{_coarse_name(kernel.name)}(", 1)
    parts: Iterable[tuple[str, list[str]]] = (
        ("entry", entry),
        ("coarse.inside", [*inside, "  br label %coarse.end"]),
        ("coarse.edge", edge),
        ("coarse.one", one),
        ("coarse.next", following),
        ("coarse.end", ["  ret void"]),
    )
    return "\n".join([f"\n{head}", *(line for label, lines in parts for line in (f"{label}:", *lines, "")), "}\n"])


def _varying(kernel: _Kernel) -> set[str]:
    """The values that a thread's work-items do not share: those that depend on the block, and elements."""
    varying = {kernel.block}
    for line in [*kernel.guard, *kernel.body]:
        given = _given(line)
        is_element = _OF_GLOBAL_MEMORY.match(line) and "!invariant.load" not in line
        if given is not None and (is_element or varying & set(_names(line))):
            varying.add(given)
    return varying


def _given(line: str) -> str | None:
    found = DEFINED.match(line)
    return found[1] if found else None


def _defined(lines: Iterable[str]) -> Iterator[str]:
    return (name for name in map(_given, lines) if name is not None)


def _names(line: str) -> list[str]:
    return re.findall(NAME, line)


def _renamed(line: str, names: set[str], copy: str) -> str:
    """A line in which such names are those of a copy."""
    return re.sub(NAME, lambda found: _copied(found[0], copy) if found[0] in names else found[0], line)


def _copied(name: str, copy: str) -> str:
    return f'{name[:-1]}.{copy}"' if name.endswith('"') else f"{name}.{copy}"


def _branch(condition: str, goes_in: bool, inside: str, outside: str) -> str:
    yes, no = (inside, outside) if goes_in else (outside, inside)
    return f"  br i1 {condition}, label %{yes}, label %{no}"
