"""From the third of its kind on, a launch imports, compiles, opens and starts nothing, whatever the cache has.

Such work may take milliseconds or seconds.  Python's audit events tell of it without a clock.
"""

from __future__ import annotations

import json

import pytest

WATCHED = ("import", "compile", "exec", "open", "ctypes.dlopen", "subprocess.Popen", "os.posix_spawn", "mmap.__new__")

WATCH = f"""
import json, sys
events, watching = [], []
def note(event, arguments):
    if watching and event in {WATCHED}:
        events.append(f"{{event}} {{arguments[0]}}")
sys.addaudithook(note)
def launch_often(launch):
    launch()
    launch()
    watching.append(True)
    for _ in range(1100):
        launch()
    watching.clear()
"""

SYCL = """
import dpnp, numpy as np, kapi_runtime as kapi

@kapi.kernel
def add(item: kapi.Item, a, b, number):
    i = item.get_id(0)
    a[i] = b[i] + number

@kapi.kernel
def reverse(item: kapi.NdItem, a, scratch):
    i, k = item.get_global_id(0), item.get_local_id(0)
    scratch[k] = a[i]
    kapi.group_barrier(item.get_group())
    a[i] = scratch[3 - k]

a, b, space = dpnp.zeros(8), dpnp.arange(8.0), kapi.Range(8)
launch_often(lambda: kapi.call_kernel_async(add, space, (), a, b, 2.0))
assert a.asnumpy().tolist() == list(range(2, 10))
launch_often(lambda: kapi.call_kernel(add, space, a, b, 3.0))
launch_often(lambda: add[kapi.Range(4)](a[::2], b[::2], 1))
bound = add.bind(space, a, b, 2.0)
launch_often(bound)
local = kapi.LocalAccessor(4, a.dtype)
launch_often(lambda: kapi.call_kernel(reverse, kapi.NdRange(8, 4), b, local))
loaded = [name in sys.modules for name in ("numba", "llvmlite")]
with kapi.device_context(kapi.devices[0]):  # listeners to contexts may import what they want
    host = np.arange(8.0)
    launch_often(lambda: kapi.call_kernel(add, space, host, np.ones(8), 1.0))
assert host.tolist() == [2.0] * 8
print(json.dumps([events, loaded]))
"""

CACHES = {
    "empty": {},
    "off": {"KAPI_CACHE": "0"},
    "full": {"KAPI_CACHE_SIZE": "0"},
    "unwritable": {"KAPI_CACHE_DIR": "/proc/nowhere"},
}


def launched(run_python, folder, program, **environment):
    file = folder / "program.py"
    file.write_text(WATCH + program)
    done = run_python("", str(file), **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("cache", CACHES)
def test_later_launches_prepare_nothing(run_python, tmp_path, cache):
    environment = {"KAPI_CACHE_DIR": str(tmp_path / "kapi"), **CACHES[cache]}
    assert launched(run_python, tmp_path, SYCL, **environment) == [[], [True, True]]
    # With the kernels in the cache nothing at all is compiled, and native code needs neither Numba nor llvmlite.
    if cache == "empty":
        assert launched(run_python, tmp_path, SYCL, **environment) == [[], [False, False]]


def test_watch_sees_what_a_launch_prepares(run_python, tmp_path):
    """The events are those of a first launch, too: here it is among the watched ones."""
    program = SYCL.replace("launch_often(bound)", "watching.append(True)\nkapi.kernel(add.py_func)[space](a, b, 2)")
    events, *_ = launched(run_python, tmp_path, program, KAPI_CACHE_DIR=str(tmp_path / "kapi"))
    assert {event.split()[0] for event in events} >= {"compile", "open"}
