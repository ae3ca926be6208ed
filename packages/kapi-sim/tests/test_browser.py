"""Without threads, processes and files, as in a browser's Python, all but saving works."""

from __future__ import annotations

import subprocess
import sys
import textwrap

CELL = """
import numpy as np
import kapi_sim as kapi

@kapi.kernel
def tree(nd_item: kapi.NdItem, a, out, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    tile[k] = kapi.reduce_over_group(nd_item.get_sub_group(), a[nd_item.get_global_id(0)], kapi.plus)
    kapi.group_barrier(group)
    if k == 0:
        kapi.AtomicRef(out, 0).fetch_add(tile[0])

@kapi.kernel
def forgets(nd_item: kapi.NdItem, a, out, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[k]
    out[0] = tile[3 - k]
"""

PROGRAM = f"""
import builtins, io, linecache, os, _thread
import numpy
import kapi_sim

def refuse(*arguments, **others):
    raise OSError("nothing of the kind here")

# A notebook keeps the text of its cells where `linecache` finds it.
cell = {CELL!r}
linecache.cache["<cell 1>"] = (len(cell), None, cell.splitlines(True), "<cell 1>")
builtins.open = io.open = os.open = os.fork = refuse
_thread.start_new_thread = refuse

names = {{}}
exec(compile(cell, "<cell 1>", "exec"), names)
np, kapi = names["np"], names["kapi"]

def arguments():
    return np.arange(8.0), np.zeros(1), kapi.LocalAccessor(4, np.float64)

for checks in ("all", "none"):
    with kapi.simulation(checks=checks, seed=3), kapi.trace() as trace:
        given = arguments()
        kapi.call_kernel(names["tree"], kapi.NdRange(8, 4), *given)
    assert given[1][0] == 28, given
assert "tile[k] = kapi.reduce_over_group" in trace.text()
assert trace.html().startswith("<!DOCTYPE html>") and trace.svg().startswith("<svg")
assert [row.site.line for row in trace.statistics()][:2] == [7, 8]
try:
    kapi.call_kernel(names["forgets"], kapi.NdRange(4, 4), *arguments())
except kapi.DataRaceError as error:
    print(error)
"""


def test_simulator_needs_no_threads_and_no_files():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert textwrap.dedent(done.stdout).startswith("data race on tile[")
    assert "cell 1>:17: `tile[k] = a[k]`" in done.stdout
