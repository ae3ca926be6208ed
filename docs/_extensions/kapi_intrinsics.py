"""The reference of the kernel language's words, made from the table of intrinsics.

- ``{kapi-word} KEY`` describes one word: its parameters, types, cost, and where SYCL and SPIR-V have it
- ``{kapi-queries} OWNER`` lists the methods and properties of a class that kernels meet
- ``{kapi-functions} OWNER`` lists the functions of `math`, `cmath` or `numpy`, by subject
- ``{kapi-word-index}`` names all words by page, each a link to its description
- ``{kapi-operators}`` lists the operators of reductions and scans

The description of a word in the packages' reference leads to these pages, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import kapi_sim
from kapi_sim.language import ATOMIC_DTYPES, OPERATORS, Intrinsic, rows
from kapi_sim.language.table.row import PARAMETER_WORDS, RESULT_WORDS

FOLDER = "model/intrinsics"
PAGES = {
    "index": ("Index space", f"{FOLDER}/index_space"),
    "convergence": ("Barriers and group algorithms", f"{FOLDER}/groups"),
    "group": ("Barriers and group algorithms", f"{FOLDER}/groups"),
    "memory": ("Private memory", f"{FOLDER}/memory"),
    "atomic": ("Atomics", f"{FOLDER}/atomics"),
    "bits": ("Bits", f"{FOLDER}/bits"),
    "vector": ("Vectors", f"{FOLDER}/vectors"),
    "random": ("Random numbers", "model/random"),
    "math": ("Functions of math", f"{FOLDER}/math"),
    "cmath": ("Functions of cmath", f"{FOLDER}/cmath"),
    "numpy": ("Functions of NumPy", f"{FOLDER}/numpy"),
}

_CONVERGENCE = (
    "the group converges once. A GPU takes about log2(n) steps for n work-items, a CPU one pass over the group"
)
_UPDATE = "work-items on different elements run at once, n work-items on one element take n steps"
COSTS = {
    "group_barrier": "the group converges once; a CPU runs one pass over the group for each part between barriers",
    **dict.fromkeys(("group_broadcast", "reduce_over_group"), _CONVERGENCE),
    **dict.fromkeys(("inclusive_scan_over_group", "exclusive_scan_over_group"), _CONVERGENCE),
    **dict.fromkeys(("any_of_group", "all_of_group", "none_of_group"), _CONVERGENCE),
    **dict.fromkeys(
        ("shift_group_left", "shift_group_right", "permute_group_by_xor", "select_from_group"),
        "one instruction of the sub-group on most GPUs; no access to memory",
    ),
    "PrivateArray": "registers if all indices are constants after unrolling, else memory; filling writes each element",
    "atomic_fence": "waits for the work-item's own memory operations",
    "AtomicRef": "none: it names an element",
    **dict.fromkeys(("AtomicRef.load", "AtomicRef.store"), "as a plain access of memory"),
    **dict.fromkeys(
        ("AtomicRef.exchange", "AtomicRef.compare_exchange", "AtomicRef.fetch_add", "AtomicRef.fetch_sub"), _UPDATE
    ),
    **dict.fromkeys(("AtomicRef.fetch_and", "AtomicRef.fetch_or", "AtomicRef.fetch_xor"), _UPDATE),
    **dict.fromkeys(
        ("AtomicRef.fetch_mul", "AtomicRef.fetch_inc", "AtomicRef.fetch_dec"),
        f"{_UPDATE}; a loop of compare-and-exchange on most devices",
    ),
    **dict.fromkeys(
        ("AtomicRef.fetch_min", "AtomicRef.fetch_max"),
        f"{_UPDATE}; of floats, a loop of compare-and-exchange on many devices",
    ),
    "Vec": "none: the elements are numbers of their own",
    **dict.fromkeys(("Vec.load", "Vec.store"), "as a plain access of memory for each element"),
    **dict.fromkeys(("dot", "cross", "length", "distance", "normalize"), "as the operators and the root it is made of"),
    **dict.fromkeys(("clz", "ctz", "popcount", "rotate", "mul_hi"), "a few instructions"),
}

# Of `math`, `cmath` and NumPy, by the part of a name that they share: what is found first counts.
SUBJECTS = {
    "Powers, exponentials and logarithms": (
        "sqrt cbrt square exp expm1 exp2 log log1p log2 log10 logaddexp logaddexp2 pow power "
        "float_power hypot reciprocal"
    ),
    "Trigonometry": (
        "sin cos tan asin acos atan atan2 arcsin arccos arctan arctan2 sinh cosh tanh asinh acosh atanh arcsinh "
        "arccosh arctanh degrees radians rad2deg deg2rad phase polar rect"
    ),
    "Arithmetic": (
        "add subtract multiply divide floor_divide remainder fmod divmod negative positive absolute fabs sign "
        "heaviside conjugate fma sumprod"
    ),
    "Rounding and parts of floats": ("floor ceil trunc rint copysign nextafter spacing ulp ldexp frexp modf signbit"),
    "Choosing and comparing": (
        "maximum minimum fmax fmin clip where equal not_equal less less_equal greater greater_equal logical_and "
        "logical_or logical_xor logical_not isnan isinf isfinite isclose"
    ),
    "Integers and bits": (
        "gcd lcm isqrt factorial comb perm bitwise_and bitwise_or bitwise_xor invert left_shift "
        "right_shift bitwise_count"
    ),
    "Special functions": "erf erfc gamma lgamma",
}


def page_of(row: Intrinsic) -> str:
    """The page that describes a word."""
    return PAGES[row.owner if row.family == "math" and row.owner else row.family][1]


def anchor(row: Intrinsic) -> str:
    """The word's place on that page."""
    return "word-" + row.key.lower().replace(".", "-").replace("_", "-")


