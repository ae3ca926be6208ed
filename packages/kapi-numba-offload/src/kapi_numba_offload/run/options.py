"""Options of an offloaded function, and what the environment says in their place."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

from kapi_numba_offload._numba_compat import config
from kapi_sim import environment_variables
from kapi_sim.language import FAST_MATH_FLAGS

__all__ = ["OffloadOptions", "options_of", "with_options"]

_ATTRIBUTE = "__kapi_offload_options__"
_LEVELS = range(5)


@dataclass(frozen=True, slots=True)
class OffloadOptions:
    """The options of `offload`.

    Attributes
    ----------
    fallback : bool or None
        Whether what cannot be a kernel may run on the host; None: as the environment says, else True.
    diagnostics : int or None
        Level, 0 to 4, of what is printed after the first call for each list of argument types; None: as the
        environment says, else 0.
    fastmath : bool or frozenset of str
        Whether kernels may be optimised as if arithmetic were exact, or LLVM's flags for how far.
    boundscheck : bool
        Whether loops check each index before they use it: `numba.njit`'s own option.
    error_model : {"python", "numpy"}
        What a division by zero is in loops on the host: `numba.njit`'s own option.
    parallel : bool
        Whether Numba may do array expressions on the host in parallel: `numba.njit`'s own option.

    Raises
    ------
    ValueError
        If the level is none.
    """

    fallback: bool | None = None
    diagnostics: int | None = None
    fastmath: bool | frozenset[str] = False
    boundscheck: bool = False
    error_model: str = "python"
    parallel: bool = False

    def __post_init__(self) -> None:
        if self.diagnostics is not None and self.diagnostics not in _LEVELS:
            raise ValueError(f"diagnostics must be a level from 0 to 4, got {self.diagnostics!r}")

    @property
    def may_fall_back(self) -> bool:
        """Whether something may run on the host."""
        if self.fallback is not None:
            return self.fallback
        return not (environment_variables.OFFLOAD_FALLBACK.is_off or environment_variables.DPPY_FALLBACK.is_off)

    @property
    def for_numba(self) -> dict[str, Any]:
        """Options for what `numba.njit` compiles in the function's place."""
        return {"boundscheck": self.boundscheck, "error_model": self.error_model}

    @property
    def numba_fastmath(self) -> bool | set[str]:
        """`fastmath` as `numba.njit` takes it."""
        return self.fastmath if isinstance(self.fastmath, bool) else set(self.fastmath)

    def with_flags(self, flags: Any) -> OffloadOptions:
        """The options with those that the function has of `numba.njit`."""
        # Numba means `debug` to check indices, and misses it where `boundscheck` is left to its default.
        asked = flags.boundscheck or flags.debuginfo
        checks = asked if config.BOUNDSCHECK is None else config.BOUNDSCHECK
        given = frozenset(flags.fastmath.flags)
        own = "fast" in given or given & FAST_MATH_FLAGS.keys()
        fastmath = self.fastmath or (frozenset(own) if isinstance(own, Set) and own else own is True)
        return replace(
            self, boundscheck=bool(checks), fastmath=fastmath, error_model=flags.error_model,
            parallel=bool(flags.auto_parallel.enabled),
        )  # fmt: skip

    @property
    def level(self) -> int:
        """The level of diagnostics.

        Raises
        ------
        ValueError
            If the environment names no level.
        """
        if self.diagnostics is not None:
            return self.diagnostics
        for variable in (environment_variables.OFFLOAD_DIAGNOSTICS, environment_variables.DPPY_DIAGNOSTICS):
            text = variable.value
            if text:
                if not text.isdigit() or int(text) not in _LEVELS:
                    raise ValueError(f"{variable.name} must be a level from 0 to 4, got {text!r}")
                return int(text)
        return 0


def with_options(function: Callable[..., Any], options: OffloadOptions) -> Callable[..., Any]:
    """Keep options with a function, and return it: a copy of it where it has other options already."""
    if isinstance(function, FunctionType):
        if getattr(function, _ATTRIBUTE, options) != options:
            function = _copy_of(function)
        setattr(function, _ATTRIBUTE, options)
    return function


def options_of(function: Callable[..., Any]) -> OffloadOptions:
    """The options of a function; those of plain `numba.njit` if it was given none."""
    found = getattr(function, _ATTRIBUTE, None)
    return found if isinstance(found, OffloadOptions) else OffloadOptions()


def _copy_of(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__qualname__, copy.__doc__ = (
        function.__kwdefaults__,
        function.__qualname__,
        function.__doc__,
    )
    copy.__module__, copy.__annotations__ = function.__module__, function.__annotations__
    copy.__dict__.update(function.__dict__)
    return copy
