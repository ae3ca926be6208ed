"""A function with USM arrays among its arguments, partitioned for their types: what Numba's compiled code calls."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kapi_numba_offload._numba_compat import CPUDispatcher, as_dtype, flags_of, from_dtype, types
from kapi_numba_offload.analysis.control_flow import own_nodes
from kapi_numba_offload.analysis.effects import may_store
from kapi_numba_offload.analysis.kind_inference import Kinds
from kapi_numba_offload.analysis.kinds import ANY, GENERATOR, SCALAR, ArrayKind, Kind, TupleKind, is_number_type
from kapi_numba_offload.analysis.normal_form import count_loops_over_elements, desugar_array_idioms, normalised
from kapi_numba_offload.analysis.scope import Scope
from kapi_numba_offload.analysis.source import function_definition
from kapi_numba_offload.analysis.syntax import names_in
from kapi_numba_offload.elements.numbers import is_narrow
from kapi_numba_offload.frontend.context_arguments import bound_arguments
from kapi_numba_offload.frontend.returned_numbers import as_numbers, numbers_in_lists, returned_arrays
from kapi_numba_offload.libraries.arrays import GUESTS, Guest, adopted, guest_of, is_device_array, like, queue_of
from kapi_numba_offload.libraries.installed import default_library, library_named, library_of, library_of_queue
from kapi_numba_offload.libraries.interface import ArrayLibrary
from kapi_numba_offload.loops.group_loop import GroupLoop
from kapi_numba_offload.loops.host.short_iterations import SAME_TYPES
from kapi_numba_offload.loops.independent_loop import IndependentLoop
from kapi_numba_offload.loops.lifted_loop import LiftedLoop
from kapi_numba_offload.loops.loop_of_kernels import LoopOfKernels
from kapi_numba_offload.loops.loop_syntax import variables_of
from kapi_numba_offload.partition.call_costs import call_work
from kapi_numba_offload.partition.dead_iterations import drop_dead_iterations
from kapi_numba_offload.partition.dtype_equivalence import NumberType
from kapi_numba_offload.partition.function_info import PREFIX, FunctionInfo
from kapi_numba_offload.partition.invariant_views import hoist_views
from kapi_numba_offload.partition.numba_version import numba_version
from kapi_numba_offload.partition.partition import Partition
from kapi_numba_offload.partition.rewritten_function import rewritten_function
from kapi_numba_offload.regions.scan import Scan
from kapi_numba_offload.run.call_graph import OffloadedParts, run_recorded
from kapi_numba_offload.run.offload_report import report_of
from kapi_numba_offload.run.options import OffloadOptions, options_of
from kapi_numba_offload.run.placement import mixed_error
from kapi_runtime.platform.current import host_array_target
from kapi_sim.errors import KapiError, KernelCompilationError
from kapi_types import DeviceArrayType

__all__ = ["OffloadedFunction", "holds_usm", "is_inside"]


class _State(threading.local):
    """Whether a thread is inside of a call of an offloaded function; the queue of one that calls one without arrays."""

    is_inside = False
    queue: Any = None


_state = _State()


class OffloadedFunction(OffloadedParts):
    """A function for arguments of given Numba types, its parts sent to where they run.

    - `arguments`: the types of its arguments, at least one USM array among them.
    - `func_ir`: Numba's IR of it, needed if it has no source.
    - `numba_types`: whether expressions have the types that Numba gives them for NumPy arrays; else those of the array
      library.
    - `options`: those of the function; by default what it was given by `offload`.

    Raises `ExecutionPlacementError` if one expression has NumPy and USM arrays; `KernelCompilationError` if the
    function has neither source nor straight-line bytecode, or assigns variables of another function.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: Sequence[types.Type],
        func_ir: Any = None,
        *,
        numba_types: bool = False,
        options: OffloadOptions | None = None,
        library: ArrayLibrary | None = None,
    ) -> None:
        super().__init__()
        self.function = function
        self._options = options
        self.arguments = tuple(arguments)
        self._has_run = False
        self.moved = 0
        self._usm_positions = tuple(number for number, each in enumerate(self.arguments) if holds_usm([each]))
        definition = normalised(function_definition(function, func_ir))
        for node in own_nodes(definition):
            if isinstance(node, (ast.Nonlocal, ast.Global)):
                location = f"{function.__code__.co_filename}:{node.lineno}"
                raise KernelCompilationError(
                    f"function {function.__name__} must assign its own variables only, since Numba takes others for "
                    f"constants, got `{ast.unparse(node)}` at {location}: return the value",
                    code="offload-changes-outside",
                )
        names, kinds = _inferred(function, definition, arguments)
        if count_loops_over_elements(definition, names, kinds):
            names, kinds = _inferred(function, definition, arguments)
        self.may_store = may_store(definition, names)
        self._returned = returned_arrays(definition, kinds)
        self._has_lists = any(map(_holds_lists, self.arguments))
        self.is_alike_for_numba = all(map(_has_same_types, self.arguments)) and not _names_dtype(
            definition, names, lambda dtype: dtype not in SAME_TYPES
        )
        desugar_array_idioms(definition, names, kinds)
        stored = variables_of([definition], ast.Store)
        contiguous = frozenset(
            name for name, type_ in zip(names.parameters, arguments, strict=True)
            if isinstance(type_, DeviceArrayType) and type_.layout == "C" and type_.usm_type and name not in stored
        )  # fmt: skip
        facts = FunctionInfo(
            function, definition, names, kinds, contiguous, options or options_of(function),
            _library(arguments, library), numba_types=numba_types,
            has_narrow_integers=any(map(_may_be_narrow, arguments)) or _names_dtype(definition, names, is_narrow),
            made_by_helper=_made_by_helper,
        )  # fmt: skip
        self.partition, self.library_name = Partition(facts), facts.library_name
        for node, usm, host in kinds.mixtures:
            where = facts.location(_statement_of(definition, node))
            texts = ast.unparse(usm), ast.unparse(host)
            raise mixed_error(where, *texts, facts.library, is_stored=_is_stored_to(node, host))
        is_in_place = facts.library is not None and facts.library.is_host
        self.numba_version, self.work = None, None
        if is_in_place:
            numbers = _number_types(names, arguments)
            self.numba_version = numba_version(facts, numbers, is_alike=self.is_alike_for_numba)
        if self.numba_version is not None:
            self.work = call_work(facts, is_parallel=self.numba_version.is_parallel)
        body = self.partition.block(definition.body)
        definition.body = hoist_views(facts, self.partition.helpers, body)
        self._call = _compiled(function, definition, names, self.partition)

    def __call__(self, *args: Any) -> Any:
        """Run the function."""
        for position in self._usm_positions:
            if library_of(args[position]) is None:
                return self._call_adopted(args)
        return self._run(args)

    @property
    def reported(self) -> tuple[Any, ...]:
        """The parts that reports name."""
        loops = self.partition.loops
        unused = {
            id(each if each.latest is None else each.other) for each in loops if isinstance(each, IndependentLoop)
        }
        unused |= self._not_lifted
        groups = [each for each in loops if isinstance(each, GroupLoop)]
        unused |= {id(each if each.latest is None else each.other) for each in groups}
        unused |= {id(each) for each in self.partition.regions if isinstance(each, Scan) and each.is_library_s}
        around = [each for each in loops if isinstance(each, LoopOfKernels)]
        unused |= {*map(id, around), *(id(each.other) for each in around if each.is_used)}
        unused |= {id(inner.loop.other) for each in around for inner in each.inner if not each.is_used}
        return tuple(each for each in (*self.partition.regions, *loops) if id(each) not in unused)

    @property
    def _not_lifted(self) -> set[int]:
        """The identities of what belongs to versions of loops that did not run last."""
        lifted = [each for each in self.partition.loops if isinstance(each, LiftedLoop)]
        return {*map(id, lifted), *(id(part) for each in lifted for part in each.unused)}

    @property
    def explained(self) -> tuple[Any, ...]:
        """The reported parts, and the calls of NumPy's functions."""
        unused = self._not_lifted
        return *self.reported, *(each for each in self.partition.calls if id(each) not in unused)

    def _run(self, args: Sequence[Any]) -> Any:
        if _state.is_inside:
            return self._result(args)  # another offloaded function goes on with it, on the device
        _state.is_inside = True
        try:
            result = self._result(args)
        finally:
            _state.is_inside = False
            if self._has_lists:
                numbers_in_lists(args)
        if library_of(result) is not None and result.ndim:
            return result  # what most functions return
        return as_numbers(result, self._returned)

    def _result(self, args: Sequence[Any]) -> Any:
        result = run_recorded(self, self._call, args)
        if self._has_run:
            return result
        self._has_run = True
        level = self.partition.options.level
        if level:
            print(report_of(self).text(level))
        return result

    def _call_adopted(self, args: Sequence[Any]) -> Any:
        """Run it with an array library's arrays instead of others over the same memory; these are given back."""
        seen: dict[int, tuple[Any, Any]] = {}
        given = [adopted(each, seen, may_store=self.may_store) for each in args]
        return _as_given(self._run(given), seen, guest_of(args))

    def __reduce__(self) -> Any:
        # Kernels are compiled again, or found in kapi-runtime's own cache.
        return _rebuilt, (_reference(self.function), self.arguments, self._options)