def signature(row: Intrinsic) -> str:
    """The call as a kernel writes it."""
    if row.kind == "property":
        return row.key
    names = ", ".join(name if default is None else f"{name}={default}" for name, _, default in row.parameters)
    return f"{row.key}({names})"


def by_subject(found: list[Intrinsic]) -> dict[str, list[Intrinsic]]:
    """Functions by subject; one that has none is an error."""
    subjects = {name: subject for subject, names in SUBJECTS.items() for name in names.split()}
    missing = [row.key for row in found if row.name not in subjects]
    if missing:
        raise ValueError(f"every function must have a subject in kapi_intrinsics.SUBJECTS, got none for {missing}")
    grouped: dict[str, list[Intrinsic]] = {subject: [] for subject in SUBJECTS}
    for row in found:
        grouped[subjects[row.name]].append(row)
    return {subject: rows_ for subject, rows_ in grouped.items() if rows_}


class Words(SphinxDirective):
    """Base class of the directives."""

    optional_arguments = 1

    def parsed(self, text: str) -> list[nodes.Node]:
        """The nodes that the page's own parser makes of a text."""
        container = nodes.container()
        lines = StringList(text.splitlines(), self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, container)
        return container.children

    def entries(self, described: list[tuple[Intrinsic, str, str]]) -> nodes.Node:
        """A list of words, each with its place: what a kernel writes, and what it means."""
        listed = nodes.definition_list(classes=["kapi-words"])
        for row, term, text in described:
            term_ = nodes.term("", "", nodes.literal(text=term), ids=[anchor(row)])
            listed += nodes.definition_list_item("", term_, nodes.definition("", *self.parsed(text)))
        return listed


class KapiWord(Words):
    """``{kapi-word} KEY``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Describe one word."""
        (row,) = (row for row in rows() if row.key == self.arguments[0])
        lines = [f"{_sentence(row.meaning)}", ""]
        lines += [f"- `{name}`: {_said(PARAMETER_WORDS[word])}." for name, word, _ in row.parameters]
        lines += [f"- **Gives** {RESULT_WORDS[row.returns]}."]
        lines += [f"- **Costs:** {COSTS[row.key]}."]
        named = row.key if row.kind != "method" else row.key.partition(".")[0]
        links = [f"{{py:obj}}`~kapi_sim.{named}`"]
        links += [f"SYCL 2020, section {row.sycl}"] if row.sycl != "none" else []
        links += [f"SPIR-V: `{row.spirv}`"] if row.spirv not in ("none", "composed") else []
        lines += [f"- **See** {', '.join(links)}."]
        return [self.entries([(row, signature(row), "\n".join(lines))])]


