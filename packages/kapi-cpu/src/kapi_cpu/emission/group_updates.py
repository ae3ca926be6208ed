"""Atomic updates of what one work-group alone reaches, as functions without locks of memory: one thread runs a group.

They are declared until vectors are made, so that lanes update one after the other, and are inlined then.
"""

from __future__ import annotations

import re

from kapi_cpu.emission.combinations import combined
from kapi_lowering.emission.llvm_ir import Module, parse_module
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["PREFIX", "define_group_updates", "update_of"]

PREFIX = "kapi_group_update."

_NAME = re.compile(rf"{re.escape(PREFIX)}(\w+)\.(\w+)")


def update_of(name: str) -> str:
    """The operation of an update, by its function's name."""
    return name[len(PREFIX) :].partition(".")[0]


def _text(name: str, operation: str, type_: str) -> str:
    declared = ""
    if operation == "exchange":
        new = f"bitcast {type_} %value to {type_}"
    elif operation == "sub":
        new = f"sub {type_} %old, %value"
    else:
        new, declared = combined(operation, type_, "%old", "%value")
    return (
        f"{declared}\ndefine internal {type_} @{name}(ptr %at, {type_} %value) alwaysinline nounwind {{\n"
        f"  %old = load {type_}, ptr %at\n  %new = {new}\n  store {type_} %new, ptr %at\n  ret {type_} %old\n}}\n"
    )


@module_pass
def define_group_updates(module: Module) -> None:
    """Define the updates that a module declares."""
    found = [(name, match) for name in module.functions if (match := _NAME.fullmatch(name))]
    text = "\n".join(_text(name, *match.groups()) for name, match in found)
    for name, function in parse_module(text).functions.items():
        if name.startswith(PREFIX) or name not in module.functions:  # and what they call, once
            function.module = module
            module.functions[name] = function
