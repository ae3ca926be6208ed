"""Captured values are those at the launch: in both worlds, in one process and in the next."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import dpnp
import numpy as np
import pytest

import kapi_runtime
import kapi_sim

_specification = importlib.util.spec_from_file_location(
    "outside_changes", Path(__file__).with_name("outside_changes.py")
)
_module = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(_module)
CASES, change, expected, made = _module.CASES, _module.change, _module.expected, _module.made

WORLDS = [(kapi_sim, np), (kapi_runtime, np)]
SYCL = [(name, kapi_runtime, dpnp) for name in list(CASES)[::8]]
"""A sample: plans of launches are each platform's own."""

# Launches each case's kernel, as it is or after its change, and prints what it gives and whether it was compiled.
PROGRAM = """
import json, sys
sys.path.insert(0, {folder!r})
import numpy as np
import kapi_runtime as kapi
from outside_changes import CASES, expected, made

found = {{}}
for name in CASES:
    names, _ = made(name, kapi, {is_changed})
    out = np.zeros(1)
    try:
        kapi.call_kernel(names["kernel"], kapi.Range(1), np.full(1, 2.0), out)
        found[name] = (float(out[0]), expected(name, names))
    except Exception as error:
        found[name] = (f"{{type(error).__name__}}: {{error}}", expected(name, names))
print(json.dumps([found, kapi.cache.info().hits, kapi.cache.info().misses]))
"""


def launched(kapi, kernel, arrays):
    a, out = arrays.full(1, 2.0), arrays.zeros(1)
    kapi.call_kernel(kernel, kapi.Range(1), a, out)
    return float(out[0])


def is_same(found, wanted):
    return found == wanted or (math.isnan(found) and math.isnan(wanted))


@pytest.mark.parametrize(
    ("name", "kapi", "arrays"),
    [*((name, *world) for name in CASES for world in WORLDS), *SYCL],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_change_is_seen_by_the_next_launch(name, kapi, arrays, monkeypatch):
    monkeypatch.setenv("KAPI_CACHE", "0")
    names, _ = made(name, kapi, False)
    before = expected(name, names)
    assert is_same(launched(kapi, names["kernel"], arrays), before)
    assert is_same(launched(kapi, names["kernel"], arrays), before)
    change(name, names)
    after = expected(name, names)
    assert is_same(launched(kapi, names["kernel"], arrays), after)


def test_change_is_seen_by_the_next_process(tmp_path):
    """Over one cache, which the first process has filled with the kernels before the change."""
    results = []
    for is_changed in (False, True, True):
        program = PROGRAM.format(folder=str(Path(__file__).parent), is_changed=is_changed)
        run = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KAPI_CACHE_DIR": str(tmp_path / "cache")},
        )
        assert run.returncode == 0, run.stderr
        results.append(json.loads(run.stdout.splitlines()[-1]))
    wrong = [
        (name, found, wanted)
        for cases, _, _ in results
        for name, (found, wanted) in cases.items()
        if isinstance(found, str) or not is_same(found, wanted)
    ]
    assert wrong == []
    _, hits, misses = results[2]
    assert hits == len(CASES)  # the cache was asked, and had what the second process kept
    assert misses == 0
