"""Values that are not defined: what a shift beyond the sub-group's end gives, or a variable that was not set.

Such a value may be had and computed with, as long as nothing depends on it.  It goes through
arithmetic, and storing it, branching on it or indexing with it is an error.  An error at the shift itself would refuse
every textbook reduction by shifts, which computes with such values and never uses the results.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kapi_sim.errors import CollectiveMismatchError, KapiError
from kapi_sim.language.source import SourceLocation
from kapi_sim.tracebacks import users_frame

__all__ = ["Undefined", "passing"]


class Undefined:
    """A value that depends on one which is not defined.

    - `origin`: where it was had, and why it is not defined: a string, or what gives one when an error is raised.
    - `hint`: the remedy.
    - `error`: class of the error for what depends on it.
    - `code`: the error's.
    """

    __slots__ = ("_code", "_error", "_hint", "origin")

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        origin: object,
        hint: str = "use it only where `get_local_id` says that there is such a work-item",
        error: type[KapiError] = CollectiveMismatchError,
        code: str = "undefined-value",
    ) -> None:
        self.origin = origin
        self._hint = hint
        self._error = error
        self._code = code

    def fail(self, use: str) -> KapiError:
        """Return the error for something, in the kernel that runs, that depends on the value."""
        frame = users_frame(sys._getframe(1))
        return self._error(
            f"an undefined value is used {use} at "
            f"{SourceLocation(frame.f_code.co_filename, frame.f_lineno)}\n  {self.origin}\n  {self._hint}",
            code=self._code,
        )

    def __array_ufunc__(self, ufunc: object, method: str, *inputs: object, **options: object) -> Undefined:
        # NumPy's scalars and functions leave the operation to this class.
        return self

    def __bool__(self) -> bool:
        raise self.fail("in a condition")

    def __index__(self) -> int:
        raise self.fail("as an index or a count")

    def __int__(self) -> int:
        raise self.fail("in a conversion to an integer")

    def __float__(self) -> float:
        raise self.fail("in a conversion or a store")

    def __complex__(self) -> complex:
        raise self.fail("in a conversion or a store")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.fail(f"for its {name!r}")

    def __getitem__(self, index: object) -> Any:
        raise self.fail("as an array or tuple")

    def __setitem__(self, index: object, value: object) -> None:
        raise self.fail("as an array")

    def __len__(self) -> int:
        raise self.fail("as an array or tuple")

    def __iter__(self) -> Any:
        raise self.fail("in a loop, or to be unpacked")

    def __call__(self, *args: object) -> Any:
        raise self.fail("as a function")

    def __repr__(self) -> str:
        return "<undefined>"


def _passed_on(self: Undefined, *others: Any) -> Undefined:
    return self


_UNARY = ("neg", "pos", "abs", "invert", "round")
_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
for _name in (*_UNARY, *_COMPARISONS, *_BINARY, *(f"r{name}" for name in _BINARY)):
    setattr(Undefined, f"__{_name}__", _passed_on)


def passing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a kernel with sub-groups calls for `function`: a value that is not defined is passed on."""

    def passed(*values: Any) -> Any:
        for value in values:
            if value.__class__ is Undefined:
                return value
        return function(*values)

    return passed
