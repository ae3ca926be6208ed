"""Print the sessions of a family as a JSON list, for a workflow's matrix: ``python tools/session_names.py nightly``.

The family is the session of that name, or its parts if it is parametrised, and those whose names begin with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

__all__ = ["main", "session_names"]

ROOT = Path(__file__).parents[1]


def session_names(family: str, root: Path = ROOT) -> list[str]:
    """Return the sessions whose names begin with `family`.

    Parameters
    ----------
    family : str
        A session's name, without its parameters.
    root : Path
        The repository.
    """
    command = [sys.executable, str(root / "noxfile.py"), "--list", "--json", "-k", family]
    listed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
    return [str(each["session"]) for each in listed if str(each["session"]).startswith(family)]


def main(family: str) -> int:
    """Print them; 1 if there is none."""
    names = session_names(family)
    print(json.dumps(names))
    return 0 if names else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
