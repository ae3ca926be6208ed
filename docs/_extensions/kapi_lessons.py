"""Kernels with their pictures in pages.

- ``{kapi-exercise} NAME`` shows a wrong kernel, its report and picture, and hides a hint and the answer.  The
  exercises are those of `kapi_sim.exercises`.
- ``{kapi-puzzle} NAME`` shows the text of a puzzle and the kernel to write, and hides a hint and the answer.
- ``{kapi-picture} CAPTION`` shows the program that is its content, the report that ends it, if any, and the picture of
  its launches.

They run when the page is built, so a reader sees what comes.  Where the setting ``kapi_live`` names a folder that
`tools/live.py` has filled, each exercise has an editor and a button that runs it in the reader's browser.
"""

from __future__ import annotations

import inspect
import os
import re
import runpy
import shutil
import tempfile
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import kapi_sim
from kapi_sim.exercises import Exercise, find
from kapi_sim.tracing.figure import dark_rules

EXERCISES = Path(__file__).parents[2] / "packages" / "kapi-sim" / "src" / "kapi_sim" / "exercises"
PUZZLES = EXERCISES / "puzzles"


class KapiExercise(SphinxDirective):
    """``{kapi-exercise} NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Run the exercise, and lay out what it shows."""
        file = EXERCISES / f"{self.arguments[0]}.py"
        answer = EXERCISES / "answers" / file.name
        for each in (file, answer):
            self.env.note_dependency(str(each))
        exercise = runpy.run_path(str(file))
        check, wrong, right = exercise["check"], exercise["wrong"], runpy.run_path(str(answer))["right"]
        return [
            _code(wrong),
            nodes.paragraph(text="The simulator says:"),
            nodes.literal_block(text=_report(check, wrong), language="text"),
            *_picture(check, wrong, "What each work-item does. What the report is about is ringed."),
            *self._download(file),
            _raw(_editor(file) if self.config.kapi_live else _NOT_LIVE),
            *_hint(self, find(int(file.stem[2:4]))),
            _raw('<details class="kapi-answer"><summary>The answer</summary>'),
            _code(right),
            *_picture(check, right, "The right kernel. A dark wall is a barrier."),
            _raw("</details>"),
        ]

    def _download(self, file: Path) -> list[nodes.Node]:
        return _parsed(
            self,
            f"Mend it: {_download(self, file)} prints this report until `wrong` is right, and then says so; "
            f"`python -m kapi_sim exercise {int(file.stem[2:4])}` writes it to your folder.",
        )


class KapiPuzzle(SphinxDirective):
    """``{kapi-puzzle} NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Lay out the puzzle, and run its answer for the picture."""
        file = PUZZLES / f"{self.arguments[0]}.py"
        answer = PUZZLES / "answers" / file.name
        for each in (file, answer):
            self.env.note_dependency(str(each))
        puzzle, solved = runpy.run_path(str(file)), runpy.run_path(str(answer))["solve"]
        goals = tuple(puzzle["check"](solved))
        title, _, text = inspect.cleandoc(puzzle["__doc__"]).partition("\n")
        task = title.partition(": ")[2]
        return [
            *_parsed(self, f"**{task[0].upper()}{task[1:]}** {text}"),
            *([] if self.config.kapi_live else [_code(puzzle["solve"])]),
            *_parsed(self, "You are done when these hold:\n\n" + "\n".join(f"- {goal}" for goal in goals)),
            *_parsed(self, f"{_download(self, file)} or `python -m kapi_sim puzzle {int(file.stem[2:4])}` has it."),
            *([_raw(_editor(file))] if self.config.kapi_live else []),
            *_hint(self, find(int(file.stem[2:4]), "puzzle")),
            _raw('<details class="kapi-answer"><summary>The answer</summary>'),
            _code(solved),
            *_picture(puzzle["check"], solved, "The answer at work."),
            _raw("</details>"),
        ]


def _hint(directive: SphinxDirective, exercise: Exercise) -> list[nodes.Node]:
    return [
        _raw('<details class="kapi-answer"><summary>A hint</summary>'),
        *_parsed(directive, exercise.hint),
        _raw("</details>"),
    ]


def _download(directive: SphinxDirective, file: Path) -> str:
    """A link in Markdown that hands a file out."""
    path = os.path.relpath(file, Path(directive.env.doc2path(directive.env.docname)).parent)
    return f"{{download}}`{file.name} <{path}>`"


def _parsed(directive: SphinxDirective, text: str) -> list[nodes.Node]:
    """The nodes that the page's own parser makes of a text."""
    container = nodes.container()
    source = directive.get_source_info()[0]
    directive.state.nested_parse(StringList(text.splitlines(), source), directive.content_offset, container)
    return container.children


class KapiPicture(SphinxDirective):
    """``{kapi-picture} CAPTION``, with a program of the simulator as content."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Run the program, and show it above its report and its picture."""
        code = "\n".join(self.content)
        shown: list[nodes.Node] = [nodes.literal_block(text=code, language="python")]
        with tempfile.TemporaryDirectory() as folder, kapi_sim.trace() as trace:
            program = Path(folder, "program.py")  # a file, so that the kernel's source is found
            program.write_text(code, "utf-8")
            try:
                runpy.run_path(str(program))
            except kapi_sim.KapiError as error:
                report = f"{type(error).__name__}: {error}"
                shown += [
                    nodes.paragraph(text="The simulator says:"),
                    nodes.literal_block(text=report, language="text"),
                ]
        return [*shown, _figure(trace, self.arguments[0])]


