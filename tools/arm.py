"""kapi-cpu's tests on an emulated ARM processor: ``python tools/arm.py FOLDER [arguments of pytest]``.

The folder keeps a Debian of 64-bit ARM without its boot, and the wheels that the tests need. On Debian and Ubuntu
``apt-get install mmdebstrap qemu-user-static`` brings what the program runs. It is 10 to 30 times as slow as the
machine: conformance takes about an hour.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
SUITE, VERSION = "bookworm", "3.11"
NEEDS = ("mmdebstrap", "qemu-aarch64-static")
WHEELS = ("cloudpickle", "llvmlite==0.50.*", "mpmath", "numba==0.68.*", "numpy", "pytest>=9,<10")
PACKAGES = ("kapi-sim", "kapi-types", "kapi-lowering", "kapi-cpu", "kapi-runtime")
CONFORMANCE = "packages/kapi-cpu/tests/test_conformance.py"


def main(arguments: Sequence[str]) -> int:
    """Make the folder if it is not there, run the tests, and return pytest's exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options, tests = parser.parse_known_args(arguments)
    missing = [name for name in NEEDS if shutil.which(name) is None]
    if missing:
        print(f"{' and '.join(missing)} must be installed: apt-get install mmdebstrap qemu-user-static")
        return 2
    folder = options.folder.resolve()
    system, wheels = folder / "system", folder / "wheels"
    folder.mkdir(parents=True, exist_ok=True)
    if not system.exists():
        python = f"--include=python{VERSION},libstdc++6"  # which the wheels need
        made = ["mmdebstrap", "--variant=extract", "--architectures=arm64", python, SUITE, str(system)]
        subprocess.run(made, check=True)
    if not wheels.exists():
        platforms = [f"--platform=manylinux_2_{glibc}_aarch64" for glibc in (28, 27, 17)]
        only = [*platforms, f"--python-version={VERSION}", "--only-binary=:all:", "--quiet"]
        subprocess.run([sys.executable, "-m", "pip", "install", "--target", str(wheels), *only, *WHEELS], check=True)
    sources = [str(wheels), *(str(ROOT / "packages" / name / "src") for name in PACKAGES)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KAPI"))}
    environment |= {
        "PYTHONPATH": os.pathsep.join(sources),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "KAPI_CACHE_DIR": str(folder / "cache"),
    }
    # The name by which Python would start itself, as kapi's helper process does, must be emulated as well.
    python = folder / "python"
    emulated = f'exec qemu-aarch64-static -0 "{python}" -L "{system}" "{system}/usr/bin/python{VERSION}" "$@"'
    python.write_text(f"#!/bin/sh\n{emulated}\n", "utf-8")
    python.chmod(0o755)
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *(tests or [CONFORMANCE])]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
