"""Named passes over LLVM IR, in an order that each target writes down.

A target's pipeline has stages. ``legalize`` writes what the back end cannot lower as what it can; ``optimize`` makes
code faster; ``workarounds`` keep faults of drivers away; ``finish`` does what comes last in any case. Passes of
`optimize` and `workarounds` may be left out: the IR means the same without them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .llvm_ir import Module, parse_module

__all__ = ["Pass", "Pipeline", "UnsupportedError", "function_pass", "module_pass", "run_pass"]

OPTIONAL_STAGES = ("optimize", "workarounds")


class UnsupportedError(Exception):
    """The back end cannot lower what is in a module: a pass says so by its `problems`."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = [*problems]
        super().__init__("; ".join(problems))


@dataclass(frozen=True)
class Pass:
    """A change of a module.

    - `name`: the name, in the words of the literature.
    - `description`: one line.
    - `run`: changes a module, given as the first argument.
    - `options`: further arguments.
    """

    name: str
    description: str
    run: Callable[..., None]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, module: Module) -> None:
        """Change a module."""
        self.run(module, **self.options)

    def with_options(self, **options: Any) -> Pass:
        """The pass with these options."""
        return replace(self, options={**self.options, **options})


def module_pass(run: Callable[..., None]) -> Pass:
    """Make a pass of a function of a module; its name and the first line of its docstring are the pass's."""
    return _named(run, run)


def _named(run: Callable[..., object], on_module: Callable[..., None]) -> Pass:
    return Pass(run.__name__, (run.__doc__ or "").strip().partition("\n")[0], on_module)


def function_pass(run: Callable[..., None]) -> Pass:
    """Make a pass of a function of a `Function`, which is run on each that is defined."""

    def on_module(module: Module, **options: Any) -> None:
        for function in module.definitions:
            run(function, **options)

    return _named(run, on_module)


def run_pass(each: Pass, text: str, **options: Any) -> str:
    """The text of IR after one pass, as tests read it."""
    module = parse_module(text)
    each.with_options(**options)(module)
    return str(module)


@dataclass(frozen=True)
class Pipeline:
    """Stages of passes, in their order.

    - `stages`: the passes of each stage.
    """

    stages: Mapping[str, Sequence[Pass]]

    def __iter__(self) -> Iterator[tuple[str, Pass]]:
        for stage, passes in self.stages.items():
            for each in passes:
                yield stage, each

    def chosen(self, limit: int | None) -> Iterable[tuple[str, Pass]]:
        """The passes to run, each with its stage: of those that may be left out, the first `limit`."""
        count = 0
        for stage, each in self:
            count += stage in OPTIONAL_STAGES
            if limit is None or stage not in OPTIONAL_STAGES or count <= limit:
                yield stage, each

    def run(self, module: Module, *, limit: int | None = None, dump: str = "", title: str = "module") -> None:
        """Run the passes.

        - `module`: what to change.
        - `limit`: how many of the passes that may be left out are run.
        - `dump`: a folder in which the IR after each pass is written, and a list of the passes; empty for none.
        - `title`: the name of the module's own folder in there.

        Raises `UnsupportedError` if the back end cannot lower what is there.
        """
        written = _Dump(Path(dump), title, self) if dump else None
        if written:
            written.add("input", module)
        for stage, each in self.chosen(limit):
            each(module)
            if written:
                written.add(f"{stage}-{each.name}", module)


class _Dump:
    """A folder with the IR after each pass."""

    def __init__(self, folder: Path, title: str, pipeline: Pipeline) -> None:
        number = 0
        while (folder / f"{title}.{number}").exists():
            number += 1
        self._folder, self._number = folder / f"{title}.{number}", 0
        self._folder.mkdir(parents=True)
        listed = [{"stage": stage, "name": each.name, "description": each.description} for stage, each in pipeline]
        (self._folder / "passes.json").write_text(json.dumps(listed, indent=1))

    def add(self, name: str, module: Module) -> None:
        """Write the IR as it is now."""
        (self._folder / f"{self._number:02}-{name}.ll").write_text(str(module))
        self._number += 1
