"""Write the machine code of launches, which kapi-runtime ships, anew: ``python tools/native_code.py``.

Run it after a change of a native function, of a structure that it reads, or of what compiles it.  With ``--check`` it
writes nothing, and fails if a file is not what it would write.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from kapi_runtime.native.compilation import SETTINGS

MODULES = (
    "kapi_runtime.cuda.native.launching",
    "kapi_runtime.cuda.native.dynamic_launching",
    "kapi_runtime.sycl.native.launching",
)

_MADE = "import sys\nfrom kapi_runtime.native.compilation import machine_code\nprint(machine_code(sys.argv[1]), end='')"


def main(arguments: list[str]) -> int:
    """Write or check the file of each module, each made by a process of its own."""
    stale = 0
    for module in MODULES:
        specification = find_spec(module)
        assert specification is not None
        assert specification.origin is not None
        file = Path(specification.origin).with_suffix(".json")
        environment = {**os.environ, **SETTINGS}
        command = [sys.executable, "-c", _MADE, module]
        made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        if file.exists() and file.read_text(encoding="utf-8") == made.stdout:
            print(f"{file}: as it would be made")
        elif "--check" in arguments:
            stale += 1
            print(f"{file}: differs from what its sources make")
        else:
            file.write_text(made.stdout, encoding="utf-8", newline="\n")
            print(f"{file}: written")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
