"""The passes over the body of a parallel loop, in order: from what its author wrote to statements over elements."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence, Set
from typing import Any, NamedTuple

from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.syntax import assignment, expression, located, nodes_in
from kapi_numba_offload.loops.body.atomic_updates import AtomicUpdates
from kapi_numba_offload.loops.body.index_analysis import IndexFacts
from kapi_numba_offload.loops.body.launches.equal_lengths import LengthConditions
from kapi_numba_offload.loops.body.passes.draw_random import DRAWN, draw_random
from kapi_numba_offload.loops.body.passes.inlining import Inliner
from kapi_numba_offload.loops.body.passes.rename_to_ssa import rename_to_ssa
from kapi_numba_offload.loops.body.passes.scalarize_tuples import scalarize_tuples
from kapi_numba_offload.loops.body.row_lowering import RowLowering
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError
from kapi_numba_offload.loops.body.views import LaunchFacts

__all__ = ["LoweredBody", "lower_body"]


class LoweredBody(NamedTuple):
    """The body of a loop with elements only.

    - `outside`: names that it has and the function has not, and what they stand for.
    - `late_reads`, `stored_to`: arrays whose elements are read later than in the source, and arrays that elements are
      stored to: no two of them may share memory.
    - `row_reads`, `integers_of_arrays`: as those of `RowLowering` and `BodyState`.
    """

    statements: list[ast.stmt]
    outside: dict[str, Any]
    late_reads: set[str]
    stored_to: set[str]
    row_reads: set[tuple[str, str, bool]]
    integers_of_arrays: set[int]
    lengths: LengthConditions


def lower_body(
    names: Scope,
    known: LaunchFacts,
    body: Sequence[ast.stmt],
    parallel: Sequence[str],
    live: Iterable[str],
    *,
    has_numba_floats: bool,
    checks_lengths: bool = False,
) -> LoweredBody:
    """Lower the body of a loop for arrays of known ranks; `NotInKernelError` if it cannot be written with elements.

    - `parallel`: the variables of the parallel loops.
    - `live`: variables that have a value before the loop, or after it.
    - `has_numba_floats`: whether float literals are float64, as Numba has them.
    - `checks_lengths`: whether the body raises where operands have different lengths.
    """
    arrays = known.arrays
    ranks = {name: len(facts.ones) for name, facts in arrays.items()}
    inliner = Inliner(names, ranks, body)
    statements = inliner.block([copy.deepcopy(each) for each in body])
    statements = _without_unused_functions(statements)
    statements = scalarize_tuples(statements, ranks)
    statements = rename_to_ssa(statements, (*arrays, *parallel, *live))

    names = names.with_outside({**inliner.outside, **DRAWN})
    statements = draw_random(statements, names, parallel)
    state = BodyState(names, known, statements, live, inliner.operands, checks_lengths=checks_lengths)
    # A group does one iteration: no other one updates its elements.
    updated = arrays if known.group is None else {}
    atomics = AtomicUpdates(updated, IndexFacts(names, known, parallel, statements), state.launch.made)
    atomics.check_plain_stores(statements, names.value)
    lowering = RowLowering(state, atomics)
    statements = lowering.block(statements)
    statements = atomics.make_atomic(statements)
    if known.group is not None:
        _require_no_arrays_given(statements, {*state.arrays})
        hoisted = [assignment(*each) for each in known.group.hoisted.items()]
        statements = [*(located(each, statements[0]) for each in hoisted), *statements]
    if has_numba_floats:
        statements = [_FloatPromotion().visit(each) for each in statements]
    return LoweredBody(
        statements, inliner.outside, lowering.late_reads, state.stored_to & set(arrays), lowering.row_reads,
        state.integers_of_arrays, state.lengths.conditions,
    )  # fmt: skip


def _without_unused_functions(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The body without definitions of functions whose calls have been written out."""
    read = {each.id for statement in body for each in ast.walk(statement) if isinstance(each, ast.Name)}
    return [each for each in body if not isinstance(each, ast.FunctionDef) or each.name in read]


def _require_no_arrays_given(body: Sequence[ast.stmt], arrays: Set[str]) -> None:
    """Raise if a function is given an array: what its indices are is not known."""
    for each in nodes_in(body):
        match each:
            case ast.Call(_, args) if arrays & {arg.id for arg in args if isinstance(arg, ast.Name)}:
                raise NotInKernelError(f"a call with an array, `{ast.unparse(each)}`", each)


class _FloatPromotion(ast.NodeTransformer):
    """Makes float literals float64: Numba's numbers are strong, where the kernel language follows NumPy 2."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        is_float = type(node.value) is float
        return located(expression("kapi_np.float64(X)", X=node), node) if is_float else node
