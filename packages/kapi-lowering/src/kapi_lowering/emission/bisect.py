"""Search for the pass that changed a result: ``python -m kapi_lowering.emission.bisect -- COMMAND``.

The command is run several times, each time with the first few of the passes that may be left out. It is wrong where it
fails. What it compiles must come from the same source each time: the cache on disk is off.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kapi_sim import environment_variables

from .pipeline import OPTIONAL_STAGES

__all__ = ["first_wrong", "main"]


def first_wrong(count: int, is_right: Callable[[int], bool]) -> int | None:
    """The number of the first of `count` passes that makes a result wrong.

    - `count`: how many passes there are.
    - `is_right`: whether the result is right with the first so many.

    The result is from 1 on; 0 if the result is wrong without any; None if it is right with all.
    """
    if is_right(count):
        return None
    if not is_right(0):
        return 0
    right, wrong = 0, count
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if is_right(middle):
            right = middle
        else:
            wrong = middle
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Find the pass for a command, and print it; the status is 0 if one is found."""
    command = [*arguments]
    if command[:1] == ["--"]:
        del command[0]
    if not command:
        print("usage: python -m kapi_lowering.emission.bisect -- COMMAND", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        _status(command, dump=folder)
        pipelines = [json.loads(file.read_text()) for file in sorted(Path(folder).rglob("passes.json"))]
    optional = [[each for each in found if each["stage"] in OPTIONAL_STAGES] for found in pipelines]
    longest = max(optional, key=len, default=[])

    def is_right(limit: int) -> bool:
        status = _status(command, limit=limit)
        print(f"with {limit} of {len(longest)} passes: status {status}")
        return status == 0

    found = first_wrong(len(longest), is_right)
    if found is None:
        print("the command succeeds with all passes")
    elif found == 0:
        print("the command fails without any pass that may be left out")
    else:
        each = longest[found - 1]
        print(f"the command fails from {each['stage']}/{each['name']} on: {each['description']}")
    return 0 if found else 1


def _status(command: Sequence[str], *, limit: int | None = None, dump: str = "") -> int:
    """Return how a command ends with the first `limit` passes."""
    changes = {environment_variables.CACHE.name: "0", environment_variables.DUMP_PASSES.name: dump}
    if limit is not None:
        changes[environment_variables.PASS_LIMIT.name] = str(limit)
    return subprocess.run(command, env=environment_variables.changed(changes), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
