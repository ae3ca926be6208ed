"""The function that the simulator runs, made of a kernel's source.

The source is rewritten once: a barrier or group algorithm becomes a ``yield`` of its site, group and
arguments, a call of a device function with barriers a ``yield from``, and arithmetic that needs it a
call into `kapi_sim.numbers.arithmetic`.  Lines and columns stay the user's own, so a debugger and tracebacks
show the user's source.  Names that the rewriting brings in live in closure cells; the function keeps
its globals, and nothing is put there.  What is each launch's own, such as how long a loop may run,
is given to a copy of the function: launches on several threads do not share it.
"""

from __future__ import annotations

import ast
import builtins
from _thread import allocate_lock
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError, KernelProblem
from kapi_sim.forks import block_forks, reinit_after_fork
from kapi_sim.instrument.float_detection import may_make_complex, may_make_floats
from kapi_sim.instrument.instrumented_function import Compiled, Dependency, FunctionState, with_code
from kapi_sim.instrument.rewriter import Rewriter
from kapi_sim.items.convergence import Converging, DialectIntrinsic, is_algorithm, is_convergent
from kapi_sim.language.attributes import (
    bound_names,
    called_function,
    dotted_path,
    resolve,
    write_out_attributes,
    write_out_lists,
)
from kapi_sim.language.intrinsics.atomics import AtomicRef, atomic_fence
from kapi_sim.language.launchables.closures import compile_closure
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.language.outside_values import is_constant_array, is_constant_record
from kapi_sim.language.source import is_source_of, parse_function
from kapi_sim.language.table.other_names import numpy_names
from kapi_sim.language.unsupported_syntax import find_problems
from kapi_sim.memory.constant_arrays import Snapshot
from kapi_sim.memory.dialect import KAPI, Dialect
from kapi_sim.numbers.fitting import settle_tests
from kapi_sim.numbers.mathematics import SUBSTITUTES
from kapi_sim.tracebacks import with_cell

__all__ = ["InstrumentedKernel"]

_PARSING = reinit_after_fork(allocate_lock())
"""Held while source is parsed and compiled."""


class InstrumentedKernel:
    """A kernel's rewritten forms, made when first asked for and kept."""

    __slots__ = ("_compiled", "dialect", "py_func")

    def __init__(self, py_func: Callable[..., Any], dialect: Dialect = KAPI) -> None:
        self.py_func = py_func
        self.dialect = dialect
        self._compiled: dict[tuple[bool, bool, bool, bool], Compiled] = {}

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.py_func.__name__

    def compiled(self, is_checked: bool, hands_over: bool, marks_lines: bool, is_given_complex: bool) -> Compiled:
        """Return the form for these needs.

        - `is_checked`: whether arithmetic is checked.
        - `hands_over`: whether a loop that runs for long hands over to other work-items.
        - `marks_lines`: whether each line is recorded in a trace.
        - `is_given_complex`: whether complex numbers are among the arguments.

        Raises `KernelCompilationError` if the kernel has what no kernel may have, or its source is needed and cannot be
        had.
        """
        key = (is_checked, hands_over, marks_lines, is_given_complex)
        known = self._compiled.get(key)
        if known is None or not known.is_current():
            # CPython 3.11's parser keeps its depth where other threads find it, and fails if they do.
            with block_forks(), _PARSING:
                known = self._compiled[key] = self._rewritten(*key)
        return known

    def _rewritten(self, is_checked: bool, hands_over: bool, marks_lines: bool, is_given_complex: bool) -> Compiled:
        compilation = _Compilation(self.dialect, is_checked, hands_over, marks_lines, is_given_complex)
        if compilation.lacks_source(self.py_func):
            # A loop cannot hand over there, for nothing that calls it could be rewritten.
            compilation = _Compilation(self.dialect, is_checked, False, marks_lines, is_given_complex, on_threads=True)
        compilation.analyze(self.py_func)
        made = compilation.compile(self.py_func, is_kernel=True)
        compilation.raise_problems(self.name)
        return made


