"""The folder of kapi's disk cache, by the same variables as kapi-runtime's: what is cut of libdevice is kept there."""

from __future__ import annotations

import os

__all__ = ["cache_place"]


def cache_place() -> str:
    """The folder; empty where the cache is off, or the user has no folder of their own.

    Returns
    -------
    str
    """
    if os.environ.get("KAPI_CACHE", "1").strip().lower() in ("0", "off", "no", "false"):
        return ""
    named = os.environ.get("KAPI_CACHE_DIR")
    if named:
        return os.path.expanduser(named)
    for base in (os.environ.get("XDG_CACHE_HOME"), os.path.expanduser("~/.cache")):
        if base and os.path.isabs(base):  # the specification of XDG has relative ones ignored
            return os.path.join(base, "kapi")
    return ""
