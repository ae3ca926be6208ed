"""Run numba-dpex's own tests and examples with kapi's names instead of its modules, and count those that pass.

    python benchmarks/numba_dpex_suite.py CHECKOUT [--only PART ...] [--list]

CHECKOUT is a clone of numba-dpex (https://github.com/IntelPython/numba-dpex). Its tests run as they stand, and its
examples as scripts. The module `numba_dpex` that they import is what the page for its users says: kapi-runtime's
words, kapi-sim's `call_kernel` for `kernel_api`, and `kapi_numba_offload.dpjit`. Options that the page says kapi
lacks are left out. Tests that import numba-dpex's internals cannot be loaded, and count apart.
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

PARTS = ("kernel_api", "kernel_tests", "dpjit_tests", "misc", "test_prange.py", "test_dpex_use_alongside_numba.py")
"""The folders and files of `numba_dpex/tests` that speak of what its users write."""

PACKAGE = '''
"""The names of numba-dpex, made of kapi's words."""
import sys
import types

import kapi_numba_offload  # before dpnp, so that the driver is found
import dpctl
import dpnp
import kapi_runtime
import kapi_sim
from kapi_numba_offload import dpjit
from kapi_runtime import NdRange, Range, call_kernel, call_kernel_async
from numba import boolean, complex64, complex128, float32, float64, int32, int64, prange

__version__ = "0.23.0"
LACKING = ("release_gil", "no_compile", "no_cpython_wrapper", "no_cfunc_wrapper", "inline_threshold", "debug")
config = types.SimpleNamespace(TESTING_SKIP_NO_DEBUGGING=True, DEBUG_KERNEL_LAUNCHER=0)
core = types.ModuleType("numba_dpex.core")
core.config = config
sys.modules["numba_dpex.core"] = core
kernel_api = types.ModuleType("numba_dpex.kernel_api")
for each in kapi_runtime.__all__:
    setattr(kernel_api, each, getattr(kapi_runtime, each))
kernel_api.call_kernel = kapi_sim.call_kernel
sys.modules["numba_dpex.kernel_api"] = kernel_api

# What dpctl and dpnp named otherwise when the tests were written.
sys.modules["dpctl.tensor"] = dpctl.tensor = dpnp.tensor


def without_lacking(decorator):
    def decorate(*args, **options):
        return decorator(*args, **{name: value for name, value in options.items() if name not in LACKING})

    return decorate


kernel, device_func = without_lacking(kapi_runtime.kernel), without_lacking(kapi_runtime.device_func)
'''


def environment(checkout: Path, work: Path) -> dict[str, str]:
    """Write the package to a folder, with the checkout's tests beside it, and return the variables that find it."""
    package = work / "numba_dpex"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(PACKAGE, "utf-8")
    for each in ("tests", "examples"):
        if not (package / each).is_symlink():
            (package / each).symlink_to(checkout.resolve() / "numba_dpex" / each)
    (work / "pytest.ini").write_text("[pytest]\n", "utf-8")
    return {**os.environ, "PYTHONPATH": str(work), "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}


def outcomes(checkout: Path, parts: list[str], work: Path) -> dict[str, tuple[str, str]]:
    """Return what came of each test, and its last words."""
    variables = environment(checkout, work)
    report = work / "report.xml"
    options = ["-q", "--continue-on-collection-errors", "-p", "no:cacheprovider", "--import-mode=importlib"]
    options += ["--tb=short", f"--junitxml={report}", "-W", "ignore"]
    names = [str(work / "numba_dpex" / "tests" / each) for each in parts]
    with (work / "log.txt").open("w") as log:
        command = [sys.executable, "-m", "pytest", *options, *names]
        subprocess.run(command, cwd=work, env=variables, stdout=log, stderr=subprocess.STDOUT, check=False)
    found: dict[str, tuple[str, str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        result, words = "passed", ""
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                result, words = child.tag, child.get("message") or ""
        found[name] = ("cannot be loaded" if "collection" in words else result, words)
    return found


def examples(checkout: Path, work: Path) -> dict[str, tuple[str, str]]:
    """Return what came of each example, and its last words."""
    variables = environment(checkout, work)
    found = {}
    for path in sorted((checkout / "numba_dpex" / "examples").glob("[dk][pe][jr]*/*.py")):
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, env=variables, cwd=work, check=False
        )
        words = (done.stderr.strip().splitlines() or [""])[-1]
        found[f"{path.parent.name}/{path.name}"] = ("failure" if done.returncode else "passed", words)
    return found


def main() -> None:
    """Run the tests and the examples, and print counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PARTS), help="parts of numba_dpex/tests")
    parser.add_argument("--list", action="store_true", help="name what does not pass")
    parser.add_argument("--work", type=Path, default=None, help="a folder for logs")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = (given.work or Path(folder)).resolve()
        tests = outcomes(given.checkout, given.only, work)
        scripts = examples(given.checkout, work)
    for title, rows in (("tests", tests), ("examples", scripts)):
        counts = Counter(result for result, _ in rows.values())
        print(f"{title}: {len(rows)}, " + ", ".join(f"{number} {result}" for result, number in counts.most_common()))
        if given.list:
            for name, (result, words) in sorted(rows.items()):
                if result not in ("passed", "skipped"):
                    print(f"  {result}: {name}: {words[:200]!r}")


if __name__ == "__main__":
    main()
