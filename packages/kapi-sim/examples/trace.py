"""A trace of a tree sum: the table of its lines, a page to step through, and a figure.

Run as ``python trace.py FOLDER`` it also writes ``tree_sum.html`` and ``tree_sum.svg`` there.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import kapi_sim as kapi


@kapi.kernel
def tree_sum(nd_item: kapi.NdItem, a, out, tile):
    k = nd_item.get_local_id(0)
    group = nd_item.get_group()
    tile[k] = a[nd_item.get_global_id(0)]
    kapi.group_barrier(group)
    s = nd_item.get_local_range(0) // 2
    while s > 0:
        if k < s:
            tile[k] += tile[k + s]
        kapi.group_barrier(group)
        s //= 2
    if group.leader:
        out[group.get_group_id(0)] = tile[0]


def main() -> None:
    """Trace two groups of eight."""
    a, out = np.arange(16, dtype=np.float32), np.zeros(2, np.float32)
    with kapi.trace() as trace:
        kapi.call_kernel(tree_sum, kapi.NdRange(16, 8), a, out, kapi.LocalAccessor(8, np.float32))
    print(f"sums: {out}")
    print(trace)
    for folder in sys.argv[1:2]:
        trace.save(Path(folder) / "tree_sum.html")
        trace.save(Path(folder) / "tree_sum.svg")


if __name__ == "__main__":
    main()
