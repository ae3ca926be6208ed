"""Refusal of a kernel that numba.cuda does not compile for the types of a launch."""

from __future__ import annotations

import ast
from types import FunctionType

from kapi_sim.errors import Finding, KernelCompilationError
from kapi_sim.language.attributes import bound_names
from kapi_sim.language.source import parse_function
from kapi_sim.numba_cuda.inference.call_graph import CallGraph
from kapi_sim.numba_cuda.inference.data_flow import FunctionFlow, follow
from kapi_sim.numba_cuda.inference.session import Session
from kapi_sim.numba_cuda.inference.syntax import refused_statements, unset_variables
from kapi_sim.numba_cuda.static_types.kinds import Array, Kind, Nothing, Unknown
from kapi_sim.tracebacks import with_cell

__all__ = ["inspected", "require_compilable"]


def require_compilable(function: FunctionType, kinds: tuple[Kind, ...]) -> CallGraph:
    """Raise if numba.cuda would not compile a kernel, as far as its source shows.

    Parameters
    ----------
    function : function
        The kernel, with what it takes from outside as it is compiled.
    kinds : tuple of Kind
        Types of its parameters.

    Raises
    ------
    KernelCompilationError
        With all problems of the kernel, and of the functions that it calls.

    Returns
    -------
    CallGraph
        The calls of device functions in it.
    """
    session = inspected(function, kinds)
    problems = sorted(session.problems, key=lambda each: (each.filename, each.line))
    if problems:
        raise KernelCompilationError(
            f"kernel `{function.__name__}` cannot be compiled for a GPU:\n"
            + "\n".join(f"  {with_cell(str(problem))}" for problem in problems),
            problems=problems,
        )
    return session.calls


def inspected(function: FunctionType, kinds: tuple[Kind, ...]) -> Session:
    """Return what is found of a kernel and the functions that it calls."""
    tree = parse_function(function)
    session = Session(follow)
    if tree is None:
        return session
    with session.following(function, kinds):
        refused = [*refused_statements(tree), *unset_variables(tree)]
        for line, finding in refused:
            session.report(function, line, finding)
        if not refused:
            flow = FunctionFlow(session, function, bound_names(tree), False)
            flow.result(tree, tuple(map(_of_parameter, kinds)))
            for node, kind in flow.returned:
                if isinstance(node, ast.Return) and not isinstance(kind, (Nothing, Unknown)):
                    finding = Finding("return-value", "a kernel cannot return a value: write it to an array")
                    session.report(function, node.lineno, finding)
    return session


def _of_parameter(kind: Kind) -> Kind:
    """Return the type of a parameter: of what is stored to an array that is read-only, the launch says more."""
    return Array(kind.dtype, kind.ndim, kind.layout) if isinstance(kind, Array) else kind
