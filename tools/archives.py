"""Check the built source archives and wheels: ``python -m tools.archives dist``.

Each distribution must be there as both, its metadata valid, and each archive must hold the licence and the
marker that tells type checkers to read it. The wheels must ask for each other in versions that are there.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.metadata import ExceptionGroup, Metadata
from tools.packages import DISTRIBUTIONS

__all__ = ["check_sdist", "check_siblings", "check_wheel", "main"]


def check_wheel(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, a line each."""
    module, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = f"{module}-{version}.dist-info"
        metadata = archive.read(f"{info}/METADATA")
    wanted = [f"{module}/__init__.py", f"{module}/py.typed", f"{info}/licenses/LICENSE"]
    problems = missing(wheel, names, wanted)
    # Beside the package there may be single private modules, for what must be imported without it.
    tops = {name.split("/")[0] for name in names} - {module, info}
    foreign = sorted(top for top in tops if not (top.startswith("_kapi") and top.endswith(".py")))
    if foreign:
        problems.append(f"{wheel.name} must hold {module} only, got {', '.join(foreign)} too")
    return problems + check_metadata(wheel, metadata)


def check_sdist(sdist: Path) -> list[str]:
    """Return what is wrong with a source archive, a line each."""
    stem = sdist.name.removesuffix(".tar.gz")
    module = stem.split("-")[0]
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        member = archive.extractfile(f"{stem}/PKG-INFO")
        metadata = member.read() if member else b""
    wanted = ["LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", f"src/{module}/py.typed"]
    return missing(sdist, names, [f"{stem}/{name}" for name in wanted]) + check_metadata(sdist, metadata)


def check_metadata(archive: Path, metadata: bytes) -> list[str]:
    """Return what is wrong with an archive's core metadata, a line each."""
    try:
        parsed = Metadata.from_email(metadata, validate=True)
    except ExceptionGroup as group:
        return [f"{archive.name} must have valid metadata, got: {error}" for error in group.exceptions]
    if not parsed.description or parsed.license_expression != "Apache-2.0":
        return [f"{archive.name} must have a description and a licence, got {parsed.license_expression}"]
    return []


def check_siblings(wheels: Sequence[Path]) -> list[str]:
    """Return a line for each requirement of one wheel that no other of them satisfies."""
    parsed = []
    for wheel in wheels:
        module, version = wheel.name.split("-")[:2]
        with zipfile.ZipFile(wheel) as archive:
            parsed.append(Metadata.from_email(archive.read(f"{module}-{version}.dist-info/METADATA"), validate=False))
    versions = {each.name: each.version for each in parsed}
    return [
        f"{each.name} {each.version} must ask for {needed.name} {versions[needed.name]}, got {needed}"
        for each in parsed
        for needed in each.requires_dist or ()
        if needed.name in versions and not needed.specifier.contains(versions[needed.name], prereleases=True)
    ]


def missing(archive: Path, names: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Return a line for each of the `wanted` members that the archive lacks."""
    return [f"{archive.name} must contain {name}, but does not" for name in wanted if name not in names]


def main(folder: Path) -> int:
    """Check all archives in `folder` and return the exit status."""
    problems = []
    wheels: list[Path] = []
    for dist in DISTRIBUTIONS:
        module = dist.replace("-", "_")
        for kind, check in (("-*.whl", check_wheel), ("-*.tar.gz", check_sdist)):
            found = sorted(folder.glob(module + kind))
            if len(found) != 1:
                problems.append(f"{folder} must hold one {module}{kind}, got {len(found)}")
            problems += [line for archive in found for line in check(archive)]
            wheels += [archive for archive in found if archive.suffix == ".whl"]
    problems += check_siblings(wheels)
    print("\n".join(problems) or f"{folder}: the archives of {len(DISTRIBUTIONS)} distributions are complete")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
