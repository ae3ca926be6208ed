"""Values of LLVM IR: the base of all, and constants."""

from __future__ import annotations

import re
import struct

from .types import IRType

__all__ = ["ConstantValue", "IRValue", "constant"]


class IRValue:
    """A value: anything that an operand may be.

    - `ref`: how operands name it. For a value without a name, a number that is up to date after its function was
      printed.
    """

    __slots__ = ("ref", "type")

    type: IRType
    ref: str

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    @property
    def integer(self) -> int | None:
        """The number of an integer constant; None of all else."""
        return None


class ConstantValue(IRValue):
    """A constant, or a global's address: type and text. Equal constants are one object; get them from `constant`."""

    __slots__ = ("_integer",)

    def __init__(self, type_: IRType, text: str) -> None:
        self.type, self.ref = type_, text
        number = {"true": "1", "false": "0"}.get(text, text)
        self._integer = int(number) if re.fullmatch(r"-?\d+", number) else None

    @property
    def integer(self) -> int | None:
        return self._integer

    @property
    def global_name(self) -> str | None:
        """The name of the global whose address this is, without quotes."""
        return self.ref[1:].strip('"') if self.ref.startswith("@") else None


_CONSTANTS: dict[tuple[IRType, str], ConstantValue] = {}


def constant(type_: IRType, value: str | int | float) -> ConstantValue:
    """The constant of a type: by its text, an integer, or a float that is exact in the type."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    text = value if isinstance(value, str) else _float_text(type_, value) if isinstance(value, float) else str(value)
    known = _CONSTANTS.get((type_, text))
    if known is None:
        known = _CONSTANTS[type_, text] = ConstantValue(type_, text)
    return known


def _float_text(type_: IRType, value: float) -> str:
    if type_.scalar.text == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', value))[0]:04X}"
    if float(f"{value:e}") == value:
        return f"{value:e}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
