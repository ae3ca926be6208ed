"""LLVM IR as objects: parsed from the text that LLVM prints, changed, and printed again.

Types are shared objects. A module has functions, these have blocks, and blocks have instructions, whose operands are
values that know who uses them. What is not understood is kept as it is written. `Builder` makes instructions,
`ControlFlow` knows dominators and loops, and `clone_blocks` copies.
"""

from __future__ import annotations

from .builder import Builder
from .cfg import ControlFlow, DominatorTree, NaturalLoop, postorder
from .editing import (
    clone_blocks,
    clone_function,
    clone_instruction,
    copy_head,
    declare,
    erase_unused,
    is_pure,
    split_before,
)
from .forms import BINARY, CASTS, NEGATED, SWAPPED, Form
from .instructions import Argument, Block, Instruction, LocalValue, defined
from .module import Function, Module
from .parser import parse_module
from .types import (
    I1,
    I8,
    I16,
    I32,
    I64,
    LABEL,
    METADATA,
    OPAQUE,
    PTR,
    VOID,
    FloatType,
    FunctionType,
    IntType,
    IRArrayType,
    IRType,
    NamedType,
    PointerType,
    StructType,
    VectorType,
    int_type,
    parse_type,
)
from .values import ConstantValue, IRValue, constant

__all__ = [
    "BINARY",
    "CASTS",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "LABEL",
    "METADATA",
    "NEGATED",
    "OPAQUE",
    "PTR",
    "SWAPPED",
    "VOID",
    "IRArrayType",
    "Block",
    "Builder",
    "ConstantValue",
    "ControlFlow",
    "DominatorTree",
    "FloatType",
    "Form",
    "Function",
    "FunctionType",
    "Instruction",
    "IntType",
    "LocalValue",
    "NaturalLoop",
    "Module",
    "NamedType",
    "Argument",
    "PointerType",
    "StructType",
    "IRType",
    "IRValue",
    "VectorType",
    "clone_blocks",
    "clone_function",
    "clone_instruction",
    "copy_head",
    "constant",
    "declare",
    "defined",
    "erase_unused",
    "int_type",
    "is_pure",
    "parse_module",
    "parse_type",
    "postorder",
    "split_before",
]
