"""Loops in a function's body: which become kernels, which run on the host, and the statements that run them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kapi_numba_offload.analysis.aliases import has_aliases
from kapi_numba_offload.analysis.control_flow import assigned_at, may_leave_early, read_by_functions, why_in_place
from kapi_numba_offload.analysis.effects import has_effects
from kapi_numba_offload.analysis.kinds import ANY, SCALAR, ArrayKind, Kind
from kapi_numba_offload.elements.statements import Place
from kapi_numba_offload.loops.host.host_copies import arrays_among
from kapi_numba_offload.loops.host.host_loop import HostLoop, is_only_read
from kapi_numba_offload.loops.host.loop_exits import exit_statements, is_flaggable
from kapi_numba_offload.loops.host.parallel_safety import may_be_parallel
from kapi_numba_offload.loops.host.small_loops import SmallLoop
from kapi_numba_offload.loops.loop_syntax import LoopSyntax, first_use, is_parallel, parallel_loop, variables_of
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.partition.facts import Facts, loaded
from kapi_numba_offload.partition.loop_plans.element_accesses import does_whole_arrays, elements
from kapi_numba_offload.partition.loop_plans.numba_equivalence import (
    called_functions,
    is_alike_for_numba,
    is_movable,
    may_have_axes,
    may_reach_beyond,
    stores_what_it_reads,
)
from kapi_numba_offload.partition.loop_plans.work_estimates import parallel_depth, worked_axes
from kapi_numba_offload.run.options import OffloadOptions
from kapi_numba_offload.run.placement import mixed_error
from kapi_numba_offload.run.reasons import Refusal, fall_back
from kapi_numba_offload.run.timing import timed

__all__ = ["LoopInPlace", "LoopPlan", "SequentialLoop", "loop_plan"]


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
    needs_function : bool
        Whether Numba compiles it with the function around it alone, as it is given lists or sets that this makes.
    """

    def __init__(
        self, place: Place, refusal: Refusal, host: HostLoop, options: OffloadOptions, *, needs_function: bool = False
    ) -> None:
        self.place, self.refusal, self.host, self.options = place, refusal, host, options
        self.needs_function = needs_function
        self.latest: str | None = None

    @timed
    def __call__(self, *captured: Any) -> Any:
        """Run the loop, with a warning if there is a USM array for it."""
        if next(arrays_among(captured), None) is None:
            return self.host.leave((), captured)
        how = self.host.how((), captured)
        self.latest = fall_back(self.place, self.refusal, self.options.may_fall_back, how)
        return self.host.leave((), captured)


class InterpretedLoop:
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
    needs_function : bool
        True: Numba compiles it with the function around it alone.
    """

    needs_function = True

    def __init__(self, place: Place, refusal: Refusal, options: OffloadOptions) -> None:
        self.place, self.refusal, self.options = place, refusal, options
        self.latest: str | None = None

    def __call__(self) -> None:
        """Tell that the loop is going to run."""
        self.latest = fall_back(
            self.place, self.refusal, self.options.may_fall_back, "Python runs it, and copies each element on its own."
        )


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """What becomes of a loop.

    Attributes
    ----------
    loop : ParallelLoop, SequentialLoop, SmallLoop or LoopInPlace
        What runs in its place, or before it.
    statement : ast.For or ast.While
        The loop as written.
    given, reductions, left, flagged : tuple of str
        Variables that it is given, those that it reduces into, those that it leaves, and those of them that may have no
        value.
    bounds : tuple of ast.expr
        Arguments of `prange`, as written: start, stop and step of each axis.
    """

    loop: Any
    statement: ast.For | ast.While
    given: tuple[str, ...] = ()
    reductions: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    bounds: tuple[ast.expr, ...] = ()

    @property
    def stays(self) -> bool:
        """Whether the loop itself follows."""
        return isinstance(self.loop, InterpretedLoop)

    @property
    def is_chosen(self) -> bool:
        """Whether the loop itself runs where `loop` does not suit the values in hand."""
        return isinstance(self.loop, SmallLoop)

    @property
    def needs_queue(self) -> bool:
        """Whether it is given the queue of the function's arrays."""
        return isinstance(self.loop, ParallelLoop)

    def statements(
        self, helper: str, variable: str, queue: ast.expr | None, bounds: Sequence[ast.expr]
    ) -> list[ast.stmt]:
        """The statements that run it.

        Parameters
        ----------
        helper : str
            The name of `loop`.
        variable : str
            A name for what it returns.
        queue : ast.expr or None
            The queue, if it needs one.
        bounds : sequence of ast.expr
            `bounds`, rewritten.
        """
        where = self.statement
        given: list[ast.expr] = [loaded(name, where) for name in self.given]
        function = loaded(helper, where)
        if queue is not None:
            reductions: list[ast.expr] = [loaded(name, where) for name in self.reductions]
            parts = [queue, *(ast.Tuple(list(each), ast.Load()) for each in (bounds, given, reductions))]
            return [_assigned(self.left, ast.Call(function, parts, []), where)]
        call = ast.Call(function, given, [])
        if self.stays:
            return [ast.fix_missing_locations(ast.copy_location(ast.Expr(call), where))]
        return exit_statements(call, variable, where, self.left, self.flagged)


