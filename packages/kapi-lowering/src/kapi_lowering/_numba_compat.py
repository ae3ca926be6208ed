"""Every Numba internal that kapi-lowering touches, imported in one place.

kapi-types has a module of the same name for the front end; a new Numba version is supported by making both, and the
tests that name the version range, pass.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import ffi
from numba.core import cgutils, datamodel, types
from numba.core import ir as numba_ir
from numba.core.base import BaseContext
from numba.core.callconv import FIRST_USEREXC, MinimalCallConv
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import models
from numba.core.imputils import Registry as LoweringRegistry
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering
from numba.cpython.tupleobj import getiter_unituple, iternext_unituple
from numba.np.numpy_support import as_dtype

__all__ = [
    "FIRST_USEREXC",
    "SUPPORTED_NUMBA",
    "BaseContext",
    "CodeLibrary",
    "Codegen",
    "Lower",
    "LoweringRegistry",
    "MinimalCallConv",
    "NativeLowering",
    "as_dtype",
    "cgutils",
    "compiler_locks",
    "datamodel",
    "getiter_unituple",
    "global_compiler_lock",
    "iternext_unituple",
    "models",
    "numba_ir",
    "register_pass",
    "types",
]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""


def compiler_locks() -> tuple[Any, ...]:
    """Numba's and llvmlite's locks, which guard what compilations share, in the order they are taken in."""
    return global_compiler_lock._lock, ffi.lib._lock._lock
