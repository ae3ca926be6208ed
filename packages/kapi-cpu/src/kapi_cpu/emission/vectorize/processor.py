"""The facts of a processor that decide how lanes are made."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Processor"]


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor, as the vectoriser sees it.

    - `vector_bits`: bits of a register.
    - `has_fast_gathers`: whether one instruction loads elements that are anywhere faster than as many loads.
    """

    vector_bits: int
    has_fast_gathers: bool

    @property
    def has_fast_scatters(self) -> bool:
        """Whether it has a scatter instruction: among processors with fast gathers, those of AVX-512."""
        return self.has_fast_gathers and self.vector_bits == 512

    @property
    def guesses_by_registers(self) -> bool:
        """Whether it guesses which store a load waits for by the registers of their addresses: those of AMD do."""
        return not self.has_fast_gathers
