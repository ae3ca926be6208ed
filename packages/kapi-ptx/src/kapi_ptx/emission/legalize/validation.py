"""Validation: IR that PTX cannot express is refused before the back end writes it."""

from __future__ import annotations

import re

from kapi_lowering.emission.llvm_ir import Module
from kapi_lowering.emission.pipeline import UnsupportedError, module_pass

__all__ = ["refuse_misspelled_names"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+")


@module_pass
def refuse_misspelled_names(module: Module) -> None:
    """Refuse names of visible functions that are none of PTX's: LLVM mends those of others alone.

    Raises `UnsupportedError` if there are any.
    """
    visible = [each for each in module.definitions if each.words[0] not in ("internal", "private")]
    problems = [
        f"a function of the name {_decoded(each.name)} (PTX has ASCII's letters, digits, _ and $)"
        for each in visible
        if not _NAME.fullmatch(each.name)
    ]
    if problems:
        raise UnsupportedError(problems)


def _decoded(name: str) -> str:
    """A name as it was written: LLVM writes bytes that are no printable ASCII in two hexadecimal digits."""
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), name.encode())
    return raw.decode(errors="replace")
