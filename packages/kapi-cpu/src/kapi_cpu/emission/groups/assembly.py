"""Assembly of the function that a launch calls, from a kernel of one work-item."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from kapi_cpu.emission.explained_decisions import decisions_of
from kapi_cpu.emission.explanation import Decision, Explanation
from kapi_cpu.emission.groups.actions import action_text
from kapi_cpu.emission.groups.active_items import mark_active_items
from kapi_cpu.emission.groups.alignment import aligned_access
from kapi_cpu.emission.groups.fission import Fission, barriers_of
from kapi_cpu.emission.groups.grid_strides import (
    BOUNDS,
    ITERATIONS_OUTSIDE,
    GridStride,
    find_grid_stride,
    interchanged_text,
)
from kapi_cpu.emission.groups.group_loop import Context, Functions, Part, group_loop_text
from kapi_cpu.emission.groups.item_inspectors import add_inspector, resolve_marks
from kapi_cpu.emission.launch_record import word
from kapi_cpu.emission.legalize.group_operations import BARRIER
from kapi_cpu.emission.legalize.queries import QUERY
from kapi_cpu.emission.vectorize.cost_model import vectors_worth_alignment
from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_cpu.emission.vectorize.instructions.bounds import split_branches
from kapi_cpu.emission.vectorize.instructions.lane_loops import NotVectorizableError, rolled_loop
from kapi_cpu.emission.vectorize.instructions.lanes import LaneEmitter
from kapi_cpu.emission.vectorize.private_arrays import interleave, interleaved_arrays
from kapi_cpu.emission.vectorize.processor import Processor
from kapi_cpu.emission.vectorize.query_shapes import group_shapes, lane_shapes
from kapi_cpu.emission.vectorize.type_sizes import size_of
from kapi_cpu.emission.vectorize.vector_length import choose_vector_length, uses_sub_groups
from kapi_cpu.emission.vectorize.vectorizer import Vectorizer
from kapi_lowering.emission.llvm_ir import (
    I32,
    I64,
    Block,
    Builder,
    ControlFlow,
    Function,
    IRValue,
    LocalValue,
    Module,
    constant,
    declare,
    parse_module,
)
from kapi_lowering.emission.llvm_ir.parser import parse_function_head
from kapi_lowering.emission.pipeline import module_pass

__all__ = ["assemble_groups"]

_PARAMETERS = (
    "ptr %packed, ptr %launch, i64 %group.0, i64 %group.1, "
    "i64 %group.2, i64 %local.0, i64 %local.1, i64 %local.2, i64 %active, i32 %side, ptr noalias nocapture %context"
)
_DECLARATIONS = (
    "declare i32 @llvm.umax.i32(i32, i32)",
    *(f"declare i64 @llvm.{name}.i64(i64, i64)" for name in ("smax", "smin")),
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)


@module_pass
def assemble_groups(module: Module, entry_point: str, vector_bits: int, lanes: int, has_fast_gathers: bool) -> None:
    """Vectorise the kernel, split it at barriers, and put the loops over work-items and groups around it."""
    processor = Processor(vector_bits, has_fast_gathers)
    source = module.functions[entry_point]
    demanded, checks = _options(module)
    order = [each.callee for each in barriers_of(source)]
    packed_bytes = max(_packed_loads(source).values(), default=1)  # a launch has arguments
    flow = ControlFlow(source)
    arrays = interleaved_arrays(source)
    choice = choose_vector_length(source, flow, arrays, demanded, lanes, checks, processor)
    lanes, shapes, why = choice.lanes, choice.shapes, choice.reason
    if lanes > 1 and arrays:
        interleave(arrays, lanes)
        shapes = Shapes(source, flow, lane_shapes(source, lanes, arrays))
    stride = find_grid_stride(source, flow, lanes, _packed_loads(source)) if not checks else None
    plain = entry_point if stride is None else f"{entry_point}.plain"
    loop = partial(_group_loop, order=order, checks=checks, processor=processor, packed_bytes=packed_bytes)
    try:
        texts, context = loop(source, lanes, shapes, plain)
        if stride is not None:
            texts += _interchanged(stride, lanes, plain, loop)
    except NotVectorizableError as error:
        if demanded > 1:
            raise
        why = f"no vectors have {error}"
        for name in [each for each in module.functions if each.startswith(f"{entry_point}.")]:
            del module.functions[name]
        lanes, shapes = 1, Shapes(source, flow, lane_shapes(source, 1, {}))
        texts, context = loop(source, 1, shapes, entry_point)
    decisions = decisions_of(shapes, lanes, why, _kept_text(context))
    if stride is not None and lanes > 1:
        decisions.insert(1, Decision("loop", 0, lanes, ITERATIONS_OUTSIDE))
    explained = Explanation.of(decisions).to_json().encode().hex()
    module.add_metadata(f'!{{!"kapi.decisions", !"{explained}"}}')
    del module.functions[entry_point]
    added = parse_module("\n".join(dict.fromkeys([*_DECLARATIONS, *texts])))
    for name, function in added.functions.items():
        function.module = module
        module.functions.setdefault(name, function)
    module.globals[f"@{entry_point}.info"] = f"constant [2 x i64] [i64 {lanes}, i64 {context.nbytes}], align 8"


def _group_loop(
    source: Function,
    lanes: int,
    shapes: Shapes,
    name: str,
    *,
    order: list[str],
    checks: bool,
    processor: Processor,
    packed_bytes: int,
) -> tuple[list[str], Context]:
    """Vectorise a kernel; texts with a function of that name for the loops around it, and what is kept at barriers."""
    parts, context = _parts(source, lanes, shapes, order, checks, processor)
    ahead = _counted_ahead(source, lanes, shapes, processor)
    aligned_row = vectors_worth_alignment(shapes, lanes, processor) if ahead else 0
    texts: list[str] = []
    built = []
    for number, functions in enumerate(parts):
        action = ""
        if number:
            called = f"{source.name}.action.{number}"
            text, needed = action_text(order[number - 1][len(BARRIER) :].partition(".")[2], called)
            if text:
                action = called
                texts += [*needed, text]
        built.append(Part(functions, action, ahead, aligned_row))
    rolled = partial(rolled_loop, source.module)
    texts.append(group_loop_text(name, built, lanes, context, packed_bytes, rolled, _is_by_columns(source, lanes)))
    return texts, context


def _interchanged(
    stride: GridStride, lanes: int, plain: str, loop: Callable[..., tuple[list[str], Context]]
) -> list[str]:
    """The texts of functions where iterations are outside of the work-groups, and of the one that chooses."""
    source, module = stride.source, stride.source.module
    iteration = stride.iteration(f"{source.name}.iteration")
    name = f"{source.name}.interchanged"
    shapes = Shapes(iteration, ControlFlow(iteration), lane_shapes(iteration, lanes, {}))
    texts, _ = loop(iteration, lanes, shapes, name)
    del module.functions[iteration.name]
    bounds = f"{source.name}.bounds"
    target = parse_function_head(module, f"internal {BOUNDS} @{bounds}({_PARAMETERS}) nounwind")
    module.functions[bounds] = target
    entry, begin = target.add_block("entry"), target.add_block("begin")
    emitter = LaneEmitter(
        target, 1, Shapes(source, ControlFlow(source), lane_shapes(source, 1, {})), Processor(128, False)
    )
    stride.write_bounds(emitter.builder, _Prologue(target, emitter).values(source))
    Builder(entry).emit("br label ?", begin)
    return [*texts, interchanged_text(stride, plain, name, bounds, rolled_loop(module))]


def _is_by_columns(source: Function, lanes: int) -> bool:
    """Whether the rows of a vector follow each other: work-items ask for their ids on other axes than the fastest."""
    return (
        lanes > 1
        and bool(barriers_of(source))
        and any(
            each.callee in (f"{QUERY}global_id", f"{QUERY}local_id") and each.arguments[0].integer != 0
            for each in source.instructions()
        )
    )


def _kept_text(context: Context) -> str:
    kept = f"{context.nbytes} bytes are kept for each vector"
    if context.keeps_state:
        return f"{kept}, which note the barrier that they wait at: not all need come to the same"
    return f"{kept}, and {len(context.shared)} values for the group"


def _packed_loads(source: Function) -> dict[IRValue, int]:
    """The loads of packed arguments at known offsets, and where each ends."""
    found: dict[IRValue, int] = {}
    pending: list[tuple[LocalValue, int]] = [(source.parameters[0], 0)]
    while pending:
        address, offset = pending.pop()
        for user in address.users:
            if user.opcode == "load":
                found[user] = offset + size_of(user.type)
            elif user.opcode == "getelementptr" and str(user.form.element) == "i8" and user.operands[1].integer:
                pending.append((user, offset + user.operands[1].integer))
    return found


def _options(module: Module) -> tuple[int, bool]:
    """The lanes that are demanded, 0 for any, and whether the kernel checks."""
    node = module.named_metadata.get("!kapi.cpu", "")
    found = re.search(r"!(\d+)", node)
    if found is None:
        return 0, False
    lanes, checks = map(int, re.findall(r"i64 (\d+)", module.metadata[int(found[1])]))
    return lanes, bool(checks)


def _parts(
    source: Function, lanes: int, shapes: Shapes, order: list[str], checks: bool, processor: Processor
) -> tuple[list[Functions], Context]:
    """The functions of each part, and what is kept at barriers."""
    barriers = barriers_of(source)
    of_group = Shapes(source, shapes.flow, group_shapes(source)) if barriers else shapes
    everywhere = {*source.blocks}
    # A work-item that fails leaves its group.
    keeps_state = checks or any(of_group.parts_within(each.block, everywhere) for each in barriers if each.block)
    is_shared = (lambda value: of_group[value] == 0) if barriers and not keeps_state else (lambda value: False)
    variants = (False, True) if lanes > 1 else (False,)
    has_splits = bool(barriers) and not keeps_state and not _is_by_columns(source, lanes)
    split = split_branches(shapes, of_group) if has_splits else set()
    found = [_built(source, lanes, shapes, is_rest, is_shared, keeps_state, processor, split) for is_rest in variants]
    size = max(each.context_bytes for each in found)
    may_be_one = has_splits and lanes > 1 and not uses_sub_groups(source)
    has_items = may_be_one and mark_active_items(source, shapes, of_group, lanes, processor)
    if has_items:
        of_one = Shapes(source, shapes.flow, lane_shapes(source, 1, {}))
        found.append(_built(source, 1, of_one, False, is_shared, keeps_state, processor, set()))
    shared = {key: type_ for each in found for key, type_ in each.shared.items()}
    names = [each.split(order, shared) for each in found]
    context = Context(size, bool(barriers) and keeps_state, [*map(str, shared.values())])
    parts = []
    for number, (full, rest) in enumerate(zip(names[0], names[len(variants) - 1], strict=True)):
        one, items = _of_items(source.module, full, names[-1][number]) if has_items else ("", "")
        parts.append(Functions(full, rest, number in found[0].split_parts, one, items))
    return parts, context


def _of_items(module: Module, full: str, one: str) -> tuple[str, str]:
    """The functions of a part for one work-item and to find the active ones; empty where that is not known."""
    if not one:
        return "", ""
    part, context = module.functions[one], module.functions[full].parameter("context")
    items = f"{one}.items"
    if context is not None and not context.users and add_inspector(part, items):
        resolve_marks(part)
        return one, items
    del module.functions[one]
    return "", ""


def _built(
    source: Function,
    lanes: int,
    shapes: Shapes,
    is_rest: bool,
    is_shared: Callable[[IRValue], bool],
    keeps_state: bool,
    processor: Processor,
    split: set[Block],
) -> Fission:
    """Vectorise once, and examine what is kept at barriers."""
    module = source.module
    name = f"{source.name}.{'rest' if is_rest else 'full' if lanes > 1 else 'one'}"
    target = parse_function_head(module, f"internal void @{name}({_PARAMETERS})")
    module.functions[name] = target
    target.add_block("entry")  # what is allocated; what work-items ask is computed behind it
    target.add_block("begin")
    emitter = LaneEmitter(target, lanes, shapes, processor)
    emitter.invariant = {*_packed_loads(source)}
    prologue = _Prologue(target, emitter)
    emitter.values = prologue.values(source)
    mask = None
    if is_rest:
        active = emitter.splat(prologue.parameter("active"))
        mask = emitter.builder.emit(f"icmp ult {active.type} ?, ?", emitter.steps(I64), active)
    vectorizer = Vectorizer(source, target, shapes, emitter, mask, split)
    vectorizer.run()
    shared = {slot: key for slot, key in vectorizer.slot_keys.items() if is_shared(key[1])}
    return Fission(target, emitter.private, shared, keeps_state)


def _counted_ahead(source: Function, lanes: int, shapes: Shapes, processor: Processor) -> str:
    """Add a function that counts the work-items of a row before the first aligned vector; its name, empty for none."""
    if lanes == 1:
        return ""
    module, name = source.module, f"{source.name}.ahead"
    target = parse_function_head(module, f"internal i64 @{name}({_PARAMETERS}) alwaysinline nounwind")
    entry, begin = target.add_block("entry"), target.add_block("begin")
    emitter = LaneEmitter(target, lanes, shapes, processor)
    emitter.values = _Prologue(target, emitter).values(source)
    access = aligned_access(source, shapes, _packed_loads(source), emitter.values)
    if access is None:
        return ""
    module.functions[name] = target
    access.write(emitter, shapes)
    Builder(entry).emit("br label ?", begin)
    return name


class _Prologue:
    """Values of a work-item's queries, computed at the start of the vectorised function."""

    def __init__(self, target: Function, emitter: LaneEmitter) -> None:
        self.target, self.emitter = target, emitter
        self._known: dict[str, IRValue] = {}

    def parameter(self, name: str) -> IRValue:
        """A parameter of the target."""
        found = self.target.parameter(name)
        assert found is not None
        return found

    @property
    def builder(self) -> Builder:
        """A builder at the end of the entry."""
        return self.emitter.builder

    def values(self, source: Function) -> dict[IRValue, IRValue]:
        """Return what stands for the source's parameter and its queries."""
        found: dict[IRValue, IRValue] = {source.parameters[0]: self.parameter("packed")}
        for each in source.instructions():
            name = each.callee
            if name.startswith(QUERY):
                axis = each.arguments[0].integer
                assert axis is not None
                found[each] = self._query(name[len(QUERY) :], axis)
            elif name.startswith("kapi.sub_group.") or name in ("kapi.linear_id", "kapi.local_memory", "kapi.scratch"):
                found[each] = self._other(name)
        return found

    def _word(self, name: str, type_: str = "i64") -> IRValue:
        if name not in self._known:
            launch = self.parameter("launch")
            address = self.builder.emit(f"getelementptr i8, ptr ?, i64 {word(name)}", launch)
            self._known[name] = self.builder.emit(f"load {type_}, ptr ?, align 8", address)
        return self._known[name]

    def _query(self, name: str, axis: int) -> IRValue:
        if name == "group_id":
            return self.parameter(f"group.{axis}")
        if name == "local_id":
            return self.parameter(f"local.{axis}")
        if name == "global_id":
            key = f"global_id.{axis}"
            if key not in self._known:
                base = self.builder.emit(
                    "mul i64 ?, ?", self.parameter(f"group.{axis}"), self._word(f"local_size.{axis}")
                )
                self._known[key] = self.builder.emit("add i64 ?, ?", base, self.parameter(f"local.{axis}"))
            return self._known[key]
        return self._word(f"{name}.{axis}")

    def _other(self, name: str) -> IRValue:
        lanes, builder = self.emitter.lanes, self.builder
        if name == "kapi.local_memory":
            return self._word("local_memory", "ptr")
        if name == "kapi.scratch":
            return self._word("scratch", "ptr")
        if name == "kapi.linear_id":
            if name not in self._known:
                rows = builder.emit("mul i64 ?, ?", self.parameter("local.2"), self._word("local_size.1"))
                rows = builder.emit("add i64 ?, ?", rows, self.parameter("local.1"))
                start = builder.emit("mul i64 ?, ?", rows, self._word("local_size.0"))
                self._known[name] = builder.emit("add i64 ?, ?", start, self.parameter("local.0"))
            return self._known[name]
        query = name.removeprefix("kapi.sub_group.")
        i32 = constant(I32, lanes)
        if query == "max_size":
            return i32
        if query == "local_id":
            return constant(I32, 0)
        if query not in self._known:
            first, size = self.parameter("local.0"), self._word("local_size.0")
            if query == "sub_group_id":
                wide = builder.emit(f"udiv i64 ?, {lanes}", first)
            elif query == "sub_group_count":
                wide = builder.emit(f"udiv i64 ?, {lanes}", builder.emit(f"add i64 ?, {lanes - 1}", size))
            else:
                declare(self.target, "i64 @llvm.umin.i64(i64, i64)")
                wide = builder.emit(f"call i64 @llvm.umin.i64(i64 ?, i64 {lanes})", self.parameter("active"))
            self._known[query] = builder.emit("trunc i64 ? to i32", wide)
        return self._known[query]
