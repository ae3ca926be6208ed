"""The disk cache of compiled kernels, for all processes of one user.

On unless the environment says otherwise:

=====================  ============================================================================================
``KAPI_CACHE``         ``0``, ``off``, ``no`` or ``false`` turns it off.
``KAPI_CACHE_DIR``     The folder; by default ``kapi`` in ``$XDG_CACHE_HOME``, ``~/.cache``, or Windows' local data.
``KAPI_CACHE_SIZE``    Most megabytes that the folder may hold, 256 by default, ``inf`` for any; oldest uses go first.
=====================  ============================================================================================

A file is a compiled kernel with its checksum and its key.  The key, which is the file's name as well, is a digest of
all that the compilation depends on, see `fingerprint`, and a suffix for the kind of code.  A kernel runs in the
process on a CPU, so that the folder must be its owner's alone.  It may hold other files, which are left alone
(`private_folder`).  Files appear complete or not at all, so that processes may share the folder, be killed, or find
the disk full: whatever is wrong with the cache, the kernel is compiled, and `info` tells what it was.
"""

from __future__ import annotations

from kapi_runtime.cache.disk_cache import (
    CacheInfo,
    clear,
    drop,
    info,
    is_on,
    load,
    load_text,
    note_unknown,
    store,
    store_text,
)

__all__ = ["CacheInfo", "clear", "drop", "info", "is_on", "load", "load_text", "note_unknown", "store", "store_text"]
