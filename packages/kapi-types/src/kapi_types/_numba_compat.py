"""Every Numba internal that kapi-types touches, imported in one place.

Numba documents `numba.types` and `numba.extending`; the rest of what is below may move between its minor
releases. A new Numba version is supported by making this file and the tests that name it pass.

What is to be known of Numba 0.68:

- Its ``alloca_once`` zeroes private arrays by one store: 13 s for 8,000 elements. So their memory stays uninitialised;
  64 KiB take 0.8 s then, and the limit is 256 KiB.
- Its wrapper of parallel loops builds an array's structure itself: a data model with more fields than
  ``numba.types.Array`` breaks ``prange``.
- An exception that passes through a compiled function leaks a reference to the live arrays there, of NumPy's too.
- NumPy's functions of device arrays are dpnp's, whatever overloads exist. Without offload, device arrays work in those
  of its array functions that need no temporaries.
"""

from __future__ import annotations

import os
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, errors, ir, typeinfer, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.bytecode import ByteCode, FunctionIdentity
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.consts import ConstantInferenceError
from numba.core.interpreter import Interpreter
from numba.core.ir_utils import build_definitions
from numba.core.target_extension import GPU, target_override, target_registry
from numba.core.transforms import canonicalize_cfg
from numba.core.typed_passes import PreLowerStripPhis
from numba.core.typing import templates
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.typeof import Purpose, typeof_impl
from numba.core.untyped_passes import (
    FixupArgs,
    InlineClosureLikes,
    ReconstructSSA,
    RewriteSemanticConstants,
)
from numba.np.numpy_support import as_dtype
from numba.np.numpy_support import from_dtype as _from_dtype

__all__ = [
    "GPU",
    "NUMBA_FOLDER",
    "SUPPORTED_NUMBA",
    "ReorderedRecordType",
    "ByteCode",
    "CompilerBase",
    "ConstantInferenceError",
    "FixupArgs",
    "Flags",
    "FunctionIdentity",
    "FunctionPass",
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
    "canonicalize_cfg",
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


class BoolSubArrayType(types.NestedArray):
    """A sub-array of bools in a record: Numba's own type asks its elements for a width in bits, which bools lack."""

    def __init__(self, dtype: types.Type, shape: tuple[int, ...]) -> None:
        self._shape = shape
        types.Array.__init__(self, dtype, len(shape), "C", name=f"nestedarray({dtype}, {shape})")

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 1


class ReorderedRecordType(types.Record):
    """A record whose fields are not in the order of their offsets, in which Numba's own type has them."""

    def __init__(self, fields: list[tuple[str, dict[str, Any]]], size: int, aligned: bool) -> None:
        super().__init__(fields, size, aligned)
        by_offset: dict[str, Any] = vars(self)["fields"]
        self.fields = {name: by_offset[name] for name, _ in fields}
        self.name = f"{self!s} as {', '.join(self.fields)}"


def from_dtype(dtype: Any) -> types.Type:
    """Numba's type of a dtype, of a record with sub-arrays of bools as well."""
    if dtype.subdtype is not None and dtype.base == np.bool_:
        return BoolSubArrayType(types.boolean, dtype.shape)
    if dtype.subdtype is not None and dtype.base.names is not None:
        return types.NestedArray(from_dtype(dtype.base), dtype.shape)
    if dtype.names is None or dtype.fields is None:
        return _from_dtype(dtype)
    own = [(name, *dtype.fields[name][:2]) for name in dtype.names]  # without titles
    fields = [(name, {"type": from_dtype(held), "offset": offset}) for name, held, offset in own]
    offsets = [offset for _, _, offset in own]
    class_ = types.Record if offsets == sorted(offsets) else ReorderedRecordType
    return class_(fields, dtype.itemsize, dtype.isalignedstruct)
