"""A function's body, partitioned: what becomes kernels, what dpnp does, and what stays Python."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from kapi_numba_offload._numba_compat import StencilFunc, has_overloads
from kapi_numba_offload.analysis.effects import has_inner_assignment
from kapi_numba_offload.analysis.kinds import is_number_type, is_usm
from kapi_numba_offload.analysis.numpy_functions import CREATION, numpy_name
from kapi_numba_offload.analysis.operations import OPERATORS
from kapi_numba_offload.analysis.random_functions import random_name
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import located
from kapi_numba_offload.elements.numbers import NumberOperation
from kapi_numba_offload.elements.reduction_kernels import GROUP_OPERATORS
from kapi_numba_offload.elements.reduction_operators import FUSED_REDUCTIONS, POSITIONS
from kapi_numba_offload.elements.statements import StatementLocation
from kapi_numba_offload.loops.host.interpreted_loop import InterpretedLoop
from kapi_numba_offload.loops.loop_syntax import is_parallel
from kapi_numba_offload.loops.parallel_loop import ParallelLoop
from kapi_numba_offload.partition.function_info import PREFIX, FunctionInfo, loaded
from kapi_numba_offload.partition.grouping import Fused, StatementGroup, expression_region
from kapi_numba_offload.partition.loop_plans.element_accesses import array_of_elements
from kapi_numba_offload.partition.loop_plans.fusion_races import races_by_fusion
from kapi_numba_offload.partition.loop_plans.numba_equivalence import (
    is_read_after_stores,
    updates_arrays,
)
from kapi_numba_offload.partition.loop_plans.plan import LoopInContext, LoopPlan
from kapi_numba_offload.partition.loop_plans.selection import loop_plan
from kapi_numba_offload.partition.numpy_calls import (
    MENDED,
    ArgumentTexts,
    Constant,
    Conversion,
    Creation,
    HelperCall,
    NumpyCall,
    OverloadedCall,
)
from kapi_numba_offload.partition.python_code import ItemUpdate, PythonCode
from kapi_numba_offload.partition.python_values import (
    call_of_container,
    elements,
    is_call_of_container,
    iterated_arrays,
    numbers_in_containers,
)
from kapi_numba_offload.partition.random_calls import RandomCall, random_draw
from kapi_numba_offload.regions.reduction import Reduction
from kapi_numba_offload.regions.scan import Scan
from kapi_numba_offload.run.fallback import Refusal
from kapi_numba_offload.run.python_numbers import as_number, element

__all__ = ["Partition"]

_Node = TypeVar("_Node", bound=ast.AST)


class Partition:
    """Rewrites the body of a function.

    - `helpers`: name and object of everything that the new body calls.
    - `regions`: what became kernels, in order.
    - `updates_arrays`, `races_by_fusion`: whether Numba's results may be others for arrays that share memory; whether
      those of its parallel code may be for others, too.
    """

    def __init__(self, facts: FunctionInfo) -> None:
        self.facts, self.definition, self.options = facts, facts.definition, facts.options
        self.helpers: dict[str, Any] = {}
        self.regions: list[Any] = []
        self.loops: list[Any] = []
        self.calls: list[NumpyCall | RandomCall] = []
        self.needs_queue = False
        self._in_containers = numbers_in_containers(self.definition, facts.kinds)
        self._iterated = iterated_arrays(self.definition, facts.names, facts.kinds)
        self._python_code = PythonCode(facts, self._iterated, self._helper_call)
        self._following: list[Sequence[ast.stmt]] = []
        self.updates_arrays = updates_arrays(facts)
        self.races_by_fusion = facts.options.parallel and races_by_fusion(facts)
        self._has_plain_loops = _has_plain_loops(self.definition, facts)
        self._is_read_after_stores = any(is_read_after_stores(facts, each) for each in ast.walk(self.definition))

    @property
    def needs_host(self) -> Refusal | None:
        """The reason for Numba to run the full function: elements that Python would copy singly, or None."""
        if any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(self.definition)):
            return None  # what it yields are arrays of the device
        if self._is_read_after_stores:
            return None  # what NumPy and dpnp read before a store
        found = (each.refusal for each in self.loops if getattr(each, "needs_function", False))
        return next(found, None) or self._recursion()

    def has_device_work(self, *, with_plain_loops: bool) -> bool:
        """Whether something runs on the device: kernels, or the array library's functions where there is no loop."""
        if self.regions or (not self.loops and any(type(each) is NumpyCall for each in self.calls)):
            return True
        kernels = [type(each) is ParallelLoop for each in self.loops if isinstance(each, ParallelLoop)]
        return bool(kernels) if with_plain_loops else any(kernels)

    @property
    def is_of_kernels(self) -> bool:
        """Whether all work with arrays is that of kernels, and arrays are made by the array library."""
        has_kernels = bool(self.regions or self.loops) and not self._has_plain_loops and self.needs_host is None
        return has_kernels and all(type(each) is Creation for each in self.calls)

    def _recursion(self) -> Refusal | None:
        """The recursion of a function that calls itself with arrays: each call is few launches then, or a copy."""
        own = self.facts.original
        for each in ast.walk(self.definition):
            if isinstance(each, ast.Call):
                called = self.facts.names.value(each.func)
                if getattr(called, "py_func", None) is own and any(map(self.facts.is_usm, each.args)):
                    return Refusal("recursion", each.lineno, own.__name__, f"`{ast.unparse(each)}`")
        return None

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The statements of one block, rewritten."""
        made: list[ast.stmt] = []
        group = StatementGroup(self.facts)
        for number, statement in enumerate(statements):
            if group.take(statement):
                continue
            made += self._run(group.fused())
            group = StatementGroup(self.facts)
            if group.take(statement):
                continue
            self._following.append(statements[number + 1 :])
            made += self._other(statement)
            self._following.pop()
        return made + self._run(group.fused())

    def _run(self, fused: Fused | None) -> list[ast.stmt]:
        """The statements that run a region, and the `return` that may follow it."""
        if fused is None:
            return []
        made: list[ast.stmt] = []
        if fused.region is not None:
            call = self._region_call(fused.region, fused)
            statement: ast.stmt = ast.Expr(call)
            if fused.outputs:
                targets: list[ast.expr] = [
                    ast.copy_location(ast.Name(each, ast.Store()), call) for each in fused.outputs
                ]
                target = targets[0] if len(targets) == 1 else ast.copy_location(ast.Tuple(targets, ast.Store()), call)
                statement = ast.Assign([target], call)
            made.append(ast.copy_location(statement, call))
        if fused.returned is not None:
            returned = self.expression(fused.returned)
            made.append(ast.copy_location(ast.Return(returned), fused.returned))
        return made

    def _region_call(self, region: Any, fused: Fused) -> ast.Call:
        rewritten = [
            self._children(each) if number in fused.elements else self.expression(each)
            for number, each in enumerate(fused.leaves)
        ]
        self.regions.append(region)
        helper = self.helper(f"region_{len(self.regions)}", region)
        where = rewritten[0] if rewritten else ast.Constant(0)
        return ast.copy_location(ast.Call(loaded(helper, where), rewritten, []), where)

    def _other(self, statement: ast.stmt) -> list[ast.stmt]:
        """A statement that is no part of a region, its expressions and blocks rewritten."""
        statement = self.facts.rebinding(statement)
        if isinstance(statement, ast.AugAssign) and self._python_code.updates_item(statement):
            return self._item_update(statement)
        if not isinstance(statement, (ast.For, ast.While)):
            return [self._children(statement)]
        plan = loop_plan(LoopInContext(self.facts, statement, list(reversed(self._following))))
        return self.inline_loop(statement) if plan is None else self.planned(plan)

    def _item_update(self, statement: ast.AugAssign) -> list[ast.stmt]:
        """`o[i] = update(o[i], value)` for `o[i] op= value`, also of attributes; `o` and `i` are computed once."""
        target, update = statement.target, ItemUpdate(OPERATORS[type(statement.op)])
        assert isinstance(target, (ast.Subscript, ast.Attribute))
        made: list[ast.stmt] = []
        fields = ("value", "slice") if isinstance(target, ast.Subscript) else ("value",)
        for field in fields:
            part = self.expression(getattr(target, field))
            if not isinstance(part, (ast.Name, ast.Constant)):
                name = f"{PREFIX}updated_{field}"
                made.append(located(ast.Assign([ast.Name(name, ast.Store())], part), statement))
                part = loaded(name, statement)
            setattr(target, field, part)
        before = copy.copy(target)
        before.ctx = ast.Load()
        value = self._helper_call(
            f"update_{update.name}", update, [before, self.expression(statement.value)], statement.value
        )
        return [*made, ast.copy_location(ast.Assign([target], value), statement)]

    def planned(self, plan: LoopPlan) -> list[ast.stmt]:
        """The statements instead of a loop, by its plan."""
        self.loops.append(plan.loop)
        return plan.rewritten(self, self.helper(f"loop_{len(self.loops)}", plan.loop))

    def inline_loop(self, statement: ast.For | ast.While) -> list[ast.stmt]:
        """A loop that stays in the function, its blocks rewritten."""
        # After the last statement of the body its first may follow.
        self._following.append([copy.deepcopy(statement)])
        made = self._children(statement)
        self._following.pop()
        return [made]

    def _children(self, node: _Node) -> _Node:
        """A node, its expressions and blocks rewritten."""
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self.expression(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, self.block(value))
            elif isinstance(value, list):
                setattr(node, field, [self._part(each) for each in value])
        return node

    def _part(self, part: Any) -> Any:
        if isinstance(part, ast.expr):
            return self.expression(part)
        if isinstance(part, ast.ExceptHandler):
            part.body = self.block(part.body)
        elif isinstance(part, ast.withitem):
            part.context_expr = self.expression(part.context_expr)
        elif isinstance(part, ast.keyword):
            part.value = self.expression(part.value)
        return part

    # ------------------------------------------------------------------------------------------- expressions

    def expression(self, node: ast.expr) -> ast.expr:
        """An expression, rewritten: its largest elementwise parts are regions of their own."""
        identity = id(node)
        made = self._expression(node)
        if identity in self._in_containers:
            return self._helper_call("number", as_number, [made], made)
        return self._helper_call("elements", elements, [made], made) if identity in self._iterated else made

    def _expression(self, node: ast.expr) -> ast.expr:
        if id(node) in self.facts.kinds.constants:
            constant = Constant(self.facts.names.value(node))
            return self._helper_call(f"constant_{len(self.helpers)}", constant, [self.queue(node)], node)
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            array = None if isinstance(node, ast.Lambda) else array_of_elements(self.facts, node)
            node = self._comprehension(node)
            return node if array is None else self._with_warning(node, array)
        is_fusible = not has_inner_assignment(node)
        if is_fusible and self.facts.is_operation(node):
            fused = expression_region(self.facts, node, node)
            return self._region_call(fused.region, fused)
        reduction = (self._reduction(node) or self._scan(node)) if is_fusible else None
        if reduction is not None:
            return reduction
        if isinstance(node, ast.Call):
            location, texts = self.facts.location(node), ArgumentTexts.of_call(node)  # as written
            given = (*node.args, *(each.value for each in node.keywords))
            given_usm = any(is_usm(self.facts.kinds.kind(each)) for each in given)
            is_of_container = is_call_of_container(node, self.facts.kinds)
            draw = random_draw(node, self.facts)
            # Methods are the array library's own.
            method = node.func if isinstance(node.func, ast.Attribute) else None
            mended = method is not None and method.attr in MENDED and self.facts.is_usm(method.value)
            self._children(node)
            if draw is not None:
                return self._drawn(node, location, *draw)
            if is_of_container:
                assert isinstance(node.func, ast.Attribute)
                attribute = ast.copy_location(ast.Constant(node.func.attr), node)
                return self._helper_call("container", call_of_container, [node.func.value, attribute, *node.args], node)
            if mended:
                assert isinstance(node.func, ast.Attribute)
                function, node.args = getattr(np, node.func.attr), [node.func.value, *node.args]
                return self._numpy_call(node, node.func.attr, function, location, texts)
            return self._call(node, location, texts, given_usm=given_usm)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult) and self.facts.is_usm(node):
            return self._product(node)
        number = self.facts.number_operation(node)
        if number is not None:
            name, operands = number
            rewritten_operands = [self.expression(each) for each in operands]
            return self._helper_call(f"number_{name}", NumberOperation(name), rewritten_operands, node)
        function = self._python_code.function(node)
        if function is not None:
            return function
        if isinstance(node, ast.Slice):
            return self._slice(node)
        rewritten = self._children(node)
        if (
            isinstance(rewritten, ast.Subscript)
            and isinstance(rewritten.ctx, ast.Load)
            and self.facts.kinds.is_element(node)
        ):
            return self._helper_call("element", element, [rewritten], node)
        return rewritten

    def _slice(self, node: ast.Slice) -> ast.Slice:
        """A slice whose bounds are numbers: CuPy takes none of its own 0-d arrays there."""
        bounds = [field for field in ("lower", "upper", "step")
                  if (bound := getattr(node, field)) is not None and self.facts.may_be_usm(bound)]  # fmt: skip
        made = self._children(node)
        for field in bounds:
            bound = getattr(made, field)
            setattr(made, field, self._helper_call("element", element, [bound], bound))
        return made

    def _with_warning(self, node: ast.expr, array: str) -> ast.expr:
        """A comprehension over elements, after the call that warns of it."""
        refusal = Refusal("sequential-loop", node.lineno, array)
        loop = InterpretedLoop(self.facts.location(node), refusal, self.options.may_fall_back)
        self.loops.append(loop)
        warns = ast.Call(loaded(self.helper(f"loop_{len(self.loops)}", loop), node), [], [])
        made = ast.Subscript(ast.Tuple([warns, node], ast.Load()), ast.Constant(1), ast.Load())
        return located(made, node)

    def _along_axis(self, node: ast.expr) -> tuple[str | None, Sequence[ast.expr], dict[str | None, Any]] | None:
        """Name, operands and literal keywords of a call of a function or method, its second operand the axis."""
        if not isinstance(node, ast.Call) or self.facts.numba_types:
            return None
        function = self.facts.names.value(node.func)
        if function is not UNKNOWN:
            name, operands = numpy_name(function), node.args
        elif isinstance(node.func, ast.Attribute):
            name, operands = node.func.attr, [node.func.value, *node.args]
        else:
            return None
        words = {each.arg: _literal(each.value) for each in node.keywords}
        if len(operands) == 2:
            words["axis"] = _literal(operands[1])
        return name, operands, words

    def _scan(self, node: ast.expr) -> ast.expr | None:
        """A scan of an elementwise operation or an array, as one region; None for anything else."""
        found = self._along_axis(node)
        if found is None:
            return None
        name, operands, words = found
        if name not in GROUP_OPERATORS or len(operands) not in (1, 2) or not words.keys() <= {"axis"}:
            return None
        operand = operands[0]
        if not (self.facts.is_operation(operand) or self.facts.is_usm(operand)) or (
            words and type(words["axis"]) is not int
        ):
            return None
        assert isinstance(node, ast.Call)
        assert name is not None
        function = self.facts.names.value(node.func)
        function = getattr(np, name) if function is UNKNOWN else function
        call = NumpyCall(name, function, self.facts.location(node), self.options, ArgumentTexts.of_call(node))
        self.calls.append(call)
        fused = expression_region(self.facts, operand, node)
        assert fused.region is not None
        return self._region_call(Scan(name, fused.region, {"axis": words["axis"]} if words else {}, call), fused)

    def _reduction(self, node: ast.expr) -> ast.expr | None:
        """A reduction of an elementwise operation, as one region; None for anything else."""
        found = self._along_axis(node)
        if found is None:
            return None
        name, operands, words = found
        is_full = words.get("axis") is None and not words
        if name not in FUSED_REDUCTIONS or not 1 <= len(operands) <= 2:
            return None
        is_extremum = (is_full and name in ("min", "max")) or name in POSITIONS
        is_extremum = is_extremum and self.facts.is_usm(operands[0])
        library = self.facts.library
        is_of_array = library is not None and library.has_slow_reductions and self.facts.is_usm(operands[0])
        if not (is_extremum or is_of_array or self.facts.is_operation(operands[0])):
            return None
        if not is_full and not (words.keys() <= {"axis", "keepdims"} and _are_axes(words.get("axis"))):
            return None
        if name in POSITIONS and isinstance(words.get("axis"), tuple):
            return None  # NumPy's error
        fused = expression_region(self.facts, operands[0], node)
        assert fused.region is not None
        return self._region_call(Reduction(name, fused.region, words.get("axis"), bool(words.get("keepdims"))), fused)

    def _product(self, node: ast.BinOp) -> ast.expr:
        """`a @ b` as a call of `numpy.matmul`."""
        texts = ArgumentTexts((ast.unparse(node.left), ast.unparse(node.right)), {})
        call = NumpyCall("matmul", np.matmul, self.facts.location(node), self.options, texts)
        self.calls.append(call)
        self._children(node)
        return self._helper_call(f"product_{len(self.calls)}", call, [node.left, node.right], node)

    def _call(self, node: ast.Call, location: StatementLocation, texts: ArgumentTexts, *, given_usm: bool) -> ast.expr:
        function = self.facts.names.value(node.func)
        name = "stencil" if isinstance(function, StencilFunc) else None if function is UNKNOWN else numpy_name(function)
        if name is None:
            if isinstance(function, FunctionType) and has_overloads(function):
                overloaded = OverloadedCall(function, location)
                return self._helper_call(f"overloaded_{len(self.helpers)}", overloaded, node.args, node, node.keywords)
            if is_number_type(function) and len(node.args) == 1 and not node.keywords:
                return self._helper_call(f"convert_{function.__name__}", Conversion(function), node.args, node)
            if function is not UNKNOWN and is_usm(self.facts.kinds.kind(node)) and not given_usm:
                args = [self.queue(node), *node.args]
                helper = HelperCall(function, location, self.facts.made_by_helper)
                return self._helper_call(f"helper_{len(self.helpers)}", helper, args, node, node.keywords)
            return node
        return self._numpy_call(node, name, function, location, texts)

    def _numpy_call(
        self, node: ast.Call, name: str, function: Any, location: StatementLocation, texts: ArgumentTexts
    ) -> ast.expr:
        makes = Creation if name in CREATION and is_usm(self.facts.kinds.kind(node)) else NumpyCall
        call = makes(name, function, location, self.options, texts)
        self.calls.append(call)
        args = [self.queue(node), *node.args] if makes is Creation else node.args
        return self._helper_call(f"np_{name.replace('.', '_')}_{len(self.calls)}", call, args, node, node.keywords)

    def _drawn(self, node: ast.Call, location: StatementLocation, name: str, draw: Callable[..., Any]) -> ast.Call:
        """A call that draws random numbers; those of a generator are given it first."""
        call = RandomCall(name, draw, location, self.options)
        self.calls.append(call)
        queue = self.queue(node) if is_usm(self.facts.kinds.kind(node)) else ast.copy_location(ast.Constant(None), node)
        owner = [node.func.value] if random_name(self.facts.names.value(node.func)) is None else []  # type: ignore[attr-defined]
        args = [queue, *owner, *node.args]
        return self._helper_call(f"draw_{len(self.calls)}", call, args, node, node.keywords)

    def _comprehension(self, node: ast.expr) -> ast.expr:
        """A comprehension or function: Python has its variables, and what it iterates over is the function's."""
        generators: list[ast.comprehension] = getattr(node, "generators", [])  # a lambda has none
        iterated = [self.expression(each.iter) for each in generators[:1]]
        for each in generators[:1]:
            each.iter = ast.Constant(None)  # it is rewritten
        for call in [each for each in ast.walk(node) if isinstance(each, ast.Call)]:
            draw = random_draw(call, self.facts)
            if draw is not None:
                made = self._drawn(call, self.facts.location(call), *draw)
                call.func, call.args = made.func, made.args
        self._python_code.generic_visit(node)
        for each, iterable in zip(generators, iterated, strict=False):
            each.iter = iterable
        return node

    def queue(self, where: ast.AST) -> ast.expr:
        """The queue of the function's arrays."""
        self.needs_queue = True
        return loaded(f"{PREFIX}queue", where)

    def helper(self, name: str, value: Any) -> str:
        """The name under which the new body calls `value`."""
        self.helpers[PREFIX + name] = value
        return PREFIX + name

    def _helper_call(
        self,
        name: str,
        function: Callable[..., Any],
        args: list[ast.expr],
        node: ast.expr,
        keywords: Sequence[ast.keyword] = (),
    ) -> ast.Call:
        call = ast.Call(loaded(self.helper(name, function), node), args, list(keywords))
        return ast.copy_location(call, node)


def _literal(node: ast.expr) -> Any:
    """The value of a literal, `UNKNOWN` for anything else."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return UNKNOWN


def _are_axes(value: Any) -> bool:
    return type(value) is int or (isinstance(value, tuple) and bool(value) and all(type(each) is int for each in value))


def _has_plain_loops(node: ast.AST, facts: FunctionInfo) -> bool:
    """Whether there are loops outside of `prange` loops."""
    if isinstance(node, ast.For) and is_parallel(node, facts.names):
        return False
    if isinstance(node, (ast.For, ast.While, ast.comprehension)):
        return True
    return any(_has_plain_loops(each, facts) for each in ast.iter_child_nodes(node))
