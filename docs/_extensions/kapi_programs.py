"""Programs that raise the errors' codes, from ``model/code_programs.txt``, completed for the page of errors."""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FILE", "GPU", "Program", "programs"]

FILE = Path(__file__).parents[1] / "model" / "code_programs.txt"
GPU = "an NVIDIA GPU"
_HEAD = re.compile(
    r"^\[(?P<code>[a-z0-9-]+)\] (?P<form>item|group|whole|words)(?P<compiled> compiled)?(?: on (?P<needs>.+))?\n",
    re.MULTILINE,
)
_FORMS = {  # what stands above and below a program's lines
    "item": ("@kapi.kernel\ndef program(item: kapi.Item, a):\n", "kapi.Range(4)"),
    "group": ("@kapi.kernel\ndef program(nd_item: kapi.NdItem, a):\n", "kapi.NdRange(4, 4)"),
}


@dataclass(frozen=True, slots=True)
class Program:
    """A program that raises the error of a code.

    Attributes
    ----------
    text : str
        The program, or the sentence that stands for it.
    is_sentence : bool
        Whether no program of a few lines raises the error.
    needs : str, optional
        What has to be there beyond kapi and dpnp.
    """

    text: str
    is_sentence: bool = False
    needs: str | None = None


def programs(text: str) -> dict[str, Program]:
    """Return the program of each code.

    Parameters
    ----------
    text : str
        Lines such as those of `FILE`.
    """
    found, heads = {}, list(_HEAD.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : following.start() if following else None].strip("\n")
        is_sentence = head["form"] == "words"
        completed = " ".join(body.split()) if is_sentence else _completed(head, body)
        found[head["code"]] = Program(completed, is_sentence, head["needs"])
    return found


def _completed(head: re.Match[str], body: str) -> str:
    world = "kapi_runtime" if head["compiled"] else "kapi_sim"
    imported = ["import numpy as np", f"import {world} as kapi"]
    if head["form"] == "whole":
        lines = body.split("\n")
        while not lines[0] or lines[0].startswith(("import ", "from ")):
            imported += filter(None, [lines.pop(0)])
        body = "\n".join(lines)
    else:
        imported += ["import math"] if "math." in body else []
        above, space = _FORMS[head["form"]]
        body = f"{above}{textwrap.indent(body, '    ')}\n\n\nkapi.call_kernel(program, {space}, np.zeros(4))"
    rooms: tuple[list[str], ...] = ([], [], [])  # Python's own, others', kapi's
    for line in imported:
        name = re.split(r"[ .]", line)[1]
        rooms[0 if name in sys.stdlib_module_names else 2 if name.startswith("kapi") else 1].append(line)
    above = "\n\n".join("\n".join(sorted(room)) for room in rooms if room)
    return f"{above}\n\n\n{body}\n"
