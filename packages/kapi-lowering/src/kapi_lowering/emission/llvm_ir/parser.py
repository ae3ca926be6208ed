"""Parser of LLVM IR's text, as LLVM prints it."""

from __future__ import annotations

import re

from .forms import MARK
from .instructions import Argument, Block, Instruction, LocalValue
from .module import Function, Module
from .syntax import KNOWN, form_of
from .types import OPAQUE, VOID, IRType, scan_type
from .values import IRValue

__all__ = ["parse_function_head", "parse_module"]

_SYMBOL = re.compile(r'@(?:[-\w.$]+|"[^"]*")')
_LOCAL = re.compile(r'(%(?:[-\w.$]+|"[^"]*"))')
_LABEL = re.compile(r'([-\w.$]+|"[^"]*"):')
_MADE = re.compile(r'  (%(?:[-\w.$]+|"[^"]*")) = ')
_ASSIGNED = re.compile(r'([@%](?:[-\w.$]+|"[^"]*")) = (.*)')
_NODE = re.compile(r"!(\d+) = (.*)")
_NAMED_NODE = re.compile(r"(![-\w.$\\]+) = (.*)")
_GROUP = re.compile(r"attributes (#\d+) = \{(.*)\}$")
_ATTACHED = re.compile(r'(?:, ![\w.]+ (?:![\w.]*(?:\((?:[^()"]|"[^"]*")*\)|\{[^}]*\})?))+$')


def parse_module(text: str) -> Module:
    """The module of a text.

    - `text`: what LLVM prints, or what is written as LLVM prints it: one instruction a line, two spaces in front.
    """
    module = Module()
    lines = text.split("\n")
    number, end = 0, len(lines)
    while number < end:
        line = lines[number]
        number += 1
        if not line or line[0] == ";":
            continue
        if line.startswith("define "):
            start = number
            while lines[number] != "}":
                number += 1
            function = parse_function_head(module, line[7 : line.rindex("{")].rstrip())
            module.functions[function.name] = function
            _Body(function, module.types).read(lines[start:number])
            number += 1
        elif line.startswith("declare "):
            function = parse_function_head(module, line[8:])
            module.functions[function.name] = function
        elif line[0] == "!":
            node = _NODE.match(line)
            named = None if node else _NAMED_NODE.match(line)
            if node:
                module.metadata[int(node[1])] = node[2]
            elif named:
                module.named_metadata[named[1]] = named[2]
            else:
                module.header.append(line)
        elif group := _GROUP.match(line):
            module.attributes[group[1]] = group[2]
        elif assigned := _ASSIGNED.match(line):
            (module.globals if line[0] == "@" else module.types)[assigned[1]] = assigned[2]
        else:
            module.header.append(line)
    return module


def parse_function_head(module: Module, text: str) -> Function:
    """The function that a head declares: its text from linkage to attributes, without ``declare``."""
    symbol = _SYMBOL.search(text)
    assert symbol, text
    prefix = text[: symbol.start()]
    at = symbol.end() + 1
    parameters: list[Argument] = []
    is_variadic = False
    while not text.startswith(")", at):
        if text.startswith("...", at):
            is_variadic = True
            at += 3
            continue
        type_, at = scan_type(text, at)
        stop = _end_of_parameter(text, at)
        attributes, _, name = text[at:stop].rpartition(" %")
        if not name or not _LOCAL.fullmatch(f"%{name}"):
            attributes, name = text[at:stop], ""
        parameters.append(Argument(type_, _name(name), attributes))
        at = stop
        while text.startswith((",", " "), at):
            at += 1
    return Function(module, prefix, symbol[0], _result(prefix), parameters, text[at + 1 :], is_variadic)


def _end_of_parameter(text: str, at: int) -> int:
    """Return the end of a parameter: a comma or the end of the list, outside of parentheses."""
    depth = 0
    while depth or text[at] not in ",)":
        if text[at] == '"':
            at = text.index('"', at + 1)
        depth += (text[at] in "({[<") - (text[at] in ")}]>")
        at += 1
    return at


