"""A loop on the host: over copies of the USM arrays, compiled by Numba, and copied back."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import NumbaPendingDeprecationWarning

from kapi_numba_offload._numba_compat import (
    as_dtype,
    holds_plain_numbers,
    is_container,
    is_untyped,
    numba_call,
    typeof,
    types,
)
from kapi_numba_offload.analysis.effects import has_aliases, has_effects
from kapi_numba_offload.analysis.element_dtypes import Dtypes, as_numpy_has_it, dtypes_after
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import root_variable
from kapi_numba_offload.libraries.arrays import arrays_among, is_device_array, library
from kapi_numba_offload.loops.host.called_functions import CalledFunction, as_host_has_it
from kapi_numba_offload.loops.host.held_updates import HELPERS
from kapi_numba_offload.loops.host.host_copies import HostCopies, is_reachable
from kapi_numba_offload.loops.host.loop_exits import function_body
from kapi_numba_offload.loops.loop_syntax import variables_of
from kapi_numba_offload.run.fallback import IN_PLACE, ON_COPIES
from kapi_sim.log import long_work

__all__ = ["HostLoop", "more_than_read"]

_PLAIN = (bool, float, complex, str, type(None), *np.sctypeDict.values())
"""Classes whose values have one type for Numba."""


class HostLoop:
    """A loop as a function of its own.

    - `function`: that the loop is in.
    - `bounds`: parameters for the arguments of `prange`, first.
    - `given`: variables that it reads or may leave as they are: further parameters.
    - `returned`: variables whose values it leaves.
    - `parallel`: whether it is over `prange`.
    - `flagged`: those of `returned` that may have no value afterwards.
    - `options`: options for `numba.njit`.
    - `called`: user functions that are compiled for it; others it calls as they are.
    - `definitions`: local functions that it calls.
    - `may_fill`: whether it may store to lists and sets that hold numbers: nothing reads them after an exception.
    - `empty`: those of `given` that may be empty lists, whose type the loop tells: it makes them then.
    - `interpreted`: the loop as NumPy and Python run it, if that is not the one for Numba.
    - `is_parallel`: whether Numba runs iterations of it at once.
    - `moved`: bytes copied between host and device by the latest run.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Scope,
        loop: ast.stmt,
        bounds: Sequence[str],
        given: Sequence[str],
        returned: Sequence[str],
        *,
        parallel: bool,
        flagged: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        called: Sequence[CalledFunction] = (),
        definitions: Sequence[ast.FunctionDef] = (),
        may_fill: bool = False,
        empty: Sequence[str] = (),
        interpreted: ast.stmt | None = None,
    ) -> None:
        self.given, self.is_parallel = tuple(given), parallel
        name = f"{function.__name__ if function.__name__.isidentifier() else 'lambda_'}_line_{loop.lineno}"
        read = variables_of([*definitions, loop], ast.Load)
        outside = as_host_has_it({**function.__globals__, **names.closure}, read)
        options = {**(options or {}), "parallel": parallel}
        outside.update({**HELPERS, **{each.name: each.compiled(options) for each in called}})

        def made(statement: ast.stmt) -> tuple[FunctionType, list[ast.stmt]]:
            definition = ast.parse(f"def {name}({', '.join((*bounds, *given))}): pass").body[0]
            assert isinstance(definition, ast.FunctionDef)
            definition.body = [*definitions, *function_body(statement, returned, flagged)]
            module = ast.fix_missing_locations(ast.Module([definition], []))
            scope: dict[str, Any] = {}
            exec(compile(module, function.__code__.co_filename, "exec"), outside, scope)
            return scope[name], definition.body

        for_numba, body = made(loop)
        self.function = for_numba if interpreted is None else made(interpreted)[0]
        self._compiled = numba.njit(**options)(for_numba)
        self._why: dict[tuple[Any, ...], str | None] = {}
        self._loop, self._returned = loop, tuple(returned)
        self._first = len(body[-1].value.elts) - len(returned) - len(flagged)  # type: ignore[attr-defined]
        self._dtypes: dict[frozenset[tuple[str, Dtypes]], dict[str, Dtypes]] = {}
        self.moved = 0
        subscripts = [each for each in ast.walk(loop) if isinstance(each, ast.Subscript)]
        stored = {root_variable(each) for each in subscripts if not isinstance(each.ctx, ast.Load)}
        stored |= {root_variable(each.target) for each in ast.walk(loop) if isinstance(each, ast.AugAssign)}
        # A number that is a 0-d array on the device is a number here, which no augmented assignment changes in place;
        # parameters are arrays whatever their rank.
        indexed = {each.value.id for each in subscripts if isinstance(each.value, ast.Name)}
        self._numbers = set(self.given).difference(names.parameters, indexed)
        # An array that is only read need not be copied back; one that is given to a function may be changed by it.
        self._only_read = set() if has_effects(loop, names) or has_aliases(loop) else set(self.given) - stored
        self._kept_as_given = set(self.given) - more_than_read(loop)
        self._may_fill = may_fill
        self._empty = tuple(empty)
        self._filling: HostLoop | None = None
        if empty:
            lists: list[Any] = [ast.Assign([ast.Name(each, ast.Store())], ast.List([], ast.Load())) for each in empty]
            rest = [each for each in given if each not in empty]
            self._filling = HostLoop(
                function, names, loop, bounds, rest, [*returned, *empty], parallel=parallel, flagged=flagged,
                options=options, called=called, definitions=[*lists, *definitions], may_fill=may_fill,
            )  # fmt: skip

    def how(self, bounds: Sequence[Any], given: Sequence[Any]) -> str:
        """Describe how it runs with such values."""
        why = self.why_not_compiled(bounds, given)
        if why is not None:
            return f"Python runs it on the host, element by element: {why}"
        return IN_PLACE if all(map(is_reachable, arrays_among(given))) else ON_COPIES

    def run(self, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any] = ()) -> Any:
        """Run the loop, and return the variables that it leaves, a single one as itself."""
        values = self.leave(bounds, captured, initial)
        return values[0] if len(values) == 1 else values

    def leave(
        self, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any] = (), *, compiled: bool = True
    ) -> tuple[Any, ...]:
        """Run the loop, compiled or by Python, and return all that it leaves: see `loop_exits.function_body`."""
        given = [*captured, *initial]
        if compiled and self._makes_lists(given) and self.why_not_compiled(bounds, given) is None:
            return self._leave_lists(bounds, given)
        is_compiled = compiled and self.why_not_compiled(bounds, given) is None
        copies = HostCopies(arrays_among(given))
        args = self._on_host(copies, given)
        self.moved = copies.size
        try:
            if is_compiled:
                narrow = [each for each in given if type(each) is list and each and isinstance(each[0], np.inexact)]
                classes = [type(each[0]) for each in narrow]
                result = self._call([*bounds, *args])
                for each, class_ in zip(narrow, classes, strict=True):
                    each[:] = map(class_, each)
                result = self._with_numpy_s(result, [*bounds, *args], given)
            else:
                result = self.function(*bounds, *args)
        except BaseException:
            copies.on_device(())
            raise
        finally:  # what was stored before an exception stays stored
            for name, array in zip(self.given, given, strict=True):
                if name not in self._only_read:
                    self.moved += copies.copy_back(array)
        return tuple(copies.on_device(tuple(result)))

    def _makes_lists(self, given: Sequence[Any]) -> bool:
        """Whether the lists that it may make are empty, and each has one name."""
        lists = [value for name, value in zip(self.given, given, strict=True) if name in self._empty]
        is_empty = all(type(each) is list and not each for each in lists)
        return bool(lists) and is_empty and all(sum(each is other for other in given) == 1 for each in lists)

    def _leave_lists(self, bounds: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
        assert self._filling is not None
        lists = {name: value for name, value in zip(self.given, given, strict=True) if name in self._empty}
        result = self._filling.leave(bounds, self._without_lists(given))
        self.moved = self._filling.moved
        first = self._first + len(self._returned)
        for name, items in zip(self._empty, result[first:], strict=False):
            lists[name][:] = items
        return *result[:first], *result[first + len(self._empty) :]

    def _without_lists(self, given: Sequence[Any]) -> list[Any]:
        return [value for name, value in zip(self.given, given, strict=True) if name not in self._empty]

    def only_reads(self, name: str) -> bool:
        """Whether an array that it is given keeps its elements."""
        return name in self._only_read

    def compiles(self, captured: Sequence[Any]) -> bool:
        """Compile the loop for such values; whether Numba can."""
        return self.why_not_compiled((), captured) is None

    def why_not_compiled(self, bounds: Sequence[Any], given: Sequence[Any]) -> str | None:
        """Compile the loop for such values; why Numba does not, or None."""
        if self._filling is not None and self._makes_lists(given):
            return self._filling.why_not_compiled(bounds, self._without_lists(given))
        for name, value in zip(self.given, given, strict=True):
            if is_untyped(value):
                return f"Numba cannot tell the type of `{name}`"
            if (
                is_container(value)
                and name not in self._kept_as_given
                and not (self._may_fill and holds_plain_numbers(value))
            ):
                return f"Numba would leave numbers of its own in `{name}`"
        key = tuple(map(_type_key, (*bounds, *given)))
        if key not in self._why:
            self._why[key] = self._refused(bounds, given)
        return self._why[key]

    def _refused(self, bounds: Sequence[Any], given: Sequence[Any]) -> str | None:
        """The reason why Numba cannot compile the loop, None if it can: then it has."""
        args = self._on_host(HostCopies(arrays_among(given)), given)
        try:
            name = self.function.__name__
            with (
                warnings.catch_warnings(),
                long_work(f"compiling loop `{name}` for the host", f"loop `{name}`: compiled for the host by Numba"),
            ):
                # Lists are Python's to the author of the function.
                warnings.simplefilter("ignore", NumbaPendingDeprecationWarning)
                self._compiled.compile(tuple(map(self._compiled.typeof_pyval, (*bounds, *args))))
        except Exception as error:  # some of what Numba cannot compile ends in an exception of its compiler
            words = next((each.strip() for each in str(error).splitlines()[1:] if each.strip()), str(error))
            return f"Numba cannot compile it ({words.rstrip('.')})"
        return None

    def _on_host(self, copies: HostCopies, given: Sequence[Any]) -> list[Any]:
        return [
            host[()] if name in self._numbers and isinstance(host, np.ndarray) and host.ndim == 0 else host
            for name, host in zip(self.given, map(copies.on_host, given), strict=True)
        ]

    def _call(self, args: Sequence[Any]) -> Any:
        return numba_call(self._compiled, *args)

    def _with_numpy_s(self, result: tuple[Any, ...], args: Sequence[Any], given: Sequence[Any]) -> tuple[Any, ...]:
        """The values with NumPy's numbers instead of Numba's, where the loop in Python would leave such."""
        if not any(value.__class__ in (int, float, complex, list) for value in result):
            return result
        compiled = self._compiled.overloads.get(tuple(map(self._compiled.typeof_pyval, args)))
        if compiled is None:
            return result
        before = frozenset(
            (name, frozenset((value.dtype.name,)))
            for name, value in zip(self.given, given, strict=True)
            if isinstance(getattr(value, "dtype", None), np.dtype)
        )
        if before not in self._dtypes:
            self._dtypes[before] = dtypes_after(self._loop, dict(before))
        dtypes = self._dtypes[before]
        values = list(result)
        for number, name in enumerate(self._returned, self._first):
            type_ = compiled.signature.return_type[number]
            type_ = type_.type if isinstance(type_, types.Optional) else type_
            if isinstance(type_, types.List) and isinstance(type_.dtype, types.Number):
                dtype = as_dtype(type_.dtype)
                if dtype.name not in ("int64", "float64", "complex128"):
                    values[number] = [dtype.type(each) for each in values[number]]
            elif values[number].__class__ in (int, float, complex) and isinstance(type_, types.Number):
                values[number] = as_numpy_has_it(values[number], as_dtype(type_), dtypes.get(name, frozenset()))
        return tuple(values)


def _type_key(value: Any) -> Any:
    """Parts that decide Numba's type of a value."""
    if is_device_array(value):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.f_contiguous, library(value).is_writable(value)
    if isinstance(value, np.ndarray):
        own = value.flags
        return value.dtype, value.ndim, own.c_contiguous, own.f_contiguous, own.writeable, own.aligned
    if isinstance(value, (tuple, list)):
        return type(value), *map(_type_key, value)
    if type(value) is int:
        return int, value.bit_length() > 63
    if type(value) in _PLAIN:
        return type(value)
    try:
        return typeof(value)
    except ValueError:  # Numba has no type of it
        return type(value)


def more_than_read(loop: ast.stmt) -> set[str]:
    """The names of what a loop does more with than to read its elements and its length, as it may with a list."""
    kept = set()
    names = []
    for each in ast.walk(loop):
        if isinstance(each, ast.Name):
            names.append(each)
        elif isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Load):
            kept.add(id(each.value))
        elif isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "len":
            kept.update(map(id, each.args))
    return {each.id for each in names if id(each) not in kept}
