"""Every Numba internal that kapi-types touches, imported in one place.

Numba documents `numba.types` and `numba.extending`; the rest of what is below may move between its minor
releases. A new Numba version is supported by making this file and the tests that name it pass.
"""

from __future__ import annotations

import os

import numba
from numba.core import cgutils, errors, ir, typeinfer, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.bytecode import ByteCode
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.consts import ConstantInferenceError
from numba.core.interpreter import Interpreter
from numba.core.ir_utils import build_definitions
from numba.core.target_extension import GPU, target_override, target_registry
from numba.core.typed_passes import PreLowerStripPhis
from numba.core.typing import templates
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.typeof import Purpose, typeof_impl
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    InlineClosureLikes,
    IRProcessing,
    ReconstructSSA,
    RewriteSemanticConstants,
)
from numba.np.numpy_support import as_dtype, from_dtype

__all__ = [
    "GPU",
    "NUMBA_FOLDER",
    "SUPPORTED_NUMBA",
    "ByteCode",
    "CompilerBase",
    "ConstantInferenceError",
    "FixupArgs",
    "Flags",
    "FunctionPass",
    "GenericRewrites",
    "IRProcessing",
    "InlineClosureLikes",
    "Interpreter",
    "PassManager",
    "PreLowerStripPhis",
    "Purpose",
    "ReconstructSSA",
    "RewriteSemanticConstants",
    "TypingContext",
    "as_dtype",
    "build_definitions",
    "compute_cfg_from_blocks",
    "cgutils",
    "errors",
    "from_dtype",
    "ir",
    "register_pass",
    "target_override",
    "target_registry",
    "templates",
    "typeinfer",
    "typeof_impl",
    "types",
]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""

NUMBA_FOLDER = os.path.dirname(numba.__file__) + os.sep
"""The folder of Numba's own functions, whose lines no message names."""
