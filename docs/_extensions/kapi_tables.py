"""Tables that are made from the sources: ``{kapi-table} NAME`` prints what the packages know of themselves.

- ``errors``: each error, its builtin base, and what happened
- ``fallback-reasons``: why something runs on the host all the same
- ``numba-cuda-works`` and ``numba-cuda-refused``: what of numba.cuda the simulator has, and what not and why
- ``environment-variables`` and ``foreign-variables``: the variables that kapi reads, its own and other programs'
- ``versions``: what each package depends on, from its pyproject

``{kapi-error} NAME`` prints cause and cure of one error, and ``{kapi-codes}`` each code with its cause, as an anchor of
the page, with a message that the tests met, and with a program that has it, or the section of one.
``{kapi-numpy-functions}`` lists NumPy's functions by what becomes of them when a function is offloaded.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import kapi_programs
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import kapi_numba_offload
from kapi_sim.codes import FAMILIES
from kapi_sim.environment_variables import FOREIGN, VARIABLES, Variable
from kapi_sim.errors import ERRORS
from kapi_sim.numba_cuda.support import REFUSED, WORKS
from kapi_sim.testing.reports import read_messages

PACKAGES = Path(__file__).parents[2] / "packages"


def errors() -> tuple[Sequence[str], list[Sequence[str]]]:
    """The errors, each with a link to its section on the page."""
    return ["error", "what happened", "is also a", "raised by"], [
        [_to_section(row.error.__name__), row.cause, f"`{row.builtin.__name__}`", row.package] for row in ERRORS
    ]


def _to_section(error: str) -> str:
    return f"[{error}](#{error.lower()})"


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


def environment_variables(variables: Sequence[Variable] = VARIABLES) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The environment variables, with their readers and meanings."""
    return ["variable", "read by", "meaning"], [[f"`{each.name}`", each.reader, each.meaning] for each in variables]


def versions() -> tuple[Sequence[str], list[Sequence[str]]]:
    """Each package's version, Python and dependencies."""
    cells = []
    for file in sorted(PACKAGES.glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text("utf-8"))["project"]
        needs = ", ".join(f"`{each}`" for each in project.get("dependencies", []))
        cells.append([f"`{project['name']}`", project["version"], project["requires-python"], needs])
    return ["package", "version", "Python", "depends on"], cells


TABLES: dict[str, Callable[..., tuple[Sequence[str], list[Sequence[str]]]]] = {
    "errors": errors,
    "fallback-reasons": fallback_reasons,
    "numba-cuda-works": numba_cuda_works,
    "numba-cuda-refused": numba_cuda_refused,
    "environment-variables": environment_variables,
    "foreign-variables": lambda: environment_variables(FOREIGN),
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


def example_messages() -> dict[str, str]:
    """The shortest message of each code among those that the packages' tests met."""
    met = [each for file in sorted(PACKAGES.glob("*/tests/snapshots/messages.txt")) for each in read_messages(file)]
    met.sort(key=lambda each: ("numba_cuda" not in each.file, -len(each.words)))  # those in CUDA's terms first
    return {each.code: each.words for each in met}


def sections_of_codes(page: str) -> dict[str, str]:
    """The error whose section of a page shows a report with a code, for each code that one shows."""
    found: dict[str, str] = {}
    for section in re.split(r"^### ", page, flags=re.MULTILINE)[1:]:
        for code in re.findall(r"\[([a-z0-9-]+)\]$", section, re.MULTILINE):
            found.setdefault(code, section.split()[0])
    return found


class KapiCodes(SphinxDirective):
    """``{kapi-codes}``."""

    def run(self) -> list[nodes.Node]:
        """Print the codes by family, folded; each is the anchor of its line, and the browser opens its fold."""
        found: list[nodes.Node] = []
        messages = example_messages()
        sections = sections_of_codes(Path(self.get_source_info()[0]).read_text("utf-8"))
        programs = kapi_programs.programs(kapi_programs.FILE.read_text("utf-8"))
        self.env.note_dependency(str(kapi_programs.FILE))
        for family, rows in FAMILIES.items():
            listed = nodes.definition_list()
            for code, meaning in rows.items():
                term = nodes.term("", "", nodes.literal(text=code), ids=[code])
                said = [f"{meaning[0].upper()}{meaning[1:]}."]
                if code in sections:
                    said += ["", f"A program that has it: {_to_section(sections[code])}."]
                parts = _parsed(self, said)
                program = programs[code]
                if program.is_sentence:
                    parts += _parsed(self, [program.text])
                else:
                    needs = f", on {html.escape(program.needs)}" if program.needs else ""
                    shown = nodes.literal_block(text=program.text, language="python")
                    parts += [_raw(f"<details><summary>A program that has it{needs}</summary>"), shown]
                    parts += [_raw("</details>")]
                if code in messages:
                    parts += _parsed(self, ["A message that has it:"])
                    parts += [nodes.literal_block(text=messages[code], language="text", classes=["kapi-message"])]
                listed += nodes.definition_list_item("", term, nodes.definition("", *parts))
            summary = f"{family[0].upper()}{family[1:]}: {len(rows)} codes"
            found += [_raw(f'<details class="kapi-answer"><summary>{summary}</summary>'), listed, _raw("</details>")]
        return found


class KapiNumpyFunctions(SphinxDirective):
    """``{kapi-numpy-functions}``."""

    def run(self) -> list[nodes.Node]:
        """List the functions of each status, folded; the names fill lines, so that a phone shows them too."""
        found: dict[str, list[str]] = {status: [] for status in kapi_numba_offload.STATUSES}
        for name in kapi_numba_offload.numpy_functions():
            found[kapi_numba_offload.status(name)].append(f"`{name}`")
        made: list[nodes.Node] = []
        for status, meaning in kapi_numba_offload.STATUSES.items():
            summary = f"{status[0].upper()}{status[1:]}: {len(found[status])} functions"
            listed = nodes.container("", *_parsed(self, [" ".join(found[status])]), classes=["kapi-flow"])
            made += [_raw(f'<details class="kapi-answer"><summary>{summary}</summary>')]
            made += [*_parsed(self, [f"{meaning[0].upper()}{meaning[1:]}."]), listed, _raw("</details>")]
        return made


def _raw(html: str) -> nodes.Node:
    return nodes.raw("", html, format="html")


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
    app.add_directive("kapi-numpy-functions", KapiNumpyFunctions)
    return {"parallel_read_safe": True}