class _Compilation:
    """Rewrites one function and, with it, the device functions that it calls."""

    def __init__(
        self,
        dialect: Dialect,
        is_checked: bool,
        hands_over: bool,
        marks_lines: bool,
        has_complex: bool,
        on_threads: bool = False,
    ) -> None:
        self.dialect = dialect
        self._is_checked = is_checked
        self.hands_over = hands_over
        self.marks_lines = marks_lines
        self.has_complex = has_complex
        self.on_threads = on_threads
        self._cells: dict[int, CellType] = {}
        self._running: list[Callable[..., Any]] = []
        self._has_convergence: dict[int, bool] = {}
        self._has_loop: dict[int, bool] = {}
        self._problems: list[KernelProblem] = []
        self._makes_floats = False
        self._trees: dict[int, ast.FunctionDef | None] = {}
        self._made_functions: list[FunctionType] = []
        self._without_source: list[CodeType] = []
        self.numbers_iterations = True
        self.passes_undefined = False
        self.orders_memory = False
        self.waits = False
        self.dependencies: list[Dependency] = []
        self.originals: list[FunctionState | Snapshot] = []
        self._snapshots: dict[int, Snapshot] = {}
        self._words: list[DialectIntrinsic] = []

    def analyze(self, kernel: Callable[..., Any]) -> None:
        """Find out what words the kernel, and the functions that it calls, may come to."""
        has_parts = False
        for function in self._reached(kernel):
            tree = self._tree(function)
            called = self._called(function)
            self.has_complex = self.has_complex or (tree is not None and may_make_complex(tree, function))
            names = function.__code__.co_names
            if tree is not None:
                names += tuple(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
            has_sub_groups = "get_sub_group" in names
            has_parts |= has_sub_groups or any(map(is_algorithm, called))
            self.passes_undefined |= has_sub_groups and self.hands_over
            self.passes_undefined |= tree is not None and self.dialect.makes_undefined(tree)
            if tree is not None and not self.dialect.is_strict:
                # Words may be given to functions.
                called += _named_words(function, tree)
            self._words += [each for each in called if isinstance(each, DialectIntrinsic)]
            self.orders_memory |= has_sub_groups or any(map(_orders_memory, called))
            self.passes_undefined |= any(isinstance(each, Converging) and not each.is_barrier for each in called)
        self.numbers_iterations = self.hands_over or self.on_threads or has_parts

    def _reached(self, kernel: Callable[..., Any]) -> list[Callable[..., Any]]:
        reached: dict[int, Callable[..., Any]] = {}
        pending = [kernel]
        while pending:
            function = pending.pop()
            if id(function) in reached:
                continue
            reached[id(function)] = function
            self.originals.append(FunctionState(function, function))
            called = self._called(function)
            self.originals += [FunctionState(each.py_func, each) for each in called if isinstance(each, DeviceFunction)]
            pending += _functions(called)
        return list(reached.values())

    def compile(self, function: Callable[..., Any], *, is_kernel: bool) -> Compiled:
        """Return `function` rewritten."""
        tree = self._tree(function)
        if tree is None:
            self._makes_floats = True
            self._without_source.append(function.__code__)
            made = self.dialect.without_source(function, self._as_is(function))
            if is_kernel and not self.dialect.has_item:
                made = self._without_item(made)
            return self._made(function, made, False)
        is_generator = self.is_generator(function)
        self._makes_floats = self._makes_floats or may_make_floats(tree, function)
        if self.dialect.is_strict:
            self._problems += find_problems(tree, function, is_kernel)
        rewriter = Rewriter(function, self, self._is_checked, is_kernel)
        body = rewriter.rewrite(tree)
        self._problems += rewriter.problems
        if self._problems or not rewriter.has_changed:
            return self._made(function, function, is_generator)
        return self._made(function, _build(function, body, rewriter.cells), is_generator)

    def _made(self, function: Callable[..., Any], made: Callable[..., Any], is_generator: bool) -> Compiled:
        if made is not function and isinstance(made, FunctionType):
            self._made_functions.append(made)
        return Compiled(
            made,
            self.has_convergent_call(function),
            is_generator,
            self.on_threads,
            self._makes_floats,
            self.numbers_iterations,
            self.orders_memory,
            self.waits,
            self.dependencies,
            self._made_functions,
            self._without_source,
            self.originals,
            self._words,
        )

    def raise_problems(self, kernel: str) -> None:
        """Raise for all that was found in a kernel and in the functions that it calls."""
        if self._problems:
            raise KernelCompilationError(
                f"kernel `{kernel}` cannot be run:\n"
                + "\n".join(f"  {with_cell(str(problem))}" for problem in self._problems),
                problems=self._problems,
            )

    def cell(self, function: Callable[..., Any]) -> CellType:
        """Return the cell that holds the rewritten form of a device function's `py_func`."""
        cell = self._cells.get(id(function))
        if cell is None:
            # The cell is known before its content, so that a function that calls itself is found out.
            cell = self._cells[id(function)] = CellType()
            self._running.append(function)
            cell.cell_contents = self.compile(function, is_kernel=False).function
            self._running.pop()
        elif function in self._running and not self.dialect.has_recursion:
            between = self._running[self._running.index(function) + 1 :]
            calls = (
                ", which calls ".join(f"{each.__name__}()" for each in (*between, function)) if between else "itself"
            )
            code = function.__code__
            text = f"{function.__name__}() calls {calls}, and kernels have no recursion: "
            problem = KernelProblem("recursion", code.co_filename, code.co_firstlineno, f"{text}write a loop")
            if problem not in self._problems:  # each call of it is the same recursion
                self._problems.append(problem)
        return cell

    def snapshot(
        self, function: Callable[..., Any], path: tuple[str, ...], array: np.ndarray[Any, Any] | np.void
    ) -> Snapshot:
        """Return what an array or a record, which a path in a function leads to, holds now."""
        self.dependencies.append((function, path, array))
        if id(array) not in self._snapshots:
            self._snapshots[id(array)] = Snapshot(array)
            self.originals.append(self._snapshots[id(array)])
        return self._snapshots[id(array)]

    def has_convergent_call(self, function: Callable[..., Any]) -> bool:
        """Return whether a barrier or a group algorithm is reached by calls that can be followed."""
        known = self._has_convergence.get(id(function))
        if known is None:
            self._has_convergence[id(function)] = False
            tree = self._tree(function)
            called = self._called(function)
            methods = self.dialect.converging_methods
            names = function.__code__.co_names if tree is None else _called_methods(tree)
            has_method = bool(methods) and not methods.isdisjoint(names)
            known = (
                has_method or any(map(is_convergent, called)) or any(map(self.has_convergent_call, _functions(called)))
            )
            self._has_convergence[id(function)] = known
        return known

    def is_generator(self, function: Callable[..., Any]) -> bool:
        """Return whether `function` yields: at convergence points, or in loops that hand over."""
        if self.on_threads:
            return False
        return self.has_convergent_call(function) or (self.hands_over and self._has_loop_in(function))

    def lacks_source(self, function: Callable[..., Any]) -> bool:
        """Return whether a function with a convergence point, reached from `function`, cannot be rewritten."""
        pending, seen = [function], set()
        while pending:
            each = pending.pop()
            if id(each) in seen or not self.has_convergent_call(each):
                continue
            seen.add(id(each))
            tree = self._tree(each)
            if tree is None:
                return True
            pending += _functions(_called_objects(each, tree))
        return False

    def _has_loop_in(self, function: Callable[..., Any]) -> bool:
        known = self._has_loop.get(id(function))
        if known is None:
            self._has_loop[id(function)] = False
            tree = self._tree(function)
            known = tree is not None and (
                _has_while(tree) or any(map(self._has_loop_in, _functions(_called_objects(function, tree))))
            )
            self._has_loop[id(function)] = known
        return known

    def _called(self, function: Callable[..., Any]) -> list[Any]:
        """Objects that a function calls, or may call if it has no source."""
        tree = self._tree(function)
        return _global_objects(function) if tree is None else _called_objects(function, tree)

    def _tree(self, function: Callable[..., Any]) -> ast.FunctionDef | None:
        if id(function) not in self._trees:
            tree = parse_function(function)
            if tree is not None and not is_source_of(tree, function):
                tree, code = None, function.__code__
                text = (
                    f"the file of `{function.__name__}` has changed since the function was defined: "
                    "import it again, or restart the program"
                )
                self._problems.append(KernelProblem("source-changed", code.co_filename, code.co_firstlineno, text))
            if tree is not None:
                tree, texts = write_out_attributes(tree, function)
                self.dependencies += [(function, path, text) for path, text in texts]
                tree = settle_tests(write_out_lists(tree))
            self._trees[id(function)] = tree
        return self._trees[id(function)]

    def _as_is(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return `function` with its code untouched and its names for `math` and the like replaced."""

        def replaced(value: Any) -> Any:
            called = called_function(value)
            if called is not None:
                return self.cell(called).cell_contents
            if is_constant_array(value) and self.dialect.is_strict:
                return Snapshot(value).array
            if is_constant_record(value) and self.dialect.is_strict:
                return Snapshot(value).record
            own = numpy_names(value)
            return SUBSTITUTES.get(id(own), own)

        code = function.__code__
        known = vars(builtins) | function.__globals__
        names = {name: replaced(known[name]) for name in code.co_names if name in known}
        # The function gets globals and cells of its own, which are to be those of the next launch as well.
        paths = [(name,) for name in (*code.co_names, *code.co_freevars)]
        self.dependencies += [(function, path, resolve(function, path)) for path in paths]
        cells = tuple(CellType(replaced(cell.cell_contents)) for cell in function.__closure__ or ())
        return with_code(function, code, {**function.__globals__, **names}, cells)

    def _without_item(self, made: Callable[..., Any]) -> Callable[..., Any]:
        """Return what takes the work-item that `made` does not."""

        def called(item: object, *arguments: Any) -> None:
            made(*arguments)

        return called


def _orders_memory(word: object) -> bool:
    return word is AtomicRef or word is atomic_fence or (isinstance(word, DialectIntrinsic) and word.orders_memory)


def _named_words(function: Callable[..., Any], tree: ast.FunctionDef) -> list[Any]:
    local = bound_names(tree)
    paths = {dotted_path(node) for node in ast.walk(tree) if isinstance(node, (ast.Name, ast.Attribute))}
    found = [resolve(function, path) for path in paths if path is not None and path[0] not in local]
    return [value for value in found if isinstance(value, DialectIntrinsic)]


def _called_methods(tree: ast.FunctionDef) -> set[str]:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {function.attr for function in calls if isinstance(function, ast.Attribute)}


def _called_objects(function: Callable[..., Any], tree: ast.FunctionDef) -> list[Any]:
    local = bound_names(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {dotted_path(node.func) for node in calls}
    given = {dotted_path(each) for node in calls for each in _values_given(node)} - called

    def found(paths: set[tuple[str, ...] | None]) -> list[Any]:
        return [resolve(function, path) for path in paths if path is not None and path[0] not in local]

    # A device function among the arguments of another one is called there.
    return found(called) + [each for each in found(given) if isinstance(each, DeviceFunction)]


def _values_given(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _functions(called: list[Any]) -> list[Callable[..., Any]]:
    """The functions of the author's among called objects."""
    return [function for function in map(called_function, called) if function is not None]


def _global_objects(function: Callable[..., Any]) -> list[Any]:
    """Objects that a function without source may call: its globals, and what modules among them hold."""
    code = function.__code__
    names = (*code.co_names, *code.co_freevars)
    found = [resolve(function, (name,)) for name in names]
    # A package's module has its own: `cuda.atomic.add`.
    modules = [value for value in found if isinstance(value, ModuleType)]
    inner = [vars(module).get(name) for module in modules for name in code.co_names]
    deeper = [value for value in inner if isinstance(value, ModuleType)]
    return found + inner + [vars(module).get(name) for module in deeper for name in code.co_names]


def _has_while(tree: ast.FunctionDef) -> bool:
    """Return whether the function itself, not one defined in it, has a loop without a known end."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.While):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _build(function: Callable[..., Any], body: ast.FunctionDef, injected: dict[str, CellType]) -> Callable[..., Any]:
    """Compile `body` as a closure over all that it is given in addition."""
    original = function.__code__
    try:
        code = compile_closure(function, body, injected)
    except SyntaxError as error:
        raise KernelCompilationError(
            f"`{function.__name__}` cannot be run:\n  {original.co_filename}:{error.lineno}: {error.msg}: "
            "a barrier must not stand in a comprehension or a lambda",
            code="barrier-in-comprehension",
        ) from None
    cells = dict(zip(original.co_freevars, function.__closure__ or (), strict=False))
    cells.update(injected)
    return with_code(function, code, function.__globals__, tuple(cells[name] for name in code.co_freevars))
