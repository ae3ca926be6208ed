"""Run numba-cuda's own tests with `kapi_sim.numba_cuda` instead of `numba.cuda`, and count those that pass.

    python benchmarks/numba_cuda_suite.py CHECKOUT [--tests FOLDER ...] [--list]

The examples of its documentation, which are among the tests, run a third time, with the skips for simulators ignored
and with smaller sizes.

CHECKOUT is a folder with numba-cuda's tests, such as ``site-packages/numba_cuda/numba/cuda/tests``; the environment
needs numba, numba-cuda (of the same release), pytest, pytest-timeout and filecheck, besides kapi-sim.  Two runs are
made: one with numba-cuda's own simulator, whose passing tests are those that a simulator can run, and one in which the
names of ``numba.cuda`` are kapi_sim's.  What counts is how many of the first pass in the second.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

SMALLER = {
    "niter = 10000": "niter = 20",
    "nsamps = 1000000": "nsamps = 40000",
    "X, Y, Z = 701, 900, 719": "X, Y, Z = 23, 29, 31",
    "gx, gy, gz = 16, 16, 16": "gx, gy, gz = 2, 2, 2",
    "N = 100000": "N = 4000",
    "1024": "96",
}
"""Sizes in the examples of the documentation that are meant for a GPU, and those that are run instead."""

FOLDERS = ("cudapy", "cudasim", "cudadrv", "doc_examples")

PLUGIN = '''
"""Puts kapi_sim's names in the place of those of numba.cuda's simulator, before any test is imported."""
import os, sys
import numba.cuda as theirs
from numba.cuda.core import config

if os.environ.get("KAPI_IN_PLACE"):
    # Examples import numba.cuda inside of functions, which its own simulator could not: here they can.
    import numba
    from kapi_sim import numba_cuda as ours

    kept = {"config", "testing", "tests", "types", "simulator", "HAS_NUMBA", "core", "np", "utils", "cudadrv"}
    for name in list(vars(theirs)):
        value = vars(theirs)[name]
        if not name.startswith("_") and name not in kept and "simulator" in str(getattr(value, "__module__", "")):
            delattr(theirs, name)
    for name in dir(ours):
        if not name.startswith("_") and name not in kept:
            setattr(theirs, name, getattr(ours, name))
    theirs.__dict__.pop("laneid", None)
    theirs.__dict__["__getattr__"] = ours.__getattr__
    for name in ("random", "fp16", "cg"):
        sys.modules[f"numba.cuda.{name}"] = getattr(ours, name)
    if os.environ.get("KAPI_IN_PLACE") == "examples":
        import numba.cuda.testing as testing

        testing.skip_on_cudasim = lambda reason: lambda test: test


def pytest_addoption(parser):
    parser.addoption("--dump-failed-filechecks", action="store_true")


import pytest


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    request.cls._dump_failed_filechecks = False
'''


def outcomes(checkout: Path, folders: list[str], in_place: str, work: Path) -> dict[str, str]:
    """Return what came of each test: passed, failed or skipped."""
    (work / "kapi_in_place.py").write_text(PLUGIN)
    (work / "pytest.ini").write_text("[pytest]\n")
    report = work / f"report{in_place}.xml"
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "KAPI_IN_PLACE": in_place, "PYTHONPATH": str(work)}
    environment["PYTHONWARNINGS"] = "ignore"
    # The tests are imported as the modules of the package that they belong to.
    package = "numba.cuda.tests"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--continue-on-collection-errors",
        "-p",
        "no:cacheprovider",
        "-p",
        "kapi_in_place",
        "--timeout=240",
    ]
    command += ["--import-mode=importlib", "--tb=short", f"--junitxml={report}", "-W", "ignore", "--pyargs"]
    is_package = [not Path(folder).is_absolute() for folder in folders]
    command += [f"{package}.{each}" if inside else each for each, inside in zip(folders, is_package, strict=True)]
    log = work / f"log{in_place}.txt"
    with log.open("w") as out:
        subprocess.run(command, cwd=work, env=environment, stdout=out, stderr=subprocess.STDOUT, check=False)
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        kinds = {child.tag for child in case}
        result = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        # Subtests are cases of their own: a test passes if all of them do.
        if found.get(name) != "failed":
            found[name] = result
    return found


def smaller_examples(checkout: Path, work: Path) -> Path:
    """Write the documentation's examples with smaller sizes to a folder, and return that."""
    folder = work / "examples"
    folder.mkdir(exist_ok=True)
    for file in (checkout / "doc_examples").glob("test_*.py"):
        text = file.read_text("utf-8")
        for size, smaller in SMALLER.items():
            # One example sums a vector whose length is what a block takes.
            if not (size == "1024" and "cg" not in file.stem):
                text = text.replace(size, smaller)
        (folder / file.name).write_text(text, "utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tests", nargs="*", default=list(FOLDERS), help="folders of the checkout")
    parser.add_argument("--list", action="store_true", help="name the tests that do not pass")
    parser.add_argument("--work", type=Path, default=None, help="a folder for logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = given.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        theirs = outcomes(given.checkout, given.tests, "", work)
        ours = outcomes(given.checkout, given.tests, "1", work)
        examples = outcomes(given.checkout, [str(smaller_examples(given.checkout, work))], "examples", work)
    able = [name for name, result in theirs.items() if result == "passed"]
    passed = [name for name in able if ours.get(name) == "passed"]
    print(f"tests that numba-cuda's simulator passes: {len(able)}")
    print(f"of these pass under kapi_sim.numba_cuda:  {len(passed)} ({100 * len(passed) / max(len(able), 1):.1f} %)")
    parts = Counter(name.split("test_", 1)[1].partition(".")[0] for name in able)
    good = Counter(name.split("test_", 1)[1].partition(".")[0] for name in passed)
    for module in sorted(parts):
        if good[module] < parts[module]:
            print(f"  {module}: {good[module]} of {parts[module]}")
    done = sum(result == "passed" for result in examples.values())
    print(f"examples of the documentation: {done} of {len(examples)} pass")
    if given.list:
        for name in sorted({*able} - {*passed}):
            print(f"  {ours.get(name, 'missing')}: {name}")
        for name, result in sorted(examples.items()):
            if result != "passed":
                print(f"  {result}: {name}")


if __name__ == "__main__":
    main()
