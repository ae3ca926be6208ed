"""Atomic updates of what one work-group alone reaches, as functions without locks of memory: one thread runs a group.

They are declared until vectors are made, so that lanes update one after the other, and are inlined then.
"""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import Module, parse_module
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["PREFIX", "define_group_updates"]

PREFIX = "kapi_group_update."

_NAME = re.compile(rf"{re.escape(PREFIX)}(\w+)\.([if])(32|64)")
_CONDITIONS = {
    "min": "icmp slt {0} %value, %old",
    "max": "icmp sgt {0} %value, %old",
    "umin": "icmp ult {0} %value, %old",
    "umax": "icmp ugt {0} %value, %old",
    "fmin": "fcmp olt {0} %value, %old",
    "fmax": "fcmp ogt {0} %value, %old",
}


def _text(name: str, operation: str, type_: str) -> str:
    head = f"define internal {type_} @{name}(ptr %at, {type_} %value) alwaysinline nounwind"
    lines = [f"%old = load {type_}, ptr %at"]
    if operation == "exchange":
        new = "%value"
    elif operation in _CONDITIONS:
        lines.append(f"%nearer = {_CONDITIONS[operation].format(type_)}")
        chosen = "%nearer"
        if operation.startswith("f"):  # of a number and nan it is the number
            lines += [f"%nan = fcmp uno {type_} %old, %old", "%chosen = or i1 %nearer, %nan"]
            chosen = "%chosen"
        lines.append(f"%new = select i1 {chosen}, {type_} %value, {type_} %old")
        new = "%new"
    else:
        lines.append(f"%new = {operation} {type_} %old, %value")
        new = "%new"
    lines += [f"store {type_} {new}, ptr %at", f"ret {type_} %old"]
    body = "\n".join(f"  {line}" for line in lines)
    return f"{head} {{\n{body}\n}}\n"


@module_pass
def define_group_updates(module: Module) -> None:
    """Define the updates that a module declares."""
    texts = []
    for name in module.functions:
        if found := _NAME.fullmatch(name):
            operation, kind, bits = found.groups()
            texts.append(_text(name, operation, f"i{bits}" if kind == "i" else {"32": "float", "64": "double"}[bits]))
    for name, function in parse_module("\n".join(texts)).functions.items():
        function.module = module
        module.functions[name] = function
