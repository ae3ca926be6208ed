"""Programs that raise the errors' codes, from ``model/code_programs.txt``, completed for the page of errors."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

__all__ = ["FILE", "programs"]

FILE = Path(__file__).parents[1] / "model" / "code_programs.txt"
_HEAD = re.compile(r"^\[(?P<code>[a-z0-9-]+)\] (?P<form>item|group|whole)(?P<compiled> compiled)?\n", re.MULTILINE)
_FORMS = {  # what stands above and below a program's lines
    "item": ("@kapi.kernel\ndef program(item: kapi.Item, a):\n", "kapi.Range(4)"),
    "group": ("@kapi.kernel\ndef program(nd_item: kapi.NdItem, a):\n", "kapi.NdRange(4, 4)"),
}


def programs(text: str) -> dict[str, str]:
    """Return the program of each code.

    Parameters
    ----------
    text : str
        Lines such as those of `FILE`.
    """
    found, heads = {}, list(_HEAD.finditer(text))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = text[head.end() : following.start() if following else None].strip("\n")
        world = "kapi_runtime" if head["compiled"] else "kapi_sim"
        imports = f"import numpy as np\n\nimport {world} as kapi\n\n\n"
        if head["form"] != "whole":
            if "math." in body:
                imports = f"import math\n\n{imports}"
            above, space = _FORMS[head["form"]]
            body = f"{above}{textwrap.indent(body, '    ')}\n\n\nkapi.call_kernel(program, {space}, np.zeros(4))"
        found[head["code"]] = f"{imports}{body}\n"
    return found
