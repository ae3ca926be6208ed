"""The Numba front end of the kernel language: from Python source to typed IR, for any back end.

It holds NumPy 2's number rules (weak and strong scalars) and knows nothing of the code that is generated afterwards.
"""

from __future__ import annotations

from kapi_types.kernel_typing.context import TARGET_NAME, KernelTypingContext
from kapi_types.kernel_typing.passes.constant_propagation import axes_from_end, definitions_of
from kapi_types.kernel_typing.pipeline import KernelCompiler, kernel_flags
from kapi_types.kernel_typing.problems.problems import ProblemsFound, describe_problems, first_words, spell_type
from kapi_types.kernel_typing.problems.source_problems import problems_of_form, problems_of_source, reported_problems
from kapi_types.kernel_typing.results.float_widths import float_introductions
from kapi_types.kernel_typing.results.results import return_type, typed_ir_text
from kapi_types.kernel_typing.results.written_arrays import ArgumentPath, written_arrays
from kapi_types.kernel_typing.rules.numba_integers import numba_integers, numba_loop
from kapi_types.kernel_typing.rules.promotion import as_strong

__all__ = [
    "TARGET_NAME",
    "KernelCompiler",
    "KernelTypingContext",
    "ArgumentPath",
    "ProblemsFound",
    "as_strong",
    "axes_from_end",
    "definitions_of",
    "describe_problems",
    "first_words",
    "float_introductions",
    "kernel_flags",
    "numba_integers",
    "numba_loop",
    "reported_problems",
    "problems_of_form",
    "problems_of_source",
    "return_type",
    "spell_type",
    "typed_ir_text",
    "written_arrays",
]
