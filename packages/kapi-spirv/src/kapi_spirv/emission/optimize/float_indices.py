"""Floats that become indices of arrays: an index that exists needs no saturation, and 32 bits hold it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kapi_lowering.emission.llvm_ir import I32, I64, Argument, Builder, Instruction, IRValue, Module, defined
from kapi_lowering.emission.passes.packed_arrays import SIZES, array_of, arrays_of, is_kernel
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["lower_float_indices"]

_CONVERSION = re.compile(r"llvm\.fpto[su]i\.sat\.i(?:32|64)\.f\d+")
_ATOMIC = re.compile(r"_Z\d+__spirv_Atomic\w+")
_LANGUAGE = "!opencl.ocl.version"


@module_pass
def lower_float_indices(module: Module, is_small: bool) -> None:
    """Convert a float that is an index of an array, and nothing else, to 32 bits directly.

    An access of an element that is not there is an error, so the index of one that is read or written is not negative
    and less than the array's extent. The ends of the integer's range are never reached, and what is left of the
    conversion is 0 for nan, by one maximum. 31 bits count the elements of local memory, and of global arrays in
    launches with small extents.

    Indices of atomic operations are converted so, too. Each operation is done for one work-item after the other, and
    with so little around it Intel's compiler for CPUs finds vectors not worth it, where they take 0.85 of the time. It
    weighs that only in modules that call themselves OpenCL C, so a module with such an index does not.

    - `module`: the IR, with `llvm.fptosi.sat` and `llvm.fptoui.sat`.
    - `is_small`: whether 31 bits hold all extents.
    """
    arrays = arrays_of(module) if is_small else {}
    sizes = {pointer: array.size for pointer, array in arrays.items() if len(array.extents) == 1}
    for function in filter(is_kernel, module.definitions):
        for each in function.instructions():
            if _CONVERSION.fullmatch(each.callee) and _is_index(each, each.type is I32, sizes):
                if any(map(_is_atomic, _accesses(each))):
                    module.named_metadata.pop(_LANGUAGE, None)
                _convert(each)


def _is_index(value: Instruction, is_narrow: bool, sizes: dict[int, int]) -> bool:
    """Whether an integer is only used as the index of elements that are accessed, or widened and then so used."""
    for user in value.users:
        if is_narrow:
            is_widened = user.opcode in ("sext", "zext") and user.type is I64
            if not is_widened or not _is_index(user, False, sizes):
                return False
            continue
        step = defined(user, "getelementptr")
        if step is None or len(step.operands) != 2 or step.operands[1] is not value or not _is_start(step, sizes):
            return False
        if not step.users or not all(_is_access(each, step) for each in step.users):
            return False
    return bool(value.users)


def _is_start(step: Instruction, sizes: dict[int, int]) -> bool:
    """Whether an element is of an array that is small enough, from its first one on."""
    pointer = step.operands[0]
    if str(pointer.type) == "ptr addrspace(3)":
        return isinstance(pointer, Argument)
    array = array_of(pointer)
    return array is not None and array[1] == [pointer] and sizes.get(array[0]) == SIZES.get(str(step.form.element), -1)


def _accesses(value: Instruction) -> Iterator[Instruction]:
    """The instructions that access an element at an index, which is used for nothing else."""
    for user in value.users:
        yield from _accesses(user) if user.opcode in ("sext", "zext") else user.users


def _is_atomic(user: Instruction) -> bool:
    return _ATOMIC.fullmatch(user.callee) is not None


def _is_access(user: Instruction, pointer: IRValue) -> bool:
    """Whether an instruction accesses memory at a pointer, and does nothing else with that."""
    if user.operands.count(pointer) != 1:
        return False
    if user.opcode in ("load", "store"):
        return user.operands[-1] is pointer and "atomic" not in user.flags
    return _is_atomic(user) and user.arguments[0] is pointer


def _convert(call: Instruction) -> None:
    """Convert to 32 bits a float that is not negative, or is nan."""
    (value,), type_ = call.arguments, call.arguments[0].type
    builder = Builder.before(call)
    is_above = builder.emit(f"fcmp ogt {type_} ?, 0.0", value)
    integral = builder.emit(f"select i1 ?, {type_} ?, {type_} 0.0", is_above, value)
    if call.type is I64:
        call.rewrite("zext i32 ? to i64", builder.emit(f"fptosi {type_} ? to i32", integral))
    else:
        call.rewrite(f"fptosi {type_} ? to i32", integral)
