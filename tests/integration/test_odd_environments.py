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


@pytest.mark.parametrize("name", ODD)
def test_program_runs_in_an_odd_environment(name, tmp_path):
    variables = dict(ODD[name])
    begin = {
        "one-core": "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n",
        "umask": "import os; os.umask(0o077)\n",
    }.get(name, "")
    if name == "temporary-folder":
        folder = tmp_path / "with a space"
        folder.mkdir()
        variables["TMPDIR"] = str(folder)
    if name == "read-only-home":
        tmp_path.chmod(0o555)
        variables |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": ""}
    inherited = {key: value for key, value in os.environ.items() if key != "KAPI_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", begin + PROGRAM],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=inherited | variables,
    )  # fmt: skip
    assert (done.returncode, done.stdout.split()) == (0, ["9900.0", "9900.0"]), done.stderr
