"""Check that this environment holds a kapi package as a wheel, and nothing that the package must do without.

Run with the environment's interpreter: ``python -m tools.isolation kapi-sim``. With ``--exactly``, the
distributions named after it must be all that is installed; with ``--without``, modules named after it must be absent.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.packages import MODULES

__all__ = ["main", "misplaced", "present", "unwanted"]

SIBLINGS = ("kapi_cpu", "kapi_spirv", "kapi_ptx")
"""One layer: none of them is there where another is tested."""

# What a package must work without, besides the packages above it. It is not installed, so even an import by
# name, which no static check sees, fails in the tests.
MUST_DO_WITHOUT = {
    "kapi_sim": ("numba", "llvmlite", "dpctl", "dpnp"),
    "kapi_types": ("dpctl", "dpnp"),
    "kapi_lowering": ("dpctl", "dpnp"),
    "kapi_cpu": ("dpctl", "dpnp"),
    "kapi_spirv": ("dpctl", "dpnp"),
    "kapi_ptx": ("dpctl", "dpnp"),
}


def unwanted(module: str) -> tuple[str, ...]:
    """Return the modules that must be absent where `module` is tested."""
    siblings = [each for each in SIBLINGS if module in SIBLINGS and each != module]
    above = [each for each in MODULES[MODULES.index(module) + 1 :] if each not in siblings]
    return (*siblings, *above, *MUST_DO_WITHOUT.get(module, ()))


def present(modules: Iterable[str]) -> list[str]:
    """Return those of `modules` that can be imported here."""
    return [name for name in modules if importlib.util.find_spec(name)]


def misplaced(modules: Iterable[str], environment: Path) -> list[str]:
    """Return a line for each of `modules` that is not installed in `environment`, with where it was found."""
    lines = []
    for name in modules:
        spec = importlib.util.find_spec(name)
        origin = Path(spec.origin).resolve() if spec and spec.origin else None
        if origin is None or environment.resolve() not in origin.parents:
            lines.append(f"{name} must be installed as a wheel in {environment}, got {origin}")
    return lines


def main(arguments: list[str]) -> int:
    """Check the environment that runs this and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("distribution")
    parser.add_argument("--exactly", nargs="+", metavar="DISTRIBUTION")
    parser.add_argument("--without", nargs="+", metavar="MODULE", default=[])
    options = parser.parse_args(arguments)

    module = options.distribution.replace("-", "_")
    below = set(MODULES[: MODULES.index(module) + 1]) - set(unwanted(module))
    # Of the layers below only what the package depends on is there; what is there must be a wheel.
    problems = misplaced({module, *present(below)}, Path(sys.prefix))
    for name in present((*unwanted(module), *options.without)):
        problems.append(f"{name} must be absent where {module} is tested, but it is there")
    if options.exactly:
        found = {re.sub(r"[-_.]+", "-", each.name).lower() for each in importlib.metadata.distributions()}
        if found != set(options.exactly):
            problems.append(f"{sys.prefix} must hold exactly {sorted(options.exactly)}, got {sorted(found)}")
    print("\n".join(problems) or f"{options.distribution}: isolated")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
