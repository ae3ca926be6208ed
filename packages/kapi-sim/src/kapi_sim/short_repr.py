"""Values of the user's in messages: as Python would write them, in one line of bounded length."""

from __future__ import annotations

import re
import reprlib
from typing import Any

__all__ = ["short_repr"]


def short_repr(value: object) -> str:
    """Return the value as it is shown in messages.

    - `value`: whatever was given. If its ``__repr__`` raises, its class and address are shown.

    Returns at most a few hundred characters; ``...`` stands for the rest.

    Examples
    --------
    >>> short_repr([3, 4])
    '[3, 4]'
    >>> short_repr(list(range(100_000)))
    '[0, 1, 2, 3, 4, 5, ...]'
    >>> short_repr(10**6000)
    '<int of 19932 bits>'
    """
    return re.sub(r"\s*\n\s*", " ", _SHORT.repr(value))


class _Short(reprlib.Repr):
    """Python's own shortening, with room for what kernels are given as a rule: shapes, texts and signatures."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxtuple = 12  # twice the axes that an array of a kernel may have
        self.maxstring = 120
        self.maxother = 200

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write thousands of digits, so these are counted.
        return repr(value) if value.bit_length() <= _WRITTEN_BITS else f"<int of {value.bit_length()} bits>"

    def repr_type(self, value: type, level: int) -> str:
        return repr(value)

    def repr_method(self, value: Any, level: int) -> str:
        return f"the method {value.__name__}, which is not called"

    def repr_function(self, value: Any, level: int) -> str:
        return repr(value)


_WRITTEN_BITS = 256
_SHORT = _Short()
