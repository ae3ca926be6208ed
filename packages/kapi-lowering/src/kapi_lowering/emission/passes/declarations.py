"""Functions that are declared, and called no more."""

from __future__ import annotations

import re

from ..llvm_ir import ConstantValue, Module
from ..pipeline import module_pass

__all__ = ["drop_unused_declarations"]

_NAME = re.compile(r'@(?:"([^"]*)"|([-\w.$]+))')


@module_pass
def drop_unused_declarations(module: Module) -> None:
    """Leave out declarations that nothing names, for which a back end may write imports."""
    texts = {
        each.ref
        for instruction in module.instructions()
        for each in instruction.operands
        if type(each) is ConstantValue
    }
    texts.update(module.globals.values())
    named = {found[1] or found[2] for text in texts if "@" in text for found in _NAME.finditer(text)}
    for name, function in [*module.functions.items()]:
        if function.is_declaration and name not in named:
            del module.functions[name]
