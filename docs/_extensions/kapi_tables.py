"""Tables that are made from the sources: ``{kapi-table} NAME`` prints what the packages know of themselves.

- ``intrinsics FAMILY``: the rows of the table of intrinsics of one family
- ``functions OWNER``: those of `math`, `cmath` or `numpy`, how a device has them, and how many cases check both worlds
- ``operators``: the operators of group algorithms
- ``errors``: each error, its builtin base, and what happened
- ``numpy-functions``: what becomes of each NumPy function in a function that is offloaded
- ``fallback-reasons``: why something runs on the host all the same
- ``numba-cuda-works`` and ``numba-cuda-refused``: what of numba.cuda the simulator has, and what not and why
- ``versions``: what each package depends on, from its pyproject

``{kapi-error} NAME`` prints cause and cure of one error, and ``{kapi-codes}`` each code with its cause, as an anchor of
the page.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import kapi_numba_offload
import kapi_sim.language
from kapi_sim.codes import FAMILIES
from kapi_sim.errors import ERRORS
from kapi_sim.numba_cuda.support import REFUSED, WORKS
from kapi_sim.testing.conformance import CASES

PACKAGES = Path(__file__).parents[2] / "packages"


def intrinsics(family: str) -> tuple[Sequence[str], list[Sequence[str]]]:
    """All rows of one family of the language."""
    found = kapi_sim.language.rows(family=family)
    if not found:
        raise ValueError(f"family must be one of the table's, got {family!r}")
    heads = ["name", "meaning", "gives", "SYCL 2020", "SPIR-V"]
    cells = []
    for row in found:
        names = ", ".join(
            name if default is None else f"{name}={getattr(default, '__name__', default)}"
            for name, _, default in row.parameters
        )
        call = row.key if row.kind == "property" else f"{row.key}({names})"
        cells.append([f"`{call}`", row.meaning, row.returns, row.sycl, row.spirv])
    return heads, cells


def functions(owner: str) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The functions of one module, each with its status in both worlds."""
    checked = Counter(key for case in CASES for key in case.covers)
    has_ulp = owner != "cmath"
    cells = []
    for row in kapi_sim.language.rows(owner):
        first, *others = row.parameters
        names = first[0] + "".join(f", {name}" if default is None else f"[, {name}]" for name, _, default in others)
        how = row.spirv.removeprefix("OpenCL.std ")
        device = "composed" if how == "composed" else f"`{how}`"
        ulp = ["" if row.ulp is None else f"{row.ulp:g}"] if has_ulp else []
        cells.append([f"`{row.name}({names})`", row.meaning, row.returns, device, str(checked[row.key]), *ulp])
    return ["function", "meaning", "gives", "on a device", "cases", *(["ulp (float32)"] if has_ulp else [])], cells


def _shown(default: object) -> object:
    return f"np.{default.__name__}" if isinstance(default, type) else default


def operators() -> tuple[Sequence[str], list[Sequence[str]]]:
    """The operators of reductions and scans."""
    return ["operator", "identity", "for"], [
        [f"`{row.name}`", f"`{row.identity}`", ", ".join(row.kinds) if not isinstance(row.kinds, str) else row.kinds]
        for row in kapi_sim.language.OPERATORS
    ]


def errors() -> tuple[Sequence[str], list[Sequence[str]]]:
    """The errors, each with a link to its section on the page."""
    return ["error", "what happened", "is also a", "raised by"], [
        [_to_section(row.error.__name__), row.cause, f"`{row.builtin.__name__}`", row.package] for row in ERRORS
    ]


def _to_section(error: str) -> str:
    return f"[{error}](#{error.lower()})"


def numpy_functions() -> tuple[Sequence[str], list[Sequence[str]]]:
    """NumPy's functions by what becomes of them."""
    found: dict[str, list[str]] = {status: [] for status in kapi_numba_offload.STATUSES}
    for name in kapi_numba_offload.numpy_functions():
        found[kapi_numba_offload.status(name)].append(f"`{name}`")
    return ["status", "meaning", "functions"], [
        [status, meaning, " ".join(found[status])] for status, meaning in kapi_numba_offload.STATUSES.items()
    ]


def fallback_reasons() -> tuple[Sequence[str], list[Sequence[str]]]:
    """The reasons of `OffloadFallbackWarning`."""
    return ["reason", "what stands in the way", "the way out"], [
        [f"`{key}`", reason.text, reason.cure] for key, reason in kapi_numba_offload.REASONS.items()
    ]


def numba_cuda_works() -> tuple[Sequence[str], list[Sequence[str]]]:
    """The names of numba.cuda that the simulator has, by subject."""
    return ["subject", "names in `cuda`", "what to know"], [
        [subject, " ".join(f"`{name}`" for name in names.split()), note] for subject, (names, note) in WORKS.items()
    ]


def numba_cuda_refused() -> tuple[Sequence[str], list[Sequence[str]]]:
    """Those that it does not have, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in REFUSED.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    return ["names", "why not"], [[" ".join(names), reason] for reason, names in reasons.items()]


def versions() -> tuple[Sequence[str], list[Sequence[str]]]:
    """Each package's version, Python and dependencies."""
    cells = []
    for file in sorted(PACKAGES.glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        needs = ", ".join(f"`{each}`" for each in project.get("dependencies", []))
        cells.append([f"`{project['name']}`", project["version"], project["requires-python"], needs])
    return ["package", "version", "Python", "depends on"], cells


TABLES: dict[str, Callable[..., tuple[Sequence[str], list[Sequence[str]]]]] = {
    "intrinsics": intrinsics,
    "functions": functions,
    "operators": operators,
    "errors": errors,
    "numpy-functions": numpy_functions,
    "fallback-reasons": fallback_reasons,
    "numba-cuda-works": numba_cuda_works,
    "numba-cuda-refused": numba_cuda_refused,
    "versions": versions,
}


class KapiTable(SphinxDirective):
    """``{kapi-table} NAME [ARGUMENT]``."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the table as markdown, and let the page's own parser read it."""
        heads, cells = TABLES[self.arguments[0]](*self.arguments[1:])
        lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
        lines += ["| " + " | ".join(_cell(each) for each in row) + " |" for row in cells]
        return _parsed(self, lines)


class KapiError(SphinxDirective):
    """``{kapi-error} NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Print the error's row."""
        (row,) = (row for row in ERRORS if row.error.__name__ == self.arguments[0])
        return _parsed(self, [f"*What happened:* {row.cause}.", "", f"*The way out:* {row.cure}."])


class KapiCodes(SphinxDirective):
    """``{kapi-codes}``."""

    def run(self) -> list[nodes.Node]:
        """Print the codes by family; each is the anchor of its line."""
        found: list[nodes.Node] = []
        for family, rows in FAMILIES.items():
            listed = nodes.definition_list()
            for code, meaning in rows.items():
                term = nodes.term("", "", nodes.literal(text=code), ids=[code])
                listed += nodes.definition_list_item("", term, nodes.definition("", *_parsed(self, [f"{meaning}."])))
            found += [nodes.rubric(text=family), listed]
        return found


def _parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """The nodes that the page's own parser makes of these lines."""
    container = nodes.container()
    directive.state.nested_parse(StringList(lines, directive.get_source_info()[0]), directive.content_offset, container)
    return container.children


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*") if "`" not in text else text.replace("|", "\\|")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("kapi-table", KapiTable)
    app.add_directive("kapi-error", KapiError)
    app.add_directive("kapi-codes", KapiCodes)
    return {"parallel_read_safe": True}
