"""`llvm.ldexp`, which LLVM's passes make of powers of two and its back end cannot lower."""

from __future__ import annotations

import re

__all__ = ["name_ldexp"]

_CALL = re.compile(r"(call (?:[a-z]+ )*?)(half|float|double) @llvm\.ldexp\.f\d+\.i32\(")
_DECLARATION = re.compile(r"^declare (half|float|double) @llvm\.ldexp\.f\d+\.i32\(.*$", re.MULTILINE)
_MANGLED = {"half": "Dh", "float": "f", "double": "d"}


def name_ldexp(text: str) -> str:
    """LLVM IR text with OpenCL's `ldexp` in the place of `llvm.ldexp`.

    The back end ends the process on the intrinsic. Remove this when `test_backend_limits` says that it is mended.
    """
    text = _CALL.sub(lambda found: f"{found[1]}spir_func {found[2]} @_Z5ldexp{_MANGLED[found[2]]}i(", text)
    declared = "declare spir_func {0} @_Z5ldexp{1}i({0}, i32) nounwind memory(none)"
    is_named = {code for code in _MANGLED.values() if re.search(rf"^declare .*@_Z5ldexp{code}i\(", text, re.MULTILINE)}
    return _DECLARATION.sub(
        lambda found: "" if _MANGLED[found[1]] in is_named else declared.format(found[1], _MANGLED[found[1]]), text
    )
