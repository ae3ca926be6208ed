"""The questions that lowering asks of a target: what a code generator answers, in the order of `Target`."""

from __future__ import annotations

import inspect

from kapi_lowering import Target

for name, member in vars(Target).items():
    if not name.startswith("_") and (isinstance(member, property) or inspect.isfunction(member)):
        kind = "value" if isinstance(member, property) else "method"
        print(f"{kind:7} {name:20} {inspect.getdoc(member).splitlines()[0]}")
