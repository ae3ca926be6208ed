"""Modules and functions of LLVM IR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .instructions import Argument, Block, Instruction, LocalValue
from .types import IRType

__all__ = ["Function", "Module"]

_REFERENCE = re.compile(r"#\d+")
_PLAIN_NAME = re.compile(r"[-A-Za-z$._][-\w.$]*")


class Function:
    """A function that is defined or declared.

    - `prefix`: what stands in front of the name: linkage, calling convention, attributes of the result, and its type.
    - `name`: the name without quotes.
    - `is_variadic`: whether it takes arguments of any type after these.
    - `suffix`: what follows the parameters: attributes and their groups.
    - `blocks`: the blocks, the entry first; none of a declaration.
    - `module`: where it stands.
    """

    def __init__(
        self,
        module: Module,
        prefix: str,
        ref: str,
        result: IRType,
        parameters: Sequence[Argument],
        suffix: str,
        is_variadic: bool = False,
    ) -> None:
        self.module = module
        self.prefix, self.ref, self.result, self.suffix = prefix, ref, result, suffix
        self.parameters, self.is_variadic = [*parameters], is_variadic
        self.blocks: list[Block] = []
        self._names: set[str] | None = None
        self._counts: dict[str, int] = {}

    @property
    def name(self) -> str:
        return self.ref[1:].strip('"')

    @property
    def is_declaration(self) -> bool:
        """Whether it has no code."""
        return not self.blocks

    @property
    def entry(self) -> Block:
        """The block where it begins."""
        return self.blocks[0]

    @property
    def words(self) -> list[str]:
        """Linkage, calling convention and the like, of what stands in front of the name."""
        return self.prefix.split()

    @property
    def attributes(self) -> str:
        """The attributes of the function, with those of its groups written out."""
        return _REFERENCE.sub(lambda found: self.module.attributes.get(found[0], ""), self.suffix)

    def instructions(self) -> Iterator[Instruction]:
        """All instructions. They may be changed, erased and inserted on the way; what is inserted is not seen."""
        for block in [*self.blocks]:
            yield from [*block.instructions]

    def parameter(self, name: str) -> Argument | None:
        """The parameter of a name."""
        return next((each for each in self.parameters if each.name == name), None)

    # -- names

    def fresh(self, name: str) -> str:
        """A name that no value of the function has: this one, or with a number; with quotes if it needs them."""
        if self._names is None:
            self._names = {each.name for each in self._locals() if each.name is not None}
        stem = name.strip('"')
        count = self._counts.get(stem, 0)  # those before are taken, and stay so
        while True:
            each = stem if count == 0 else f"{stem}.{count}"
            written = each if _PLAIN_NAME.fullmatch(each) else f'"{each}"'
            count += 1
            if written not in self._names and f'"{each}"' not in self._names:
                self._counts[stem] = count
                self._names.add(written)
                return written

    def _locals(self) -> Iterator[LocalValue]:
        yield from self.parameters
        for block in self.blocks:
            yield block
            yield from block.instructions

    def add_block(self, name: str | None = None, *, before: Block | None = None) -> Block:
        """Add an empty block, at the end or in front of another."""
        block = Block(self, None if name is None else self.fresh(name))
        self.blocks.insert(len(self.blocks) if before is None else self.blocks.index(before), block)
        return block

    # -- text

    def number(self) -> None:
        """Give values without names their numbers, as LLVM counts."""
        count = 0
        for parameter in self.parameters:
            if parameter.name is None:
                parameter.ref = f"%{count}"
                count += 1
        for block in self.blocks:
            if block.name is None:
                block.ref = f"%{count}"
                count += 1
            for each in block.instructions:
                if each.name is None and not each.form.is_void:
                    each.ref = f"%{count}"
                    count += 1

    def head(self) -> str:
        """The text in front of the braces."""
        given = [f"{each.type}{each.attributes}{_named(each, self.is_declaration)}" for each in self.parameters]
        given += ["..."] * self.is_variadic
        return f"{self.prefix}{self.ref}({', '.join(given)}){self.suffix}"

    def __str__(self) -> str:
        if not self.blocks:
            return f"declare {self.head()}"
        self.number()
        lines = [f"define {self.head()} {{"]
        for block in self.blocks:
            if len(lines) > 1:
                lines.append("")
            if block.name is not None or len(lines) > 1:
                lines.append(f"{block.ref[1:]}:")
            for each in block.instructions:
                form = each.form
                code = form.text % tuple([operand.ref for operand in each.operands])
                lines.append(f"  {code}{each.metadata}" if form.is_void else f"  {each.ref} = {code}{each.metadata}")
        lines.append("}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Function {self.head()}>"


def _named(parameter: Argument, is_declaration: bool) -> str:
    return "" if is_declaration and parameter.name is None else f" {parameter.ref}"


class Module:
    """A module of LLVM IR.

    - `header`: the lines in front: the source's name, data layout, triple, assembly, and whatever else is not known
      here.
    - `types`: the named structures, by their names with the percent sign.
    - `globals`: the text of variables and aliases behind the equals sign, by their names with the at sign.
    - `functions`: those that are defined, and those that are only declared, by their names without quotes.
    - `attributes`: the groups of attributes, such as ``#0``.
    - `named_metadata`: named nodes, such as ``!llvm.ident``.
    - `metadata`: numbered nodes.
    """

    def __init__(self) -> None:
        self.header: list[str] = []
        self.types: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: dict[str, Function] = {}
        self.attributes: dict[str, str] = {}
        self.named_metadata: dict[str, str] = {}
        self.metadata: dict[int, str] = {}

    def become(self, other: Module) -> None:
        """Take all that is in another module, which is of no use then."""
        self.__dict__.update(other.__dict__)
        for function in self.functions.values():
            function.module = self

    @property
    def definitions(self) -> list[Function]:
        """The functions that have code."""
        return [each for each in self.functions.values() if each.blocks]

    def add_metadata(self, text: str) -> str:
        """Add a node, and return how it is named; ``{}`` in the text stands for that name."""
        number = max(self.metadata, default=-1) + 1
        self.metadata[number] = text.replace("{}", f"!{number}", 1) if text.startswith("distinct") else text
        return f"!{number}"

    def instructions(self) -> Iterator[Instruction]:
        """All instructions of all functions, as `Function.instructions` gives them."""
        for function in self.definitions:
            yield from function.instructions()

    def __str__(self) -> str:
        parts = [
            *self.header,
            *(f"{name} = {text}" for name, text in self.types.items()),
            *(f"{name} = {text}" for name, text in self.globals.items()),
            *(f"\n{each}" for each in self.functions.values()),
            "",
            *(f"attributes {name} = {{{text}}}" for name, text in self.attributes.items()),
            "",
            *(f"{name} = {text}" for name, text in self.named_metadata.items()),
            *(f"!{number} = {text}" for number, text in self.metadata.items()),
        ]
        return "\n".join(parts) + "\n"
