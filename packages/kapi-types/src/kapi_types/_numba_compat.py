"""Every Numba internal that kapi-types touches, imported in one place.

Numba documents `numba.types` and `numba.extending`; the rest of what is below may move between its minor
releases. A new Numba version is supported by making this file and the tests that name it pass.
"""

from __future__ import annotations

from numba.core import errors, ir, ir_utils, typeinfer, types
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.imputils import Registry as LoweringRegistry
from numba.core.target_extension import GPU, target_override, target_registry
from numba.core.typed_passes import PreLowerStripPhis
from numba.core.typing import templates
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.typeof import Purpose, typeof, typeof_impl
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    InlineClosureLikes,
    IRProcessing,
    ReconstructSSA,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    TranslateByteCode,
)
from numba.np.numpy_support import as_dtype, from_dtype

__all__ = [
    "GPU",
    "SUPPORTED_NUMBA",
    "CompilerBase",
    "FixupArgs",
    "Flags",
    "FunctionPass",
    "GenericRewrites",
    "IRProcessing",
    "InlineClosureLikes",
    "LoweringRegistry",
    "PassManager",
    "PreLowerStripPhis",
    "Purpose",
    "ReconstructSSA",
    "RewriteDynamicRaises",
    "RewriteSemanticConstants",
    "TranslateByteCode",
    "TypingContext",
    "as_dtype",
    "errors",
    "from_dtype",
    "global_compiler_lock",
    "ir",
    "ir_utils",
    "register_pass",
    "target_override",
    "target_registry",
    "templates",
    "typeinfer",
    "typeof",
    "typeof_impl",
    "types",
]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""
