"""A bounded cache for the types and shapes of earlier calls."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["BoundedCache"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedCache(dict[_Key, _Value]):
    """A dictionary that is emptied where it would get too large: so many shapes come once each."""

    def __init__(self, most: int = 256) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        if len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)