def _result(prefix: str) -> IRType:
    """The type at the end of what stands in front of a function's name."""
    text = prefix.rstrip()
    for at in (0, *(found.end() for found in re.finditer(" ", text))):
        try:
            type_, end = scan_type(text, at)
        except ValueError:
            continue
        if end == len(text):
            return type_
    return VOID


def _name(text: str) -> str | None:
    return None if not text or text.isdigit() else text


class _Body:
    """The lines between a function's braces."""

    def __init__(self, function: Function, types: dict[str, str]) -> None:
        self._function = function
        self._types = types
        self._locals: dict[str, LocalValue] = {}
        count = 0
        for each in function.parameters:
            if each.name is None:
                self._locals[f"%{count}"] = each
                count += 1
            else:
                self._locals[each.ref] = each
        self._first_label = str(count)

    def read(self, lines: list[str]) -> None:
        """Make blocks and instructions, first all of them, and then the operands of each."""
        function, names = self._function, self._locals
        made: list[tuple[Instruction, str]] = []
        block: Block | None = None
        add = made.append
        for line in lines:
            if not line:
                continue
            if line[0] != " ":
                label = _LABEL.match(line)
                if label is None:
                    continue  # a comment
                block = self._block(label[1])
                instructions = block.instructions
                continue
            if block is None:
                block = self._block(self._first_label)
                instructions = block.instructions
            if line.startswith(("   ", "  ]")) and "#dbg" not in line:
                instruction, text = made.pop()
                add((instruction, f"{text}\n{line}"))
                continue
            given = _MADE.match(line)
            if given is None:
                instruction = Instruction(None)
                instruction.ref = ""
                add((instruction, line[2:]))
            else:
                name = given[1]
                instruction = Instruction(None if name[1:].isdigit() else name[1:])
                names[name] = instruction
                add((instruction, line[given.end() :]))
            instruction.block = block
            instructions.append(instruction)
        known = KNOWN
        for instruction, text in made:
            if ", !" in text:
                text, instruction.metadata = _without_attachments(text)
            pieces = _LOCAL.split(text)
            operands: list[IRValue] | None
            if len(pieces) == 1:
                filling, operands = known.get(text) or form_of(text), []
            else:
                try:
                    operands = [names[each] for each in pieces[1::2]]
                    key = MARK.join(pieces[::2])
                except KeyError:
                    key, operands = self._with_types(pieces)
                filling = known.get(key) or form_of(key)
            if filling.slots is not None:
                given_ones = iter(operands)
                operands = [next(given_ones) if slot is None else slot for slot in filling.slots]
            form = filling.form
            if form.type is OPAQUE and not instruction.ref:
                form = form.as_void()
            instruction.form, instruction.opcode, instruction.type = form, form.opcode, form.type
            instruction.operands = operands
            for each in operands:
                if isinstance(each, LocalValue):
                    each.users.append(instruction)
        assert function.blocks

    def _block(self, label: str) -> Block:
        block = Block(self._function, _name(label))
        self._locals[f"%{label}"] = block
        self._function.blocks.append(block)
        return block

    def _with_types(self, pieces: list[str]) -> tuple[str, list[IRValue]]:
        """The key and operands of a text in which some of the names are those of types, or stand in a text."""
        operands: list[IRValue] = []
        key = pieces[0]
        for name, following in zip(pieces[1::2], pieces[2::2], strict=True):
            local = self._locals.get(name)
            if local is None:
                key += name + following
            else:
                operands.append(local)
                key += MARK + following
        return key, operands


def _without_attachments(text: str) -> tuple[str, str]:
    """An instruction without its metadata attachments, and these."""
    found = _ATTACHED.search(text)
    return (text[: found.start()], found[0]) if found else (text, "")
