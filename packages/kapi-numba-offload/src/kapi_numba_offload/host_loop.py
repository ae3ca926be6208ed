"""A loop on the host: over copies of the USM arrays, compiled by Numba, and copied back."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import dpnp
import numba
import numpy as np
from dpnp.dpnp_array import dpnp_array

from kapi_numba_offload._numba_compat import NumbaError
from kapi_numba_offload.names import Names
from kapi_numba_offload.usm import may_overlap

__all__ = ["HostLoop"]


class HostLoop:
    """A loop as a function of its own.

    Parameters
    ----------
    function : function
        That the loop is in.
    names : Names
        What its names mean.
    loop : ast.stmt
        The loop.
    bounds : sequence of str
        Parameters for the arguments of `prange`, first.
    given : sequence of str
        Variables that it reads or may leave as they are: further parameters.
    returned : sequence of str
        Variables whose values it leaves.
    parallel : bool
        Whether it is over `prange`.

    Attributes
    ----------
    moved : int
        Bytes copied between host and device by the latest run.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        names: Names,
        loop: ast.stmt,
        bounds: Sequence[str],
        given: Sequence[str],
        returned: Sequence[str],
        *,
        parallel: bool,
    ) -> None:
        self.given, self.returned = tuple(given), tuple(returned)
        self._parameters = (*bounds, *given)
        name = f"{function.__name__ if function.__name__.isidentifier() else 'lambda_'}_line_{loop.lineno}"
        definition = ast.parse(f"def {name}({', '.join(self._parameters)}): pass").body[0]
        assert isinstance(definition, ast.FunctionDef)
        result = ast.Tuple([ast.Name(each, ast.Load()) for each in self.returned], ast.Load())
        definition.body = [copy.deepcopy(loop), ast.Return(result)]
        module = ast.fix_missing_locations(ast.Module([definition], []))
        scope: dict[str, Any] = {}
        exec(compile(module, function.__code__.co_filename, "exec"), {**function.__globals__, **names.closure}, scope)
        self.function: FunctionType = scope[name]
        self._compiled = numba.njit(parallel=parallel)(self.function)
        self._refused = False
        self.moved = 0
        subscripts = [each for each in ast.walk(loop) if isinstance(each, ast.Subscript)]
        stored = {
            each.value.id
            for each in subscripts
            if isinstance(each.value, ast.Name) and not isinstance(each.ctx, ast.Load)
        }
        called = any(isinstance(each, ast.Call) for each in ast.walk(loop))
        # An array that is only read need not be copied back; one that is given to a function may be changed by it.
        self._only_read = set() if called or _has_aliases(loop) else set(self.given) - stored

    def run(self, bounds: Sequence[Any], captured: Sequence[Any], initial: Sequence[Any] = ()) -> Any:
        """Run the loop, and return the variables that it leaves, a single one as itself."""
        given = [*captured, *initial]
        arrays = [each for each in given if isinstance(each, dpnp_array)]
        apart = not any(may_overlap(one, other) for number, one in enumerate(arrays) for other in arrays[number + 1 :])
        if not apart:
            # Copies of arrays that share memory would not share it.
            return self._result(self.function(*bounds, *given))
        copies: dict[int, Any] = {}
        args = [copies.setdefault(id(each), each.asnumpy()) if isinstance(each, dpnp_array) else each for each in given]
        self.moved = sum(each.nbytes for each in copies.values())
        result = self._call([*bounds, *args])
        for name, array in zip(self.given, given, strict=True):
            if isinstance(array, dpnp_array) and name not in self._only_read:
                array[...] = copies[id(array)]
                self.moved += array.nbytes
        back = {id(copies[id(array)]): array for array in arrays}
        made = tuple(
            dpnp.asarray(each, sycl_queue=arrays[0].sycl_queue)
            if isinstance(each, np.ndarray) and id(each) not in back and arrays
            else back.get(id(each), each)
            for each in result
        )
        return self._result(made)

    def _call(self, args: Sequence[Any]) -> Any:
        if not self._refused:
            try:
                return self._compiled(*args)
            except NumbaError:
                self._refused = True  # Numba cannot compile it for NumPy arrays; Python runs anything
        return self.function(*args)

    @staticmethod
    def _result(values: tuple[Any, ...]) -> Any:
        return values[0] if len(values) == 1 else values


def _has_aliases(loop: ast.AST) -> bool:
    """Whether the loop may store to an array under another name than its parameter's."""
    return any(isinstance(each, ast.Assign) and isinstance(each.value, (ast.Name, ast.Subscript, ast.Attribute))
               for each in ast.walk(loop))  # fmt: skip
