"""The submission of Bob: right, but each element is read three times."""

from __future__ import annotations

import kapi_sim as kapi


@kapi.kernel
def stencil(item: kapi.NdItem, a, c, tile):
    k = item.get_local_id(0)
    total = a[k]
    for back in range(1, min(k, 2) + 1):
        total += a[k - back]
    c[k] = total