_NOT_LIVE = (
    '<details class="kapi-answer"><summary>Run it in this page</summary><p>These pages were built without Python for '
    "the browser. <code>python3 noxfile.py -s docs-live</code> builds them with it, into "
    "<code>docs/_build/live</code>; <code>python3 -m http.server -d docs/_build/live</code> shows them.</p></details>"
)
_EDITOR = """<section class="kapi-live" data-kind="{kind}" data-number="{number}">
<textarea rows="{rows}" spellcheck="false" autocapitalize="off"
aria-label="The kernel of {kind} {number}">{text}</textarea>
<p><button class="kapi-run">Run</button> <button class="kapi-stop" hidden>Stop</button>
<button class="kapi-reset">Begin again</button> <span role="status"></span></p>
<pre hidden></pre><iframe hidden title="What each work-item did"></iframe></section>"""


def _editor(file: Path) -> str:
    """The kernel to mend, which can be changed and run in the page; the exercise itself has the check."""
    program = file.read_text("utf-8")
    kernel = program[program.index("import numpy") : program.index("def check(")].rstrip()
    kernel = re.sub("^from kapi_sim.exercises .*\n", "", kernel, flags=re.MULTILINE)
    kind, number = "puzzle" if file.parent == PUZZLES else "exercise", int(file.stem[2:4])
    return _EDITOR.format(kind=kind, number=number, rows=kernel.count("\n") + 2, text=escape(kernel))


def _add_live_files(app: Sphinx) -> None:
    """Hand out the scripts, and Python itself; the pages of the lessons load them when a reader runs something."""
    if app.config.kapi_live:
        target = Path(app.outdir, "_static", "live")
        shutil.copytree(Path(app.srcdir, "live"), target, dirs_exist_ok=True)
        shutil.copytree(app.config.kapi_live, target / "python", dirs_exist_ok=True)


def _add_script(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the script of the editors on the pages that have one."""
    if app.config.kapi_live and 'class="kapi-live"' in context.get("body", ""):
        app.add_js_file("live/page.js", loading_method="defer")


def _report(check: Any, kernel: Any) -> str:
    try:
        check(kernel)
    except kapi_sim.KapiError as error:
        return f"{type(error).__name__}: {error}"
    raise RuntimeError(f"a wrong kernel must be reported, got none for {kernel!r}")


def _picture(check: Any, kernel: Any, caption: str) -> list[nodes.Node]:
    """The figure of a run without checks, so that what goes wrong is seen to its end, with what a check finds."""
    checked, unchecked = (_traced(check, kernel, checks) for checks in ("all", {"convergence"}))
    for found, shown in zip(checked.launches, unchecked.launches, strict=False):
        # Both run in program order: up to where the check ends the one, they do the same.
        if [event[:2] for event in found.events] == [event[:2] for event in shown.events[: len(found.events)]]:
            shown.failure = found.failure
    return [_figure(unchecked, caption)]


def _traced(check: Any, kernel: Any, checks: Any) -> kapi_sim.Trace:
    with kapi_sim.trace() as trace, kapi_sim.simulation(checks=checks):
        try:
            tuple(check(kernel) or ())  # of a puzzle it is a generator
        except (AssertionError, IndexError, kapi_sim.KapiError):
            if kernel.__name__ != "wrong":
                raise
    return trace


def _figure(trace: kapi_sim.Trace, caption: str) -> nodes.Node:
    # The figure follows the system; a page follows what its reader has chosen.
    figure = re.sub("<style>.*?</style>", "", trace.svg(), flags=re.DOTALL)
    return _raw(f'<figure class="kapi-trace">{figure}<figcaption>{caption}</figcaption></figure>')


def _add_dark_figures(app: Sphinx) -> None:
    """Write the style of figures on dark pages, which is the figures' own."""
    own = f"@media (prefers-color-scheme: dark) {{{dark_rules('body:not([data-theme=light]) ')}}}"
    style = Path(app.outdir, "_static", "figures.css")
    style.parent.mkdir(parents=True, exist_ok=True)
    style.write_text(own + dark_rules("body[data-theme=dark] "), "utf-8")
    app.add_css_file("figures.css")


def _code(kernel: Any) -> nodes.Node:
    return nodes.literal_block(text=inspect.getsource(kernel.py_func), language="python")


def _raw(html: str) -> nodes.Node:
    return nodes.raw("", html, format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("kapi-exercise", KapiExercise)
    app.add_directive("kapi-puzzle", KapiPuzzle)
    app.add_directive("kapi-picture", KapiPicture)
    app.add_config_value("kapi_live", "", "env", [str])
    app.connect("builder-inited", _add_live_files)
    app.connect("builder-inited", _add_dark_figures)
    app.connect("html-page-context", _add_script)
    return {"parallel_read_safe": False}
