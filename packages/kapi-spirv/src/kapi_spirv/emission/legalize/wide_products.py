"""Products of 128 bits, which LLVM makes of 64-bit ones by halves, as OpenCL's function of their upper half."""

from __future__ import annotations

from kapi_lowering.emission.llvm_ir import (
    I64,
    Builder,
    Function,
    Instruction,
    IRValue,
    declare,
    defined,
    erase_unused,
    int_type,
)
from kapi_lowering.emission.pipeline import function_pass

__all__ = ["lower_wide_products"]

_FUNCTION = "spir_func i64 @_Z6mul_himm"
_I128 = int_type(128)


@function_pass
def lower_wide_products(function: Function) -> None:
    """Take the upper 64 bits of a product by OpenCL's `mul_hi`.

    Whatever else is 128 bits wide `refuse_unsupported` reports.
    """
    for each in function.instructions():
        if each.opcode not in ("trunc", "icmp") or each.form.operand_types[0] is not _I128:
            continue
        factors = _factors(each.operands[0])
        if factors is None or (each.opcode == "trunc" and each.type is not I64):
            continue
        declare(function, f"{_FUNCTION}(i64, i64) nounwind memory(none)")
        builder = Builder.before(each)
        wide = each.operands[0]
        if each.opcode == "trunc":
            each.replace_all_uses_with(builder.call(_FUNCTION, *factors))
            each.erase()
        elif (number := each.operands[1].integer) is not None and 0 <= number < 2**64:
            # An upper half that is compared in 128 bits is not negative there.
            predicate = each.predicate if each.predicate in ("eq", "ne") else f"u{each.predicate[1:]}"
            each.rewrite(f"icmp {predicate} i64 ?, {number}", builder.call(_FUNCTION, *factors))
        erase_unused(wide)


def _factors(value: IRValue) -> tuple[IRValue, IRValue] | None:
    """The factors of 64 bits of the product whose upper half a value is."""
    upper = defined(value, "lshr")
    product = defined(upper.operands[0], "mul") if upper and upper.operands[1].integer == 64 else None
    factors = [_narrow(each) for each in product.operands] if product else []
    return (factors[0], factors[1]) if len(factors) == 2 and factors[0] and factors[1] else None


def _narrow(value: IRValue) -> IRValue | None:
    widened: Instruction | None = defined(value, "zext")
    return widened.operands[0] if widened and widened.operands[0].type is I64 else None