def loop_plan(facts: Facts, statement: ast.For | ast.While, following: Sequence[Sequence[ast.stmt]]) -> LoopPlan | None:
    """What becomes of a loop, None for one that stays as it is but for its own facts.

    Parameters
    ----------
    facts : Facts
        The function that it is in.
    statement : ast.For or ast.While
        The loop.
    following : sequence of sequence of ast.stmt
        What may run after it, block by block.
    """
    if isinstance(statement, ast.For) and is_parallel(statement, facts.names):
        return _parallel(facts, statement, following)
    element = next(elements(facts, statement), None)
    if element is None or does_whole_arrays(facts, statement):
        return _small(facts, statement, following)
    names = [each for each in ast.walk(element) if isinstance(each, ast.Name)]
    array = next((each.id for each in names if facts.is_usm(each)), names[0].id if names else "")
    return _sequential(facts, statement, following, Refusal("sequential-loop", statement.lineno, array))


def _parallel(facts: Facts, statement: ast.For, following: Sequence[Sequence[ast.stmt]]) -> LoopPlan:
    if may_leave_early(statement) or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(statement)):
        refusal = Refusal("early-exit", statement.lineno, ast.unparse(statement.target))
        return _sequential(facts, statement, following, refusal)
    if variables_of([statement], ast.Store) & read_by_functions(facts.definition, statement):
        refusal = Refusal("not-in-kernel", statement.lineno, ast.unparse(statement.target))
        return _sequential(facts, statement, following, refusal)
    place = facts.place(statement)
    syntax = parallel_loop(statement, facts.names)
    _refuse_mixture(facts, syntax, place)
    syntax = _with_local_functions(facts, syntax)
    syntax = _with_values_after(syntax, following)
    reductions = tuple(syntax.reductions)
    late = {each.variable for each in syntax.refusals if each.variable in syntax.assigned}
    # On the host, what iterations carry is given and returned as well.
    carried = tuple(sorted(late - syntax.reductions.keys()))
    if not assigned_at(facts.definition, statement).issuperset(carried):
        return _sequential(facts, statement, following, syntax.refusals[0])
    syntax = replace(syntax, captured=[*syntax.captured, *carried])
    given, left = tuple(syntax.captured), (*reductions, *carried)
    host_bounds = [f"kapi_{word}{number}" for number in range(len(syntax.axes)) for word in ("start", "stop", "step")]
    # Numba does a loop that may raise one iteration after the other, and warns of it.
    raises = any(isinstance(each, (ast.Raise, ast.Assert)) for each in ast.walk(statement))

    def is_number(node: ast.expr | ast.AugAssign) -> bool:
        kinds = facts.kinds
        return (kinds.target(node) if isinstance(node, ast.AugAssign) else kinds.kind(node)) in (
            SCALAR,
            ArrayKind(True, 0),
        )

    host = HostLoop(
        facts.original, facts.names, _with_bounds(syntax, statement), host_bounds, [*given, *reductions], left,
        parallel=facts.options.parallel and not carried and not raises and may_be_parallel(syntax, is_number),
        options=facts.options.for_numba,
    )  # fmt: skip
    loop = ParallelLoop(facts.original, facts.names, syntax, place, host, facts.options, numba_types=facts.numba_types)
    bounds = tuple(each for axis in syntax.axes for each in (axis.start, axis.stop, axis.step))
    return LoopPlan(loop, statement, given, reductions, left, bounds=bounds)


def _with_values_after(syntax: LoopSyntax, following: Sequence[Sequence[ast.stmt]]) -> LoopSyntax:
    """The loop with a refusal for each variable that it assigns and that is read after it."""
    variables = {axis.variable for axis in syntax.axes}
    assigned = syntax.assigned | {name for name in variables if _is_read_later(following, name)}
    late = [Refusal("value-after-loop", syntax.node.lineno, name)
            for name in sorted(assigned) if _is_read_later(following, name)]  # fmt: skip
    return replace(syntax, assigned=assigned, refusals=[*syntax.refusals, *late])


def _with_local_functions(facts: Facts, syntax: LoopSyntax) -> LoopSyntax:
    """The loop with the functions that the function around defines for itself, and it calls, as parts of it."""
    definitions, captured = _local_functions(facts, syntax.captured)
    return replace(syntax, body=[*definitions, *syntax.body], captured=captured)


