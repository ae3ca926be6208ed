"""Arguments of one launch that share memory, of which the kernel writes one.

Work-items run in any order, so what they read of an array that others write under another index is undefined.  One view
given twice, as in ``scale[n](x, x)``, is different: an index means the same element in both.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kapi_lowering import KernelModule
from kapi_runtime.launch.arguments import Arguments
from kapi_runtime.platform.numpy_views import numpy_view
from kapi_sim import KernelLaunchError
from kapi_sim.language.array_memory import OVERLAPPING, ArrayFields, is_same_view, may_share

__all__ = ["check_no_overlap", "shares_memory"]

_MAX_WORK = 100_000  # steps of NumPy's search for an address that two views have in common: about a millisecond


def check_no_overlap(module: KernelModule, arguments: Arguments) -> bool:
    """Raise if two arguments, one of them written, or two elements of one, share memory without being the same view.

    The one walk over the pairs of a launch.

    - `module`: the compiled kernel, which says what it writes.

    Returns whether what the kernel only reads shares no byte with what it writes; the spans decide. Raises
    `KernelLaunchError`: with both arguments, their addresses, and what to do.
    """
    arrays = [
        (name, value, parameter.is_written, value.span)
        for name, value, parameter in zip(arguments.names, arguments.read, module.parameters, strict=True)
        if isinstance(value, ArrayFields)
    ]
    copied = arguments.copied.overlapping if arguments.copied is not None else ()
    for name, value, is_written, _ in arrays:
        if is_written and (value.overlaps_itself or name in copied):
            raise KernelLaunchError(
                f"argument `{name}` of kernel `{module.name}` must be {OVERLAPPING}", code="argument-overlaps-itself"
            )
    are_inputs_disjoint = True
    for (first, a, writes_first, a_span), (second, b, writes_second, b_span) in combinations(arrays, 2):
        if not ((writes_first or writes_second) and may_share(*a_span, *b_span)):
            continue
        are_inputs_disjoint = are_inputs_disjoint and writes_first and writes_second
        if _is_same_view(a, b) or not shares_memory(a, b):
            continue
        names = [f"`{name}`" for name, is_written in ((first, writes_first), (second, writes_second)) if is_written]
        kernel = f"kernel `{module.name}`, which writes {' and '.join(names)},"
        copy = first if writes_second and not writes_first else second
        raise KernelLaunchError(
            f"arguments `{first}` and `{second}` of {kernel} must not overlap unless they are the same view, "
            "since work-items run in any order, got\n"
            f"  `{first}` in bytes {_addresses(a_span)}\n"
            f"  `{second}` in bytes {_addresses(b_span)}\n"
            f"Give the kernel a copy of one: `{copy} = {copy}.copy()`",
            code="arguments-overlap",
        )
    return are_inputs_disjoint


def _is_same_view(a: ArrayFields, b: ArrayFields) -> bool:
    rank = len(a.shape)
    if (rank, a.dtype.itemsize) != (len(b.shape), b.dtype.itemsize):
        return False
    return is_same_view(a.pointer, a.shape, a.strides, b.pointer, b.shape, b.strides, rank)


def shares_memory(a: ArrayFields, b: ArrayFields) -> bool:
    """Whether there is a byte that belongs to elements of both; true if that is too hard to tell."""
    try:
        return np.shares_memory(
            numpy_view(a),
            numpy_view(b),
            max_work=_MAX_WORK,  # type: ignore[arg-type]  # NumPy's stubs know its names of two numbers alone
        )
    except np.exceptions.TooHardError:
        return True


def _addresses(span: tuple[int, int]) -> str:
    return f"{span[0]:#x} to {span[1] - 1:#x}"
