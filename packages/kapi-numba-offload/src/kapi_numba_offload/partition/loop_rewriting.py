"""Loops in a function's body: which become kernels, which run on the host, and the calls that run them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from kapi_numba_offload.analysis.control_flow import assigned_at, may_leave_early, why_in_place
from kapi_numba_offload.analysis.kinds import SCALAR, ArrayKind, Kinds
from kapi_numba_offload.analysis.names import Names
from kapi_numba_offload.loops.host_copies import arrays_among
from kapi_numba_offload.loops.host_loop import HostLoop
from kapi_numba_offload.loops.loop_exits import exit_statements, is_flaggable
from kapi_numba_offload.loops.loop_syntax import LoopSyntax, first_use, is_parallel, parallel_loop, variables_of
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.partition.grouping import PREFIX, loaded
from kapi_numba_offload.regions.statements import Place
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.placement import mixed_error
from kapi_numba_offload.run.reasons import Refusal, fall_back

__all__ = ["LoopBody", "LoopInPlace", "SequentialLoop", "rewrite_loop"]


class LoopBody(Protocol):
    """What is asked of the function that a loop is in; `partition.Partition` answers."""

    names: Names
    kinds: Kinds
    original: Callable[..., Any]
    definition: ast.FunctionDef
    loops: list[Any]
    options: OffloadOptions
    numba_types: bool
    local_functions: list[ast.stmt]

    def expression(self, node: ast.expr) -> ast.expr:
        """An expression, rewritten."""

    def helper(self, name: str, value: Any) -> str:
        """The name under which the new body calls `value`."""

    def place(self, node: ast.AST) -> Place:
        """Where `node` stands."""

    def queue(self, where: ast.AST) -> ast.expr:
        """The queue of the function's arrays."""

    def following(self) -> Iterator[Sequence[ast.stmt]]:
        """What may run after the statement at hand, block by block."""

    def loop_in_place(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        """A loop that stays where it stands, its blocks rewritten."""


class SequentialLoop:
    """A loop over elements of USM arrays that is no `prange` loop, and so runs on the host.

    Parameters
    ----------
    place : Place
        Where it stands.
    refusal : Refusal
        Why it is no kernel.
    host : HostLoop
        The loop.
    options : OffloadOptions
        Those of the function.

    Attributes
    ----------
    latest : str or None
        What the latest run told.
    """

    def __init__(self, place: Place, refusal: Refusal, host: HostLoop, options: OffloadOptions) -> None:
        self.place, self.refusal, self.host, self.options = place, refusal, host, options
        self.latest: str | None = None

    def __call__(self, *captured: Any) -> Any:
        """Run the loop, with a warning if there is a USM array for it."""
        if next(arrays_among(captured), None) is None:
            return self.host.leave((), captured)
        self.latest = fall_back(self.place, self.refusal, self.options.may_fall_back)
        return self.host.leave((), captured)


class LoopInPlace:
    """A loop over elements that stays where it stands, since it does what a function of its own could not.

    Parameters
    ----------
    place : Place
        Where it stands.
    refusal : Refusal
        Why it is no kernel, and in its detail why it stays.
    options : OffloadOptions
        Those of the function.

    Attributes
    ----------
    latest : str or None
        What the latest run told.
    """

    def __init__(self, place: Place, refusal: Refusal, options: OffloadOptions) -> None:
        self.place, self.refusal, self.options = place, refusal, options
        self.latest: str | None = None

    def __call__(self) -> None:
        """Tell that the loop is going to run."""
        self.latest = fall_back(
            self.place, self.refusal, self.options.may_fall_back, "Python runs it, and copies each element on its own."
        )


def rewrite_loop(body: LoopBody, statement: ast.stmt) -> list[ast.stmt] | None:
    """The statements in a loop's place, None for one that stays as it is but for its own body."""
    if not isinstance(statement, (ast.For, ast.While)):
        return None
    if isinstance(statement, ast.For) and is_parallel(statement, body.names):
        return _parallel(body, statement)
    element = next(_elements(body, statement), None)
    if element is None:
        return None
    array = next((each.id for each in ast.walk(element) if isinstance(each, ast.Name)), "")
    return _sequential(body, statement, Refusal("sequential-loop", statement.lineno, array))


def _parallel(body: LoopBody, statement: ast.For) -> list[ast.stmt] | None:
    if may_leave_early(statement) or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(statement)):
        return _sequential(body, statement, Refusal("early-exit", statement.lineno, ast.unparse(statement.target)))
    syntax = parallel_loop(statement, body.names)
    place = body.place(statement)
    _refuse_mixture(body, syntax, place)
    _take_local_functions(body, syntax)
    variables = {axis.variable for axis in syntax.axes}
    syntax.assigned |= {name for name in variables if _is_read_later(body, name)}
    for name in sorted(syntax.assigned):
        if _is_read_later(body, name):
            syntax.refusals.append(Refusal("value-after-loop", statement.lineno, name))
    reductions = list(syntax.reductions)
    left = [*reductions, *sorted({each.variable for each in syntax.refusals if each.variable in syntax.assigned})]
    # On the host, what iterations carry is given and returned as well.
    before = assigned_at(body.definition, statement)
    carried = [name for name in left if name not in reductions]
    if not before.issuperset(carried):
        return _sequential(body, statement, syntax.refusals[0])
    given = [*syntax.captured, *carried]
    syntax.captured[:] = given
    host_bounds = [f"kapi_{word}{number}" for number in range(len(syntax.axes)) for word in ("start", "stop", "step")]
    # Numba does a loop that may raise one iteration after the other, and warns of it.
    raises = any(isinstance(each, (ast.Raise, ast.Assert)) for each in ast.walk(statement))
    host = HostLoop(
        body.original, body.names, _with_bounds(syntax, statement), host_bounds, [*given, *reductions],
        [*reductions, *carried], parallel=not carried and not raises, options=body.options.for_numba,
    )  # fmt: skip
    loop = ParallelLoop(body.original, body.names, syntax, place, host, body.options, numba_types=body.numba_types)
    body.loops.append(loop)
    helper = body.helper(f"loop_{len(body.loops)}", loop)
    bounds = [body.expression(each) for axis in syntax.axes for each in (axis.start, axis.stop, axis.step)]
    call = ast.Call(
        loaded(helper, statement),
        [
            body.queue(statement),
            ast.Tuple(bounds, ast.Load()),
            ast.Tuple([loaded(name, statement) for name in given], ast.Load()),
            ast.Tuple([loaded(name, statement) for name in reductions], ast.Load()),
        ],
        [],
    )
    return [_assigned([*reductions, *carried], call, statement)]