def _local_functions(facts: Facts, captured: Iterable[str]) -> tuple[list[ast.FunctionDef], list[str]]:
    """Of variables that a loop reads, definitions of those that are local functions; the others, and theirs."""
    waiting, seen, known = sorted(captured), set(captured), set(captured)
    definitions: list[ast.FunctionDef] = []
    while waiting:
        name = waiting.pop(0)
        found = [made for each in facts.local_functions if (made := _local_function(name, each)) is not None]
        stored = [each for each in ast.walk(facts.definition) if isinstance(each, ast.Name) and each.id == name
                  and isinstance(each.ctx, ast.Store)]  # fmt: skip
        if len(found) != 1 or len(stored) > 1:
            continue
        (definition,) = found
        own = {each.arg for each in definition.args.args} | variables_of(definition.body, ast.Store)
        around = (variables_of(definition.body, ast.Load) - own) & facts.names.locals
        definitions.insert(0, definition)
        known = (known | around) - {name}
        waiting += sorted(around - seen)
        seen |= around
    return definitions, sorted(known)


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


def _sequential(
    facts: Facts, statement: ast.For | ast.While, following: Sequence[Sequence[ast.stmt]], refusal: Refusal
) -> LoopPlan:
    """A loop on the host: as a function of its own, or where it stands if that is all that gives what Python gives."""
    given, returned, flagged, why, definitions = _moved(facts, statement, following)
    place = facts.place(statement)
    if why is not None:
        loop = InterpretedLoop(place, replace(refusal, detail=f"{refusal.detail}{why}"), facts.options)
        return LoopPlan(loop, statement)
    host = HostLoop(
        facts.original, facts.names, statement, (), given, returned, parallel=False, flagged=flagged,
        options=facts.options.for_numba, definitions=definitions,
    )  # fmt: skip
    made = {
        target.id
        for each in ast.walk(facts.definition)
        if isinstance(each, ast.Assign) and _makes_container(each.value)
        for target in each.targets
        if isinstance(target, ast.Name)
    }
    needs_function = any(name in made and not is_only_read(name, statement) for name in given)
    moved = SequentialLoop(place, refusal, host, facts.options, needs_function=needs_function)
    return LoopPlan(moved, statement, tuple(given), left=tuple(returned), flagged=tuple(flagged))


def _makes_container(value: ast.expr) -> bool:
    """Whether an expression makes a list, set or dictionary of Python's."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("list", "set", "dict")
    return isinstance(value, (ast.List, ast.ListComp, ast.Set, ast.SetComp, ast.Dict, ast.DictComp))


def _moved(
    facts: Facts, statement: ast.For | ast.While, following: Sequence[Sequence[ast.stmt]]
) -> tuple[list[str], list[str], list[str], str | None, list[ast.FunctionDef]]:
    """What a loop as a function is given, returns, and may return without a value; and why it cannot be one.

    Last, definitions of local functions that it calls.
    """
    stored = variables_of([statement], ast.Store)
    read = variables_of([statement], ast.Load)
    before = assigned_at(facts.definition, statement)
    returned = sorted(name for name in stored if _is_read_later(following, name))
    # What it may read before it assigns it has to be given, and so must have a value.
    needed = {name for name in read & facts.names.locals
              if name not in stored or first_use(name, [statement]) == "read"}  # fmt: skip
    definitions, around = _local_functions(facts, needed)
    needed = set(around)
    flagged = [name for name in returned if name not in before]
    why = why_in_place(statement, facts.definition)
    if why is None and not (needed <= before and all(is_flaggable(each, statement) for each in flagged)):
        why = "a variable may have no value"
    return sorted(needed & before | (set(returned) & before)), returned, flagged, why, definitions


def _small(facts: Facts, statement: ast.For | ast.While, following: Sequence[Sequence[ast.stmt]]) -> LoopPlan | None:
    """A loop that stays on the device, and is NumPy's where its arrays are small; None where it cannot be both."""
    nodes = list(ast.walk(statement))
    loops = [each for each in nodes if isinstance(each, ast.For)]
    has_parallel = any(is_parallel(each, facts.names) for each in loops)
    given, returned, flagged, why, definitions = _moved(facts, statement, following)
    # In a device context types are Numba's anyway.
    names_any_type = facts.numba_types
    called = called_functions(facts, nodes, of_any_type=names_any_type)
    # These have elements, which are slow in Python, or plans of their own; and NumPy's types are not Numba's.
    is_compiled_only = has_parallel or bool(called) or facts.numba_types or _has_narrow_numbers(facts, nodes)
    is_alike = not has_aliases(statement) and all(
        is_alike_for_numba(facts, each, of_any_type=names_any_type) for each in nodes
    )
    if (
        not (has_parallel or any(may_have_axes(facts.kinds.kind(each)) for each in nodes if isinstance(each, ast.expr)))
        or (is_compiled_only and not is_alike)
        or not is_movable(nodes)
        or has_effects(statement, facts.names, called.keys())
    ):
        return None
    if why is not None or not all(_is_the_same_on_host(facts, nodes, name) for name in returned):
        return None
    # The types of arrays that it leaves count, and kernels have their own.
    makes_arrays = any(_makes_arrays(facts, nodes, name) for name in returned)
    # Numba does then what devices and NumPy do with zeros, and does not reach beyond arrays. Slices never do.
    options = {
        "boundscheck": any(map(may_reach_beyond, nodes)),
        "error_model": "numpy",
        "fastmath": facts.options.numbas_fastmath,
    }
    host = HostLoop(
        facts.original, facts.names, statement, (), given, returned, flagged=flagged, options=options,
        parallel=facts.options.parallel and not has_parallel and not called
        and not any(stores_what_it_reads(facts, each) for each in nodes),
        called=tuple(called.values()), definitions=definitions,
    )  # fmt: skip
    loop = SmallLoop(
        facts.place(statement), host, worked_axes(facts, nodes), facts.options,
        may_compile=is_alike, may_interpret=not is_compiled_only, depth=parallel_depth(facts, nodes),
        of_any_type=facts.numba_types or not (makes_arrays or has_parallel),
    )  # fmt: skip
    return LoopPlan(loop, statement, tuple(given), left=tuple(returned), flagged=tuple(flagged))