class KapiQueries(Words):
    """``{kapi-queries} OWNER``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """List the queries of one class."""
        found = [row for row in rows() if row.owner == self.arguments[0]]
        return [
            self.entries(
                [
                    (row, signature(row), f"{_sentence(row.meaning)} *Gives {RESULT_WORDS[row.returns]}.*")
                    for row in found
                ]
            )
        ]


class KapiFunctions(Words):
    """``{kapi-functions} OWNER``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """List the functions of one module by subject."""
        usual, _ = Counter(map(_types, rows(self.arguments[0]))).most_common(1)[0]
        made = self.parsed(f"If nothing else is said, a function {usual[0].lower()}{usual[1:]}.")
        for subject, found in by_subject(rows(self.arguments[0])).items():
            section = nodes.section(ids=[nodes.make_id(subject)])
            section += nodes.title(text=subject)
            section += self.entries([(row, signature(row), " ".join(_facts(row, usual))) for row in found])
            made.append(section)
        return made


class KapiWordIndex(Words):
    """``{kapi-word-index}``."""

    def run(self) -> list[nodes.Node]:
        """Name all words by page, each with a link."""
        by_page: dict[str, list[Intrinsic]] = {}
        for row in rows():
            by_page.setdefault(page_of(row), []).append(row)
        titles = {page: title for title, page in PAGES.values()}
        made: list[nodes.Node] = []
        for page, found in by_page.items():
            made.append(nodes.rubric("", "", self._link(nodes.inline(text=titles[page]), page, "")))
            paragraph = nodes.paragraph(classes=["kapi-flow"])
            for row in found:
                place = anchor(row) if page != "model/random" else ""
                paragraph += [self._link(nodes.literal(text=row.key), page, place), nodes.Text(" ")]
            made.append(paragraph)
        return made

    def _link(self, node: nodes.Node, page: str, anchor_: str) -> nodes.Node:
        address = self.env.app.builder.get_relative_uri(self.env.docname, page) + (f"#{anchor_}" if anchor_ else "")
        return nodes.reference("", "", node, internal=True, refuri=address)


class KapiOperators(Words):
    """``{kapi-operators}``."""

    def run(self) -> list[nodes.Node]:
        """List the operators."""
        kinds = {"iuf": "integers and floats", "biu": "integers and bools", "b": "bools"}
        lines = ["| operator | meaning | identity | of |", "|---|---|---|---|"]
        for row in OPERATORS:
            of = kinds.get(row.kinds, " ".join(row.kinds))
            lines.append(f"| `{row.name}` | {row.meaning} | `{row.identity}` | {of} |")
        return self.parsed("\n".join(lines))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _types(row: Intrinsic) -> str:
    """A function's parameters and result."""
    takes = {_said(PARAMETER_WORDS[word]).partition(":")[0] for _, word, _ in row.parameters}
    return f"Takes {' and '.join(sorted(takes))}, and gives {RESULT_WORDS[row.returns]}"


def _said(text: str) -> str:
    """A type's words with the names of tables spelled out."""
    return (
        text.replace("one of `OPERATORS`", "one of the operators in the table below")
        .replace(" (`OPERATORS`)", "")
        .replace("one of `ATOMIC_DTYPES`", ", ".join(ATOMIC_DTYPES[:-1]) + f" or {ATOMIC_DTYPES[-1]}")
    )


def _facts(row: Intrinsic, usual: str) -> Iterator[str]:
    """Description of a function: meaning, types if they are not the usual ones, implementation, precision."""
    made = "composed" if row.spirv == "composed" else f"`{row.spirv.removeprefix('OpenCL.std ')}`"
    exact = "" if row.ulp is None else f", {row.ulp:g} ulp"
    yield f"{row.meaning} ({made}{exact})."
    if _types(row) != usual:
        yield f"*{_types(row)}.*"


def lead_to_page(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let the reference of a word of kapi's own lead to the page of its subject."""
    package, _, key = name.partition(".")
    if package != "kapi_sim" or getattr(kapi_sim, key.partition(".")[0], None) is None:
        return
    found = [row for row in rows() if key in (row.key, row.owner) and page_of(row) != "model/random"]
    if found:
        lines += ["", f"See :doc:`/{page_of(found[0])}` for examples and costs.", ""]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("kapi-word", KapiWord)
    app.add_directive("kapi-queries", KapiQueries)
    app.add_directive("kapi-functions", KapiFunctions)
    app.add_directive("kapi-word-index", KapiWordIndex)
    app.add_directive("kapi-operators", KapiOperators)
    app.connect("autodoc-process-docstring", lead_to_page, priority=900)
    return {"parallel_read_safe": True}
