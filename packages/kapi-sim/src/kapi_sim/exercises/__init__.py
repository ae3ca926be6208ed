"""Ten exercises and twenty puzzles, and what says whether a kernel is right.

In an exercise you mend the kernel `wrong`; in a puzzle you write the kernel `solve`.
``python -m kapi_sim exercise 4`` and ``python -m kapi_sim puzzle 4`` write the fourth to the folder at hand, and say,
whenever they are run, what is wrong with the kernel or that it is right.  The answers are in files of their own.
"""

from __future__ import annotations

import ast
import runpy
from dataclasses import dataclass
from pathlib import Path

from kapi_sim.errors import KernelLaunchError
from kapi_sim.exercises.goals import expect_at_most, expect_equal
from kapi_sim.exercises.verdict import Verdict, judge
from kapi_sim.kernels import Kernel

__all__ = ["EXERCISES", "PUZZLES", "Exercise", "Verdict", "expect_at_most", "expect_equal", "find", "judge"]

_FOLDER = Path(__file__).parent
_KINDS = {"ex": ("exercise", "wrong", _FOLDER), "pz": ("puzzle", "solve", _FOLDER / "puzzles")}
"""By the letters that names begin with: the word for it, the name of the reader's kernel, and the folder."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise or puzzle.

    Attributes
    ----------
    name : str
        As its files are named, such as ``"ex04_shared_tile"`` or ``"pz04_two_dimensions"``.
    """

    name: str

    @property
    def kind(self) -> str:
        """``"exercise"`` or ``"puzzle"``."""
        return _KINDS[self.name[:2]][0]

    @property
    def kernel(self) -> str:
        """Name of the kernel that the reader mends or writes."""
        return _KINDS[self.name[:2]][1]

    @property
    def number(self) -> int:
        """The exercise's number, from 1 on."""
        return int(self.name[2:4])

    @property
    def file(self) -> Path:
        """The task: a text, the reader's kernel and the function `check`."""
        return _KINDS[self.name[:2]][2] / f"{self.name}.py"

    @property
    def answer(self) -> Path:
        """The file with the right kernel: `right` of an exercise, `solve` of a puzzle."""
        return self.file.parent / "answers" / f"{self.name}.py"

    @property
    def title(self) -> str:
        """The first line of its text."""
        return self.file.read_text("utf-8").partition("\n")[0].removeprefix('"""').rstrip(".")

    @property
    def hint(self) -> str:
        """A hint that does not give the answer away, in Markdown."""
        text = ast.get_docstring(ast.parse(self.answer.read_text("utf-8"))) or ""
        return " ".join(text.partition("Hint: ")[2].split())

    def judge(self, given: Path | Kernel | None = None) -> Verdict:
        """Return what is to be said of a reader's kernel.

        Parameters
        ----------
        given : Path or Kernel, optional
            The kernel, or a file that has it under its name; the task's own if left out.

        Raises
        ------
        KernelLaunchError
            If the file has no kernel of that name.
        """
        kernel = given if isinstance(given, Kernel) else runpy.run_path(str(given or self.file)).get(self.kernel)
        if kernel is None:
            raise KernelLaunchError(
                f"file of {'an exercise' if self.kind == 'exercise' else 'a puzzle'} must have a kernel "
                f"`{self.kernel}`, got {given}: keep its name",
                code="exercise-kernel",
            )
        # What is right is asked of the task itself: a reader's file may have another `check`.
        return judge(runpy.run_path(str(self.file))["check"], kernel)


EXERCISES = tuple(Exercise(file.stem) for file in sorted(_FOLDER.glob("ex[0-9]*.py")))
"""All exercises, in order."""

PUZZLES = tuple(Exercise(file.stem) for file in sorted((_FOLDER / "puzzles").glob("pz[0-9]*.py")))
"""All puzzles, in order."""


def find(number: int, kind: str = "exercise") -> Exercise:
    """Return the exercise with this number, or the puzzle.

    Parameters
    ----------
    number : int
        From 1 on.
    kind : str
        ``"exercise"`` or ``"puzzle"``.

    Raises
    ------
    KernelLaunchError
        If there is none.
    """
    among, article = (PUZZLES, "a") if kind == "puzzle" else (EXERCISES, "an")
    if not 1 <= number <= len(among):
        raise KernelLaunchError(
            f"number of {article} {kind} must be from 1 to {len(among)}, got {number}", code="exercise-number"
        )
    return among[number - 1]
