"""Numbers of lanes that LLVM's code generator must not believe.

LLVM hoists an extractelement out of the branch under which its index is a lane's number, such as the last one of a mask
that is not empty. Elsewhere the index is poison, and so is the result, which is not used. The code generator reads the
vector from the stack all the same, at an index that it does not bound where poison would be needed to exceed it, as of
a count of zeros: the read was of any address. A frozen index is bounded.
"""

from __future__ import annotations

import re

__all__ = ["bound_lane_numbers", "has_lane_numbers"]

_EXTRACTION = re.compile(
    r"^(?P<before> *%\S+ = extractelement <(?P<lanes>\d+) x .*, (?P<type>i\d+)) (?P<lane>%[\w.$-]+)(?=,|$)",
    re.MULTILINE,
)


def has_lane_numbers(text: str) -> bool:
    """Whether a module takes elements of vectors by numbers that are known only at run time."""
    return _EXTRACTION.search(text) is not None


def bound_lane_numbers(text: str) -> str:
    """The module with all numbers of lanes that are known only at run time frozen and within their vectors."""
    count = 0

    def bounded(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        type_, name = found["type"], f"%kapi.lane.{count}"
        most = (1 << (int(found["lanes"]) - 1).bit_length()) - 1
        return (
            f"  {name}.frozen = freeze {type_} {found['lane']}\n"
            f"  {name} = and {type_} {name}.frozen, {most}\n"
            f"{found['before']} {name}"
        )

    return _EXTRACTION.sub(bounded, text)