def _take_local_functions(body: LoopBody, syntax: LoopSyntax) -> None:
    """Functions that the function defines for itself become part of the loop that calls them."""
    for name in list(syntax.captured):
        found = [made for each in body.local_functions if (made := _local_function(name, each)) is not None]
        stored = [each for each in ast.walk(body.definition) if isinstance(each, ast.Name) and each.id == name
                  and isinstance(each.ctx, ast.Store)]  # fmt: skip
        if len(found) != 1 or len(stored) > 1:
            continue
        (definition,) = found
        own = {each.arg for each in definition.args.args} | variables_of(definition.body, ast.Store)
        if (variables_of(definition.body, ast.Load) - own) & body.names.locals:
            continue  # it reads variables of the function around it
        syntax.body.insert(0, definition)
        syntax.captured.remove(name)


def _local_function(name: str, node: ast.AST) -> ast.FunctionDef | None:
    """A copy of the definition of `name`, its variables renamed; None if the node is none."""
    if isinstance(node, ast.FunctionDef) and node.name == name and not node.decorator_list:
        made = copy.deepcopy(node)
    elif (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Lambda)
        and [ast.unparse(each) for each in node.targets] == [name]
    ):
        made = ast.FunctionDef(name, copy.deepcopy(node.value.args), [ast.Return(copy.deepcopy(node.value.body))], [])
        ast.fix_missing_locations(ast.copy_location(made, node))
    else:
        return None
    own = {each.arg for each in made.args.args} | variables_of(made.body, ast.Store)
    for each in ast.walk(made):
        if isinstance(each, ast.Name) and each.id in own:
            each.id = f"kapi_own_{each.id}"
        elif isinstance(each, ast.arg):
            each.arg = f"kapi_own_{each.arg}"
    return made


