"""Local functions and lambdas, inlined where they are called."""

from __future__ import annotations

from typing import Any

from kapi_types._numba_compat import InlineClosureLikes, register_pass

__all__ = ["InlineLocalFunctions"]


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineLocalFunctions(InlineClosureLikes):
    """Numba's pass, for functions that have a local one.

    The pass imports Numba's arrays, lists and texts with all that they can do, 150 ms of the first kernel of a process,
    and knows loops over lists, which kernels do not have.
    """

    _name = "kapi_inline_local_functions"

    def run_pass(self, state: Any) -> bool:
        """Inline, if there is something to inline."""
        blocks = state.func_ir.blocks.values()
        if not any(True for block in blocks for _ in block.find_exprs(op="make_function")):
            return False
        return bool(super().run_pass(state))
