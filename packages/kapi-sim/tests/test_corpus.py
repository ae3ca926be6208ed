"""The corpus: planted defects, each found with its lines, and their corrected twins, in which nothing is found.

A pair of a module in ``corpus/`` is one function, with the class and code of the error, and the index space and the
arguments of both versions, ``wrong`` and ``right``: `planted.versions` says how its lines tell them apart.  The lines
that the report must name end with ``# named``.
"""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest
from planted.pair import Pair
from planted.versions import names_of

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

FOLDER = Path(__file__).parent / "corpus"
VERSIONS = ("wrong", "right")


def load(path, version):
    """The pairs of a module, with the kernels of one version, which bear its name."""
    pairs = {name: value for name, value in names_of(path, version, VERSIONS).items() if isinstance(value, Pair)}
    for pair in pairs.values():
        pair.kernel.__name__ = version
    return [pytest.param(pair, id=f"{path.stem}-{name}") for name, pair in pairs.items()]


WRONG, RIGHT = ([pair for path in sorted(FOLDER.glob("*.py")) for pair in load(path, version)] for version in VERSIONS)


def run(pair):
    with kapi.simulation(**pair.controls):
        kapi.call_kernel(kapi.kernel(pair.kernel), pair.space, *pair.arguments())


def expected(pair):
    """Kapi's errors have codes; the few that are Python's own, and warnings, are told by their class."""
    return raises(pair.error, pair.code) if pair.code else pytest.raises(pair.error)


def named_lines(pair):
    """File and line of each line that the report must name."""
    file = Path(inspect.getsourcefile(pair.kernel)).name
    found = []
    for function in (pair.kernel, *pair.calls):
        source, first = inspect.getsourcelines(function)
        found += [f"{file}:{first + i}" for i, line in enumerate(source) if line.rstrip().endswith("# named")]
    return found


def message_of(error):
    notes = "\n".join(getattr(error, "__notes__", ()))
    frame = inspect.getinnerframes(error.__traceback__)[-1]
    return f"{error}\n{notes}\nraised at {Path(frame.filename).name}:{frame.lineno}"


def test_corpus_is_large():
    assert len(WRONG) >= 230


@pytest.mark.parametrize("pair", WRONG)
def test_defect_is_detected(pair):
    lines = named_lines(pair)
    assert lines
    # A benign race may come before the defect.
    action = "error" if pair.error is kapi.BenignRaceWarning else "ignore"
    with warnings.catch_warnings():
        warnings.simplefilter(action, kapi.BenignRaceWarning)
        with expected(pair) as caught:
            run(pair)
    message = message_of(caught.value)
    missing = [line for line in lines if line not in message]
    assert not missing, f"{missing} must be named in:\n{message}"


@pytest.mark.parametrize("pair", RIGHT)
def test_twin_is_not_flagged(pair):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(pair)
