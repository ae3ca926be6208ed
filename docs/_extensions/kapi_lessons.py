"""Exercises in pages: ``{kapi-exercise} NAME`` shows a wrong kernel, its report and picture, and hides the answer.

The exercises are those of kapi-sim's examples; they run when the page is built, so the report is what a reader gets.
"""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import kapi_sim

EXERCISES = Path(__file__).parents[2] / "packages" / "kapi-sim" / "examples" / "exercises"


class KapiExercise(SphinxDirective):
    """``{kapi-exercise} NAME``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Run the exercise, and lay out what it shows."""
        file = EXERCISES / f"{self.arguments[0]}.py"
        self.env.note_dependency(str(file))
        exercise = runpy.run_path(str(file))
        check, wrong, right = exercise["check"], exercise["wrong"], exercise["right"]
        return [
            _code(wrong),
            nodes.paragraph(text="The simulator says:"),
            nodes.literal_block(text=_report(check, wrong), language="text"),
            *_picture(check, wrong, "What each work-item does; filled cells are writes, outlined ones reads."),
            _raw('<details class="kapi-answer"><summary>The answer</summary>'),
            _code(right),
            *_picture(check, right, "The right kernel. A dark wall is a barrier."),
            _raw("</details>"),
        ]


def _report(check: Any, kernel: Any) -> str:
    try:
        check(kernel)
    except kapi_sim.KapiError as error:
        return f"{type(error).__name__}: {error}"
    raise RuntimeError(f"a wrong kernel must be reported, got none for {kernel!r}")


def _picture(check: Any, kernel: Any, caption: str) -> list[nodes.Node]:
    """The figure of a run without checks, so that what goes wrong is seen to its end."""
    with kapi_sim.trace() as trace, kapi_sim.simulation(checks={"convergence"}):
        try:
            check(kernel)
        except (AssertionError, IndexError, kapi_sim.KapiError):
            if kernel.__name__ != "wrong":
                raise
    return [_raw(f'<figure class="kapi-trace">{trace.svg()}<figcaption>{caption}</figcaption></figure>')]


def _code(kernel: Any) -> nodes.Node:
    return nodes.literal_block(text=inspect.getsource(kernel.py_func), language="python")


def _raw(html: str) -> nodes.Node:
    return nodes.raw("", html, format="html")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("kapi-exercise", KapiExercise)
    return {"parallel_read_safe": False}
