# mypy: disable-error-code="no-untyped-def,no-untyped-call"
"""The generator of random words, written in the kernel language in 32 bits, which every device has instructions for.

References
----------
J. K. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", SC11, 2011.
"""

from __future__ import annotations

import numpy as np

from kapi_sim import mul_hi

__all__ = ["philox"]


def philox(seed, counter, stream):
    """The four words of Philox 4x32-10."""
    a, b, c, d = np.uint32(counter), np.uint32(counter >> 32), np.uint32(stream), np.uint32(stream >> 32)
    first, second = np.uint32(seed), np.uint32(seed >> 32)
    for _ in range(10):
        upper_a, lower_a = mul_hi(a, 0xD2511F53), a * 0xD2511F53
        upper_c, lower_c = mul_hi(c, 0xCD9E8D57), c * 0xCD9E8D57
        a, b, c, d = upper_c ^ b ^ first, lower_c, upper_a ^ d ^ second, lower_a
        first += 0x9E3779B9
        second += 0xBB67AE85
    return a, b, c, d
