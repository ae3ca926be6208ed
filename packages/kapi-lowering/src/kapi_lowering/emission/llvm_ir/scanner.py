"""Reading the text of an instruction: words, types, and values."""

from __future__ import annotations

import re

from .forms import MARK
from .types import METADATA, IRType, scan_type
from .values import ConstantValue, constant

__all__ = ["TYPE_START", "Scanner", "UnknownSyntaxError"]


class UnknownSyntaxError(Exception):
    """Syntax that is not known here."""


_WORD = re.compile(r"\s*(?!(?:x86_|ppc_)?[a-z]*fp\d+\b|x86_amx)([a-z_][\w.]*)")
TYPE_START = re.compile(
    r"\s*(?:i\d|ptr\b|half\b|bfloat\b|float\b|double\b|void\b|label\b|metadata\b|token\b|x86_|ppc_|fp128\b|target\(|[<\[{%])"
)
_ATOM = re.compile(
    r'(?:@(?:[-\w.$]+|"[^"]*")|!"[^"]*"|!\d+|-?[\w.+-]+(?: (?:inbounds|nuw|nusw|inrange|sideeffect|alignstack'
    r'|inteldialect|unwind|exact|nsw|splat))*(?: @(?:[-\w.$]+|"[^"]*"))?|!\w*)'
)
_STRING = re.compile(r'c?"[^"]*"')
_SPACES = re.compile(r"\s*")


_ARGUMENT_WORDS = frozenset(
    "align allocalign allocptr alignstack byref byval captures dead_on_return dead_on_unwind dereferenceable "
    "dereferenceable_or_null elementtype immarg inalloca initializes inreg nest noalias nocapture noext nofpclass "
    "nofree nonnull noundef preallocated range readnone readonly returned signext sret swiftasync swifterror swiftself "
    "writable writeonly zeroext".split()
)


class Scanner:
    """Reads a text from its start, and notes the values in it.

    - `text`: the text, with `MARK` for each local value.
    - `at`: the offset of the next letter.
    - `operands`: start and end of each value, its type, and the constant that it is; None of a local value.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.operands: list[tuple[int, int, IRType, ConstantValue | None]] = []

    # -- tokens

    def skip(self, token: str) -> bool:
        """Go over a token if it is next."""
        at = self._spaces()
        if self.text.startswith(token, at):
            self.at = at + len(token)
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.skip(token):
            raise UnknownSyntaxError

    def _spaces(self) -> int:
        found = _SPACES.match(self.text, self.at)
        assert found
        return found.end()

    def word(self) -> str:
        found = _WORD.match(self.text, self.at)
        if found is None:
            raise UnknownSyntaxError
        self.at = found.end()
        return found[1]

    def words(self) -> list[str]:
        """The words in front of a type or a value, each with what stands in its parentheses or the number behind it."""
        found = []
        while not TYPE_START.match(self.text, self.at):
            word = _WORD.match(self.text, self.at)
            if word is None:
                break
            start, self.at = word.start(1), word.end()
            if self.text.startswith("(", self.at):
                self.balanced()
            elif word[1] in ("align", "cc", "alignstack"):
                number = re.compile(r" \d+").match(self.text, self.at)
                self.at = number.end() if number else self.at
            found.append(self.text[start : self.at])
        return found

    def balanced(self) -> None:
        """Go over parentheses, brackets or braces with what is in them."""
        depth = 0
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == MARK:
                raise UnknownSyntaxError
            string = _STRING.match(self.text, self.at) if letter in 'c"' else None
            if string:
                self.at = string.end()
                continue
            self.at += 1
            depth += (letter in "([{<") - (letter in ")]}>")
            if depth == 0:
                return
        raise UnknownSyntaxError

    def type(self) -> IRType:
        type_, self.at = scan_type(self.text, self._spaces())
        return type_

    def value(self, type_: IRType) -> None:
        """Read an operand."""
        start = self._spaces()
        self.at = start
        if self.text.startswith(MARK, start):
            self.at = start + 1
            self.operands.append((start, self.at, type_, None))
            return
        if type_ is METADATA and not self.text.startswith("!", start):
            self.value(self.type())  # a value as metadata
            return
        if self.text[start : start + 1] in ("<", "[", "{"):
            self.balanced()
        elif string := _STRING.match(self.text, start):
            self.at = string.end()
        else:
            atom = _ATOM.match(self.text, start)
            if atom is None:
                raise UnknownSyntaxError
            self.at = atom.end()
            if atom[0].startswith("asm"):
                self._assembly()
            elif self.text.startswith((" (", "("), self.at) and (atom[0][0].isalpha() or atom[0] in ("!",)):
                self.at = self.text.index("(", self.at)
                self.balanced()
            elif atom[0].startswith("!") and self.text.startswith(("(", "{"), self.at):
                self.balanced()
        self.operands.append((start, self.at, type_, constant(type_, self.text[start : self.at])))

    def _assembly(self) -> None:
        """Go over the two texts of inline assembly."""
        found = re.compile(r' ("[^"]*"), "[^"]*"').match(self.text, self.at)
        if found is None:
            raise UnknownSyntaxError
        self.at = found.end()

    def typed(self) -> IRType:
        type_ = self.type()
        self.value(type_)
        return type_

    def words_of_argument(self) -> None:
        """The attributes of an argument, after which a value comes rather than a type."""
        while (word := _WORD.match(self.text, self.at)) and word[1] in _ARGUMENT_WORDS:
            self.at = word.end()
            if self.text.startswith("(", self.at):
                self.balanced()
            elif word[1] in ("align", "alignstack"):
                number = re.compile(r" \d+").match(self.text, self.at)
                self.at = number.end() if number else self.at
