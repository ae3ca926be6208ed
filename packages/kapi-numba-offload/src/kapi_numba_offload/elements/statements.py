"""Statements of a function that may become part of a kernel, and their source locations."""

from __future__ import annotations

from dataclasses import dataclass

from kapi_numba_offload.elements.expression import Node
from kapi_sim.language.source import SourceLocation

__all__ = ["StatementLocation", "Statement"]


@dataclass(frozen=True, slots=True)
class StatementLocation(SourceLocation):
    """Source location of a statement, with its function, its text, and the first line of the function."""

    function: str
    text: str
    first_line: int = 0

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a region.

    Attributes
    ----------
    node : Node
        Its value.
    target : int or None
        The leaf whose elements it is assigned to; None for a new array.
    in_place : str or None
        The operation of `target op= ...`; `node` is then the entire `target op ...`.
    is_output : bool
        Whether its value is used after the region.
    location : StatementLocation
        Its source location.
    """

    node: Node
    target: int | None
    in_place: str | None
    is_output: bool
    location: StatementLocation
