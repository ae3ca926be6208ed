"""Ten exercises: a kernel to mend, and what says whether it is right.

``python -m kapi_sim exercise 4`` writes the fourth to the folder at hand, and says, whenever it is run, what is wrong
with the kernel or that it is right.  The answers are in files of their own.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kapi_sim.errors import KapiError, KernelLaunchError
from kapi_sim.settings.control import simulation

__all__ = ["EXERCISES", "Exercise", "Verdict", "find", "judge"]

_FOLDER = Path(__file__).parent
_SEEDS = (None, 1, 2, 3)
"""A kernel is right if it is right in each of these orders."""


class Verdict(str):
    """What is said of a kernel.

    Attributes
    ----------
    is_right : bool
        Whether it does what the exercise asks for.
    """

    is_right: bool
    __slots__ = ("is_right",)

    def __new__(cls, text: str, is_right: bool) -> Verdict:
        made = super().__new__(cls, text)
        made.is_right = is_right
        return made


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise.

    Attributes
    ----------
    name : str
        As its files are named, such as ``"ex04_shared_tile"``.
    """

    name: str

    @property
    def number(self) -> int:
        """From 1 on."""
        return int(self.name[2:4])

    @property
    def file(self) -> Path:
        """The task: a text, the kernel `wrong` and the function `check`."""
        return _FOLDER / f"{self.name}.py"

    @property
    def answer(self) -> Path:
        """The file with the kernel `right`."""
        return _FOLDER / "answers" / f"{self.name}.py"

    @property
    def title(self) -> str:
        """The first line of its text."""
        return self.file.read_text("utf-8").partition("\n")[0].removeprefix('"""').rstrip(".")

    def judge(self, file: Path | None = None) -> Verdict:
        """Return what is to be said of the kernel `wrong` of a file, the task's own if none is given.

        Raises
        ------
        KernelLaunchError
            If the file has no kernel of that name.
        """
        names = runpy.run_path(str(file or self.file))
        kernel = names.get("wrong")
        if kernel is None:
            raise KernelLaunchError(
                f"file of an exercise must have a kernel `wrong`, got {file}: mend it without a change of its name",
                code="exercise-kernel",
            )
        # What is right is asked of the task itself: a mended file may have another `check`.
        return judge(runpy.run_path(str(self.file))["check"], kernel)


EXERCISES = tuple(Exercise(file.stem) for file in sorted(_FOLDER.glob("ex[0-9]*.py")))
"""All, in order."""


def find(number: int) -> Exercise:
    """Return the exercise with this number.

    Raises
    ------
    KernelLaunchError
        If there is none.
    """
    if not 1 <= number <= len(EXERCISES):
        raise KernelLaunchError(
            f"number of an exercise must be from 1 to {len(EXERCISES)}, got {number}", code="exercise-number"
        )
    return EXERCISES[number - 1]


def judge(check: Callable[[Any], object], kernel: Any) -> Verdict:
    """Return one sentence on a kernel, and the report where it is not right yet.

    Parameters
    ----------
    check : callable
        Launches the kernel it is given, and raises AssertionError if the results are others than they should be.
    kernel : Kernel
        What is looked at.

    Examples
    --------
    >>> import numpy as np, kapi_sim as kapi
    >>> @kapi.kernel
    ... def double(item: kapi.Item, a):
    ...     a[item.get_id(0)] *= 2
    >>> def check(kernel):
    ...     a = np.arange(4)
    ...     kernel[4](a)
    ...     assert a.tolist() == [0, 2, 4, 6]
    >>> print(judge(check, double))
    `double` is right: it passed all checks, in 4 orders of its work-items.
    """
    name = kernel.__name__
    for seed in _SEEDS:
        order = "" if seed is None else f" (in the order that simulation(seed={seed}) replays)"
        try:
            with simulation(seed=seed):
                check(kernel)
        except KapiError as error:
            notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
            return Verdict(f"`{name}` is not right yet{order}: {type(error).__name__}: {error}{notes}", False)
        except AssertionError as error:
            told = " ".join(str(error).split())
            return Verdict(f"`{name}` is not right yet{order}: its results are wrong. {told}".rstrip(), False)
        except Exception as error:
            return Verdict(f"`{name}` is not right yet{order}: {type(error).__name__}: {error}", False)
    return Verdict(f"`{name}` is right: it passed all checks, in {len(_SEEDS)} orders of its work-items.", True)