def _reference(function: Callable[..., Any]) -> Any:
    """Module and name of a function that can be found by them; else itself, for Numba's pickler to serialize."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if getattr(found, "py_func", found) is function:
        return function.__module__, function.__qualname__
    return function


def _rebuilt(
    reference: Any, arguments: Sequence[types.Type], options: OffloadOptions | None = None
) -> OffloadedFunction:
    if not isinstance(reference, tuple):
        return OffloadedFunction(reference, arguments, options=options)
    module, name = reference
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return OffloadedFunction(getattr(found, "py_func", found), arguments, options=options)


def _library(arguments: Iterable[types.Type], otherwise: ArrayLibrary | None) -> ArrayLibrary | None:
    """The library of the first device array among arguments of these types; without one, another or the default."""
    for each in arguments:
        if isinstance(each, types.BaseTuple) and holds_usm([each]):
            return _library(each, otherwise)
        if isinstance(each, DeviceArrayType):
            name = "dpnp" if each.library == "usm" else each.library
            return library_named(GUESTS[name].host if name in GUESTS else name)
    return otherwise or default_library()


def _kind_of_type(type_: types.Type) -> Kind:
    if isinstance(type_, DeviceArrayType):
        return ArrayKind(True, type_.ndim, is_array=True)
    if isinstance(type_, types.Array):
        return ArrayKind(False, type_.ndim)
    if isinstance(type_, (types.Number, types.Boolean)):
        return SCALAR
    if isinstance(type_, types.Omitted):
        return SCALAR if isinstance(type_.value, (int, float)) else ANY
    if isinstance(type_, types.BaseTuple):
        return TupleKind(tuple(map(_kind_of_type, type_)))
    return GENERATOR if isinstance(type_, types.NumPyRandomGeneratorType) else ANY


def _inferred(
    function: Callable[..., Any], definition: ast.FunctionDef, arguments: Sequence[types.Type]
) -> tuple[Scope, Kinds]:
    """Infer what a function's names mean, and the kinds of its expressions; dead iterations are dropped."""
    names = Scope(function, definition)
    names = names.with_outside(_functions_given(names, arguments, definition))
    drop_dead_iterations(definition, names)
    kinds = Kinds(names, dict(zip(names.parameters, map(_kind_of_type, arguments), strict=True)))
    kinds.run(definition.body)
    return names, kinds


