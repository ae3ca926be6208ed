"""Whether the calling thread waits for the launch that it submits: a platform may let it do the work itself."""

from __future__ import annotations

import threading

__all__ = ["caller"]


class _Caller(threading.local):
    """What is known of the calling thread.

    Attributes
    ----------
    waits : bool
        Whether it waits at once for what it submits now.
    """

    waits = False


caller = _Caller()