def _sequential(body: LoopBody, statement: ast.For | ast.While, refusal: Refusal) -> list[ast.stmt] | None:
    """A loop on the host: as a function of its own, or where it stands if that is all that gives what Python gives."""
    stored = variables_of([statement], ast.Store)
    read = variables_of([statement], ast.Load)
    before = assigned_at(body.definition, statement)
    returned = sorted(name for name in stored if _is_read_later(body, name))
    # What it may read before it assigns it has to be given, and so must have a value.
    needed = {name for name in read & body.names.locals
              if name not in stored or first_use(name, [statement]) == "read"}  # fmt: skip
    flagged = [name for name in returned if name not in before]
    why = why_in_place(statement, body.definition)
    if why is None and not (needed <= before and all(is_flaggable(each, statement) for each in flagged)):
        why = "a variable may have no value"
    place = body.place(statement)
    if why is not None:
        loop = LoopInPlace(place, replace(refusal, detail=f"{refusal.detail}{why}"), body.options)
        body.loops.append(loop)
        told = ast.Expr(ast.Call(loaded(body.helper(f"loop_{len(body.loops)}", loop), statement), [], []))
        return [ast.fix_missing_locations(ast.copy_location(told, statement)), *body.loop_in_place(statement)]
    given = sorted(needed & before | (set(returned) & before))
    host = HostLoop(
        body.original, body.names, statement, (), given, returned, parallel=False, flagged=flagged,
        options=body.options.for_numba,
    )  # fmt: skip
    moved = SequentialLoop(place, refusal, host, body.options)
    body.loops.append(moved)
    helper = body.helper(f"loop_{len(body.loops)}", moved)
    call = ast.Call(loaded(helper, statement), [loaded(name, statement) for name in given], [])
    return exit_statements(call, f"{PREFIX}left_{len(body.loops)}", statement, returned, flagged)


def _assigned(names: Sequence[str], call: ast.expr, where: ast.stmt) -> ast.stmt:
    """`names = call`, or the call alone."""
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    made: ast.stmt = ast.Expr(call)
    if targets:
        made = ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())], call)
    return ast.fix_missing_locations(ast.copy_location(made, where))


def _with_bounds(syntax: LoopSyntax, statement: ast.For) -> ast.For:
    """The nest with the bounds of its loops as variables, which are computed once."""
    inner: list[ast.stmt] = syntax.body
    made = statement
    for number in reversed(range(len(syntax.axes))):
        node = statement
        for _ in range(number):
            (held,) = node.body
            assert isinstance(held, ast.For)
            node = held
        assert isinstance(node.iter, ast.Call)
        bounds: list[ast.expr] = [loaded(f"kapi_{word}{number}", node) for word in ("start", "stop", "step")]
        # A step of one is Numba's condition for a parallel loop; others it refuses.
        step = syntax.axes[number].step
        is_unit = isinstance(step, ast.Constant) and step.value == 1
        function = node.iter.func if is_unit else ast.copy_location(ast.Name("range", ast.Load()), node)
        call = ast.copy_location(ast.Call(function, bounds[:2] if is_unit else bounds, []), node)
        made = ast.copy_location(ast.For(node.target, call, inner, []), node)
        inner = [made]
    return made


def _refuse_mixture(body: LoopBody, syntax: LoopSyntax, place: Place) -> None:
    found: dict[bool, str] = {}
    for statement in syntax.body:
        for node in ast.walk(statement):
            kind = body.kinds.kind(node) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Name) and isinstance(kind, ArrayKind) and node.id in syntax.captured:
                found.setdefault(kind.usm, node.id)
    if len(found) == 2:
        raise mixed_error(place, found[True], found[False])


def _elements(body: LoopBody, statement: ast.stmt) -> Iterator[ast.expr]:
    """Accesses to single elements of USM arrays, those of parallel loops within left out."""
    if isinstance(statement, ast.For) and is_parallel(statement, body.names):
        return
    if isinstance(statement, ast.For) and body.kinds.kind(statement.iter) == ArrayKind(True, 1):
        yield statement.iter
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.stmt):
            yield from _elements(body, child)
        else:
            for node in ast.walk(child):
                if isinstance(node, ast.Subscript) and _is_usm(body, node.value) and body.kinds.kind(node) == SCALAR:
                    yield node


def _is_usm(body: LoopBody, node: ast.expr) -> bool:
    kind = body.kinds.kind(node)
    return isinstance(kind, ArrayKind) and kind.usm


def _is_read_later(body: LoopBody, name: str) -> bool:
    for block in body.following():
        use = first_use(name, block)
        if use is not None:
            return use == "read"
    return False