def _makes_arrays(facts: Facts, nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether a loop assigns an array, or what may be one, to a variable; one that is changed in place stays itself."""
    return any(
        isinstance(each, ast.Assign)
        and any(_names(target, name) for target in each.targets)
        and facts.kinds.kind(each.value) not in (SCALAR, ArrayKind(True, 0))
        for each in nodes
    )


def _has_narrow_numbers(facts: Facts, nodes: Sequence[ast.AST]) -> bool:
    """Whether a loop may compute with single integers of fewer than 64 bits, for which NumPy has other types."""
    return facts.has_narrow_integers and any(
        (isinstance(each, ast.AugAssign) and facts.kinds.target(each) in (SCALAR, ANY))
        or (isinstance(each, ast.expr) and facts.number_operation(each) is not None)
        for each in nodes
    )


def _is_the_same_on_host(facts: Facts, nodes: Sequence[ast.AST], name: str) -> bool:
    """Whether what a loop leaves in a variable is a number, or an array, on the device and on the host alike."""
    kinds = []
    for each in nodes:
        targets: list[ast.expr] = []
        if isinstance(each, ast.Assign):
            targets = each.targets
            kinds += [facts.kinds.kind(each.value) for target in targets if _names(target, name)]
        elif isinstance(each, ast.AugAssign) and _names(each.target, name):
            before = facts.kinds.target(each)
            # A number that becomes one on the device has no kind of its own: what it is assigned tells.
            kinds += _assigned_kinds(facts, name) if before == ANY else [before]
            kinds.append(facts.kinds.kind(each.value))
        elif isinstance(each, ast.AnnAssign) and _names(each.target, name):
            return False
        elif isinstance(each, ast.For) and _names(each.target, name):
            is_plain = isinstance(each.iter, ast.Call) and facts.names.value(each.iter.func) is range
            kinds.append(SCALAR if is_plain and isinstance(each.target, ast.Name) else ANY)
        elif any(isinstance(target, (ast.Tuple, ast.List)) and _names(target, name) for target in targets):
            return False
    return all(each == SCALAR or (isinstance(each, ArrayKind) and each.usm) for each in kinds)


def _assigned_kinds(facts: Facts, name: str) -> list[Kind]:
    """The kinds of what a variable is assigned in the function; `ANY` for a parameter."""
    found: list[Kind] = [ANY] if name in facts.names.parameters else []
    for each in ast.walk(facts.definition):
        if isinstance(each, ast.Assign) and any(_names(target, name) for target in each.targets):
            is_alone = all(isinstance(target, ast.Name) for target in each.targets)
            found.append(facts.kinds.kind(each.value) if is_alone else ANY)
    return found


def _names(target: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
               for each in ast.walk(target))  # fmt: skip


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


def _refuse_mixture(facts: Facts, syntax: LoopSyntax, place: Place) -> None:
    found: dict[bool, str] = {}
    for statement in syntax.body:
        for node in ast.walk(statement):
            kind = facts.kinds.kind(node) if isinstance(node, ast.Name) else None
            if isinstance(node, ast.Name) and isinstance(kind, ArrayKind) and node.id in syntax.captured:
                found.setdefault(kind.usm, node.id)
    if len(found) == 2:
        raise mixed_error(place, found[True], found[False])


def _is_read_later(following: Sequence[Sequence[ast.stmt]], name: str) -> bool:
    for block in following:
        use = first_use(name, block)
        if use is not None:
            return use == "read"
    return False
