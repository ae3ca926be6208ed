"""Typed IR as text, for people."""

from __future__ import annotations

import io
from typing import Any

from kapi_types._numba_compat import ir

__all__ = ["typed_ir_text"]


def typed_ir_text(state: Any) -> str:
    """Numba's IR of one function, each assignment with its source line and the type of its variable.

    Parameters
    ----------
    state : numba.core.compiler.StateDict
        A compilation after type inference.
    """
    text = io.StringIO()
    print(f"{state.func_id.func_qualname}({', '.join(map(str, state.args))}) -> {state.return_type}", file=text)
    for label, block in sorted(state.func_ir.blocks.items()):
        print(f"block {label}:", file=text)
        for statement in block.body:
            if isinstance(statement, ir.Del):
                continue
            type_ = state.typemap.get(statement.target.name) if isinstance(statement, ir.Assign) else None
            spelled = f"  # line {statement.loc.line}" + (f": {type_}" if type_ is not None else "")
            print(f"    {statement}{spelled}", file=text)
    return text.getvalue()