def _functions_given(names: Scope, arguments: Iterable[types.Type], definition: ast.FunctionDef) -> dict[str, Any]:
    """The parameters that are functions of Numba's, and other names of them: this function is made for what they are.

    The types of arguments name them.
    """
    stores = Counter(names_in(ast.walk(definition), ast.Store, ast.Del))
    given = {name: _function_of(type_) for name, type_ in zip(names.parameters, arguments, strict=True)}
    found = {name: each for name, each in given.items() if each is not None and not stores[name]}
    for each in ast.walk(definition):
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Name) and each.value.id in found:
            (target, *others) = each.targets
            if isinstance(target, ast.Name) and not others and stores[target.id] == 1:
                found[target.id] = found[each.value.id]
    # So are other names of types, as in `dtype = np.int32`.
    for each in definition.body:
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            value, name = names.value(each.value), each.targets[0].id
            if is_number_type(value) and stores[name] == 1 and name not in names.parameters:
                found[name] = value
    return found


def _function_of(type_: types.Type) -> Any:
    """The function that a type of an argument names, also where it is a default; None for other types."""
    value = getattr(type_, "dispatcher" if isinstance(type_, types.Dispatcher) else "value", None)
    return value if isinstance(value, CPUDispatcher) else None


def _number_types(names: Scope, arguments: Iterable[types.Type]) -> dict[str, NumberType]:
    """The types of the parameters that are arrays or numbers, whose integers and doubles are Python's."""
    found: dict[str, NumberType] = {}
    for name, type_ in zip(names.parameters, arguments, strict=True):
        is_array = isinstance(type_, (types.Array, DeviceArrayType))
        number = type_.dtype if is_array else type_
        if isinstance(number, (types.Number, types.Boolean)):
            dtype = as_dtype(number)
            found[name] = dtype if is_array else {"int64": int, "float64": float}.get(dtype.name, dtype)
    return found


