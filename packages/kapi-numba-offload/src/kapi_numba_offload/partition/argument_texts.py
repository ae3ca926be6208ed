"""Source text of the arguments of a call, for messages that name one of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ArgumentTexts"]


@dataclass(frozen=True, slots=True)
class ArgumentTexts:
    """The texts of a call's arguments, as they were before it was rewritten.

    Attributes
    ----------
    by_position : tuple of str
        Those by position; an argument with a star begins with it.
    by_name : dict of str
        Those by keyword; the text of `**words` by the empty name.
    """

    by_position: tuple[str, ...]
    by_name: dict[str, str]

    @classmethod
    def of_call(cls, node: ast.Call) -> ArgumentTexts:
        """The texts for a call in the source."""
        by_position = tuple(map(ast.unparse, node.args))
        return cls(by_position, {each.arg or "": ast.unparse(each.value) for each in node.keywords})

    def spelled(self, count: int, names: Iterable[str] = ()) -> list[str]:
        """The texts for as many arguments by position as a call was given, and for those by keyword.

        Items of an argument with a star are spelled with their index, as far as their number is known.
        """
        texts = list(self.by_position)
        stars = [number for number, each in enumerate(texts) if each.startswith("*")]
        if len(stars) == 1:
            starred = texts[stars[0]][1:]
            items = [f"{starred}[{number}]" for number in range(count - len(texts) + 1)]
            texts[stars[0] : stars[0] + 1] = items
        elif stars:
            texts = [f"argument {number + 1}" for number in range(count)]
        others = self.by_name.get("", "words")
        return [*texts, *(self.by_name.get(each, f"{others}[{each!r}]") for each in names)]
