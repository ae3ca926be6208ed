"""The calling convention of kernel code.

A status is returned, the value through a pointer. Where failures are recorded, the status is the failure's number,
which callers pass on, and a hidden argument points to what else is to be known of it: three integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from kapi_lowering._numba_compat import FIRST_USEREXC, MinimalCallConv, cgutils
from kapi_lowering.llvm_calls import I32, I64
from kapi_lowering.results.failures import Failure
from kapi_sim import AddressSpace

__all__ = ["DETAILS", "KernelCallConv"]

DETAILS = ir.ArrayType(I64, 3)
"""The structure that the hidden argument points to."""


def is_global(type_: ir.Type) -> bool:
    """Whether a type is that of pointers to global memory."""
    return isinstance(type_, ir.PointerType) and type_.addrspace == int(AddressSpace.GLOBAL)


class KernelCallConv(MinimalCallConv):
    """Numba's minimal convention, in which every exception has a number of the module's table of failures."""

    @property
    def _is_recording(self) -> bool:
        return bool(self.context.options.checks_bounds)

    def get_function_type(self, restype: Any, argtypes: Sequence[Any]) -> ir.FunctionType:
        """The LLVM type of a function."""
        plain = super().get_function_type(restype, argtypes)
        if not self._is_recording:
            return plain
        return ir.FunctionType(plain.return_type, [plain.args[0], DETAILS.as_pointer(), *plain.args[1:]])

    def get_arguments(self, func: ir.Function) -> Sequence[ir.Value]:
        """The LLVM values of a function's own arguments."""
        return func.args[2:] if self._is_recording else func.args[1:]  # type: ignore[no-any-return]

    def call_function(
        self,
        builder: ir.IRBuilder,
        callee: ir.Function,
        resty: Any,
        argtys: Sequence[Any],
        args: Sequence[ir.Value],
        details: ir.Value | None = None,
        noalias: Sequence[bool] = (),
    ) -> tuple[Any, ir.Value]:
        """Call a lowered function.

        - `builder`, `callee`, `resty`, `argtys`, `args`: as Numba's own.
        - `details`: the hidden argument where the caller has none itself.
        - `noalias`: for each pointer to global memory among the arguments, whether nothing writes to that memory
          meanwhile; left out, it is not known.
        """
        result_type = callee.args[0].type.pointee
        result = cgutils.alloca_once(builder, result_type)
        builder.store(cgutils.get_null_value(result_type), result)
        hidden = []
        if self._is_recording:
            hidden.append(builder.function.args[1] if details is None else details)
        values = self._get_arg_packer(argtys).as_arguments(builder, args)
        given = [result, *hidden, *values]
        in_global = [index for index, value in enumerate(given) if is_global(value.type)] if noalias else []
        attributes = {index: ("noalias",) for index, holds in zip(in_global, noalias, strict=bool(noalias)) if holds}
        code = builder.call(callee, given, cconv=callee.calling_convention or None, arg_attrs=attributes)
        status = self._get_return_status(builder, code)
        return status, self.context.get_returned_value(builder, resty, builder.load(result))

    def return_user_exc(
        self,
        builder: ir.IRBuilder,
        exc: type[BaseException],
        exc_args: tuple[Any, ...] | None = None,
        loc: Any = None,
        func_name: str | None = None,
    ) -> None:
        """End the work-item with an exception; without a record, just end it."""
        self._fail(builder, exc.__name__, tuple(exc_args or ()))

    def return_operand_failure(self, builder: ir.IRBuilder, error: str, code: str, text: str) -> None:
        """End the work-item for operands that an operation has no result for.

        - `error`, `code`, `text`: the class of the error, the cause as `kapi_sim.codes` has it, and what is said.
        """
        self._fail(builder, error, (code, text))

    def return_index_failure(self, builder: ir.IRBuilder, index: ir.Value, axis: int, extent: ir.Value) -> None:
        """End the work-item for an index outside its axis."""
        details = builder.function.args[1]
        for position, value in enumerate((index, I64(axis), extent)):
            builder.store(value, builder.gep(details, [I32(0), I32(position)], inbounds=True))
        self._fail(builder, "OutOfBoundsError", (self.context.subject,))

    def return_member_failure(
        self, builder: ir.IRBuilder, call: tuple[str, str, str], member: ir.Value, size: ir.Value
    ) -> None:
        """End the work-item for naming a member that its group does not have.

        - `call`: the group algorithm, its parameter, and the kind of its group.
        - `member`, `size`: the member that was asked for, and the number of members, in 64 bits.
        """
        details = builder.function.args[1]
        for position, value in enumerate((member, I64(0), size)):
            builder.store(value, builder.gep(details, [I32(0), I32(position)], inbounds=True))
        self._fail(builder, "CollectiveMismatchError", call)

    def _fail(self, builder: ir.IRBuilder, error: str, args: tuple[Any, ...]) -> None:
        location = self.context.location
        failure = Failure(error, args, location.filename, location.line)
        code = self.context.failures.code(failure) if self._is_recording else 1
        self._return_errcode_raw(builder, FIRST_USEREXC - 1 + code)