def _may_be_narrow(type_: types.Type) -> bool:
    """Whether an argument may be, or have in it, integers of fewer than 64 bits, or NumPy's bools."""
    if isinstance(type_, types.BaseTuple):
        return any(map(_may_be_narrow, type_))
    dtype = getattr(type_, "dtype", type_)
    if isinstance(dtype, types.Integer):
        return bool(dtype.bitwidth < 64)
    return not isinstance(dtype, (types.Number, types.Omitted, types.NoneType, types.Function, types.Dispatcher))


def _has_same_types(type_: types.Type) -> bool:
    """Whether the arrays of an argument have dtypes whose operations have the same dtypes for NumPy and for Numba."""
    if isinstance(type_, types.BaseTuple):
        return all(map(_has_same_types, type_))
    dtype = getattr(type_, "dtype", None)
    return dtype is None or dtype in map(from_dtype, SAME_TYPES)


def _names_dtype(definition: ast.FunctionDef, names: Scope, is_wanted: Callable[[np.dtype[Any]], bool]) -> bool:
    """Whether a function names such a dtype, or an array of one from outside."""
    for each in ast.walk(definition):
        value: Any = each.value if isinstance(each, ast.Constant) else None
        if isinstance(each, (ast.Name, ast.Attribute)):
            value = names.value(each)
            value = value if isinstance(value, type) else getattr(value, "dtype", value)
        if isinstance(value, (str, np.dtype)) or (isinstance(value, type) and issubclass(value, np.generic)):
            try:
                if is_wanted(np.dtype(value)):
                    return True
            except (TypeError, ValueError, SyntaxError):  # another text, such as a docstring
                continue
    return False


def holds_usm(given: Iterable[types.Type]) -> bool:
    """Whether one of the types is that of a USM array, or of a tuple with one."""
    return any(
        isinstance(each, DeviceArrayType) or (isinstance(each, types.BaseTuple) and holds_usm(each)) for each in given
    )


def _holds_lists(type_: types.Type) -> bool:
    return isinstance(type_, types.List) or (isinstance(type_, types.BaseTuple) and any(map(_holds_lists, type_)))


