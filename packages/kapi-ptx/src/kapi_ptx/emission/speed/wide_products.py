"""Products of two numbers of 32 bits, in 64 bits: PTX has an instruction for them.

LLVM's back end finds them where both numbers are widened in the block of the product. Where one comes from elsewhere,
or is loaded as 64 bits, it multiplies 64 bits by 64 bits, which takes three instructions of the processor.
"""

from __future__ import annotations

import re

from ..ir.patterns import FUNCTION, NAME

__all__ = ["write_wide_products"]

_WIDENED = re.compile(rf"^  ({NAME}) = zext (?:nneg )?i32 ({NAME}) to i64$", re.MULTILINE)
_PRODUCT = re.compile(rf"^  ({NAME}) = mul (?:nuw )?(?:nsw )?i64 ({NAME}), ({NAME})$", re.MULTILINE)


def write_wide_products(text: str) -> str:
    """LLVM IR text with that instruction for each product of two widened numbers."""
    return FUNCTION.sub(lambda found: _of_function(found[0]), text)


def _of_function(text: str) -> str:
    narrow = dict(_WIDENED.findall(text))

    def product(found: re.Match[str]) -> str:
        result, left, right = found.groups()
        if left not in narrow or right not in narrow:
            return found[0]
        given = f"i32 {narrow[left]}, i32 {narrow[right]}"
        return f'  {result} = call i64 asm "mul.wide.u32 $0, $1, $2;", "=l,r,r"({given})'

    return _PRODUCT.sub(product, text)
