"""Odd machines: a program runs the same without a home, in another locale, on one core; on the CPU platform."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import kapi_runtime, kapi_sim, numpy as np
for kapi in kapi_sim, kapi_runtime:
    @kapi.kernel
    def double(item, a):
        a[item.get_id(0)] *= 2
    a = np.arange(100.0)
    kapi.call_kernel(double, kapi.Range(100), a)
    print(float(a.sum()))
"""
ODD = {
    "no-home": {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""},
    "locale": {"LC_ALL": "C", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0", "TZ": "Asia/Kathmandu", "COLUMNS": "40"},
    "one-core": {},
    "umask": {},
    "temporary-folder": {},
    "read-only-home": {},
}


# By day two programs have three of these each, at night each one has a program of its own.
TOGETHER = [("no-home", "locale", "one-core"), ("umask", "temporary-folder", "read-only-home")]
ALONE = [pytest.param((name,), marks=pytest.mark.nightly) for name in ODD]


@pytest.mark.parametrize("names", [*TOGETHER, *ALONE], ids=" ".join)
def test_program_runs_in_an_odd_environment(names, tmp_path):
    variables = {key: value for name in names for key, value in ODD[name].items()}
    statements = {
        "one-core": "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n",
        "umask": "import os; os.umask(0o077)\n",
    }
    begin = "".join(statements.get(name, "") for name in names)
    if "temporary-folder" in names:
        folder = tmp_path / "with a space"
        folder.mkdir()
        variables["TMPDIR"] = str(folder)
    if "read-only-home" in names:
        home = tmp_path / "home"
        home.mkdir(0o555)
        variables |= {"HOME": str(home), "XDG_CACHE_HOME": ""}
    inherited = {key: value for key, value in os.environ.items() if key != "KAPI_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", begin + PROGRAM],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=inherited | variables,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["9900.0", "9900.0"]), done.stderr