def _as_given(value: Any, seen: dict[int, tuple[Any, Any]], guest: Guest | None) -> Any:
    """A result: arrays that the function was given are the objects that it was given, and new ones are a guest's."""
    if isinstance(value, (tuple, list)):
        return like(value, [_as_given(each, seen, guest) for each in value])
    if id(value) in seen:
        return seen[id(value)][0]
    return value if guest is None or not is_device_array(value) else guest.given_back(value)


def _is_stored_to(node: ast.AST, host: ast.expr) -> bool:
    """Whether a statement stores into the NumPy array."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    return ast.unparse(host) in map(ast.unparse, targets)


def _statement_of(definition: ast.FunctionDef, node: ast.AST) -> ast.AST:
    """The statement that holds `node`."""
    holders = [
        each for each in ast.walk(definition)
        if isinstance(each, ast.stmt) and any(inner is node for inner in ast.walk(each)) and each is not definition
    ]  # fmt: skip
    return holders[-1] if holders else node


def _compiled(
    function: Callable[..., Any], definition: ast.FunctionDef, names: Scope, partition: Partition
) -> Callable[..., Any]:
    """The partitioned function, with the original's globals and closure."""
    if partition.needs_queue:
        arrays = ", ".join(names.parameters)
        queue = partition.helper("queue_among", queue_among)
        definition.body.insert(0, ast.parse(f"{PREFIX}queue = {queue}({arrays})").body[0])
    if definition.args.vararg is None:
        # Numba passes all arguments by position, defaults included.
        definition.args.args += definition.args.kwonlyargs
        definition.args.kwonlyargs = []
    return rewritten_function(function, definition, {**names.closure, **partition.helpers})


def is_inside() -> bool:
    """Whether this thread runs an offloaded function."""
    return _state.is_inside


def queue_among(*args: Any) -> Any:
    """The queue of the first device array among the arguments, or in a tuple of them."""
    for each in args:
        found = queue_of(each) if is_device_array(each) else queue_among(*each) if isinstance(each, tuple) else None
        if found is not None:
            return found
    if _state.queue is not None:
        return _state.queue
    host_target = host_array_target.get()  # in a device context, arrays that are made are of its queue
    return None if host_target is None else host_target.queue


_helpers: WeakKeyDictionary[Any, dict[tuple[Any, ...], OffloadedFunction | None]] = WeakKeyDictionary()


def _made_by_helper(function: Any, queue: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """The arrays that a function makes of numbers on a GPU; None if not all of its work is kernels there."""
    own = library_of_queue(queue)
    if own.is_host or own.facts(queue).has_host_memory or not isinstance(function, CPUDispatcher):
        return None
    given = bound_arguments(function, args, keywords)
    if given is None or not all(isinstance(each, (bool, int, float, complex, np.generic)) for each in given.values):
        return None
    known = _helpers.setdefault(function, {})
    key = (own.name, *map(function.typeof_pyval, given.values))
    if key not in known:
        known[key] = _offloaded_helper(function, key[1:], own)
    made = known[key]
    if made is None:
        return None
    before, _state.queue = _state.queue, queue
    try:
        return made(*given.args, **given.keywords)
    except KapiError:  # it changes nothing but arrays of its own, so that Numba may begin anew
        known[key] = None
        return None
    finally:
        _state.queue = before


def _offloaded_helper(function: Any, types_: Sequence[types.Type], library: ArrayLibrary) -> OffloadedFunction | None:
    has_types = function.locals or not function._can_compile  # types of its own, which numbers are converted to
    if has_types or inspect.isgeneratorfunction(function.py_func):
        return None
    # Numba has what cannot be a kernel.
    options = replace(options_of(function.py_func).with_flags(flags_of(function)), fallback=False)
    try:
        made = OffloadedFunction(function.py_func, types_, numba_types=True, options=options, library=library)
    except (KapiError, TypeError):
        return None  # which Numba may compile, or refuses in its own words
    return made if made.partition.is_of_kernels else None
