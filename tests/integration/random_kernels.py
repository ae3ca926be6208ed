"""Kernels written at random, in the kernel language, with the same program for plain Python as their judge.

Each value has one type throughout, which the writer knows: where NumPy's rules would let a variable's type depend on
the path taken, kernels are not comparable. Python ints stay small, divisors are never zero, and floats never become
integers, for there the simulator raises an error or NumPy has no answer.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

__all__ = ["CELLS", "GROUP", "ITEMS", "Program", "programs", "run_plainly"]

ITEMS, GROUP, CELLS = 64, 16, 4
DTYPES = {"i1": "int8", "u1": "uint8", "i4": "int32", "u4": "uint32", "i8": "int64", "f4": "float32", "f8": "float64"}
INTEGERS, FLOATS = ("i1", "u1", "i4", "u4", "i8"), ("f4", "f8")
SPREAD = ("i4", "u4", "i8")  # what atomics and groups work on, where any order gives the same
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
SERIALS = itertools.count()


@dataclass
class Program:
    """A kernel and its judge.

    Attributes
    ----------
    source : str
        The kernel and the functions it calls.
    plain : str
        The same as plain Python: a generator, which yields what a group does together.
    inputs, outputs, cells : dict of str to str
        Name and dtype code of each array: of those read, of those written, and of those that atomics change.
    has_groups : bool
        Whether the launch is over an NdRange, with a local array.
    """

    source: str = ""
    plain: str = ""
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    has_groups: bool = False

    @property
    def parameters(self) -> list[str]:
        """Names of the arrays, in the order of the parameters."""
        return [*self.inputs, *self.outputs, *self.cells]

    def arrays(self, seed: int) -> list[np.ndarray[Any, Any]]:
        """Arrays for one launch."""
        rng = np.random.default_rng(seed)
        made = [_values(rng, code) for code in self.inputs.values()]
        made += [np.zeros(ITEMS, code) for code in self.outputs.values()]
        return made + [rng.integers(0, 100, CELLS).astype(code) for code in self.cells.values()]

    def function(self, kapi: Any) -> Any:
        """The kernel as a Python function, with its source where tools look for it."""
        return _function(self.source, {"kapi": kapi, "np": np})

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis shows the program that is left when it has shrunk one."""
        printer.text(f"{self.inputs} {self.outputs}\n{self.source}")


def _function(source: str, namespace: dict[str, Any]) -> Any:
    filename = f"<random kernel {next(SERIALS)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), namespace)
    return namespace["program"]


def _values(rng: np.random.Generator, code: str) -> np.ndarray[Any, Any]:
    """Small and large numbers of a dtype, with zeros and ends of the range among them."""
    dtype = np.dtype(code)
    if dtype.kind == "f":
        values = (rng.integers(-64, 64, ITEMS) / 8).astype(dtype)
        return np.where(rng.random(ITEMS) < 0.2, (rng.standard_normal(ITEMS) * 1e3).astype(dtype), values)
    info = np.iinfo(dtype)
    values = rng.integers(max(info.min, -20), 20, ITEMS).astype(dtype)
    wild = rng.integers(info.min, info.max, ITEMS, dtype=dtype, endpoint=True)
    return np.where(rng.random(ITEMS) < 0.2, wild, values)


class _Writer:
    """Writes one program; what it writes depends on what is drawn alone."""

    def __init__(self, draw: Callable[[Any], Any], depth: int) -> None:
        self._draw = draw
        self._depth = depth
        self.program = Program()
        self._lines: list[str] = []
        self._plain: list[str] = []
        self._indent = 1
        self._variables: dict[str, list[str]] = {code: [] for code in DTYPES}
        self._weak = ["i"]
        self._locals: list[tuple[str, str]] = []
        self._functions: list[tuple[str, str, str]] = []
        self._names = itertools.count()
        self._in_loop = False

    # -- choices

    def _pick(self, options: Any) -> Any:
        # By number: hypothesis tells choices among methods apart by their addresses, which come and go.
        choices = list(options)
        return choices[self._number(0, len(choices) - 1)]

    def _number(self, low: int, high: int) -> int:
        return int(self._draw(st.integers(low, high)))

    def _name(self, prefix: str) -> str:
        return f"{prefix}{next(self._names)}"

    # -- expressions

    def weak(self, depth: int = 1) -> str:
        """A Python int from 0 to some hundreds."""
        if depth == 0 or self._number(0, 2) == 0:
            return self._pick([*self._weak, str(self._number(0, 9))])
        left, right = self.weak(depth - 1), self.weak(depth - 1)
        return self._pick(
            [f"({left} + {right})", f"({left} * {self._number(1, 3)})", f"({left} % 7)", f"({left} // 2)"]
        )

    def index(self, size: int) -> str:
        """An index of an array of `size` elements: of Python ints, or of an integer of a dtype."""
        if self._number(0, 3) == 0:
            return f"{self.value(self._pick(SPREAD), 1)} % {size}"
        return f"({self.weak()}) % {size}"

    def _leaf(self, code: str) -> str:
        options = [f"np.{DTYPES[code]}({self._literal(code)})"]
        options += self._variables[code]
        options += [f"{name}[{self.index(ITEMS)}]" for name, each in self.program.inputs.items() if each == code]
        options += [f"{name}[{self.index(CELLS)}]" for name, each in self._locals if each == code]
        return self._pick(options[::-1])

    def _literal(self, code: str) -> str:
        if code in FLOATS:
            return self._pick(["0.5", "2.0", "-1.25", "3.0", "0.1"])
        return str(self._number(0 if code[0] == "u" else -5, 9))

    def value(self, code: str, depth: int) -> str:
        """An expression of exactly this dtype."""
        if depth == 0:
            return self._leaf(code)
        forms = [self._arithmetic, self._arithmetic, self._converted, self._chosen, self._unary]
        forms += [self._bitwise, self._divided] if code in INTEGERS else [self._float_function]
        forms += [self._called] if any(each[1] == code for each in self._functions) else []
        return self._pick(forms)(code, depth - 1)

    def _arithmetic(self, code: str, depth: int) -> str:
        operator = self._pick("+-*/" if code in FLOATS else "+-*")
        left = self.value(code, depth)
        if code == "f8" and self._number(0, 3) == 0:
            return f"({left} {operator} {self.value(self._pick(['i4', 'f4', 'i8']), depth)})"
        if code == "i8" and self._number(0, 3) == 0:
            return f"({left} {operator} {self.value(self._pick(['i4', 'u4', 'u1']), depth)})"
        right = self._pick([self.value(code, depth), self._literal(code)])
        if code in ("i4", "i8", *FLOATS) and self._number(0, 3) == 0:
            right = self.weak()
        return f"({left} {operator} {right})"

    def _bitwise(self, code: str, depth: int) -> str:
        operator = self._pick(["&", "|", "^", "<<", ">>"])
        left = self.value(code, depth)
        if operator in ("<<", ">>"):
            return f"({left} {operator} {self._number(0, 40)})"
        return f"({left} {operator} {self.value(code, depth)})"

    def _divided(self, code: str, depth: int) -> str:
        operator = self._pick(["//", "%"])
        return f"({self.value(code, depth)} {operator} ({self.value(code, depth)} | 1))"

    def _unary(self, code: str, depth: int) -> str:
        form = self._pick(["(-{})", "abs({})", "(+{})"] + (["(~{})"] if code in INTEGERS else []))
        return str(form).format(self.value(code, depth))

    def _converted(self, code: str, depth: int) -> str:
        sources = [each for each in DTYPES if each != code and (each in INTEGERS or code in FLOATS)]
        return f"np.{DTYPES[code]}({self.value(self._pick(sources), depth)})"

    def _chosen(self, code: str, depth: int) -> str:
        return f"({self.value(code, depth)} if {self.condition(depth)} else {self.value(code, depth)})"

    def _float_function(self, code: str, depth: int) -> str:
        form = self._pick(["np.sqrt(abs({}))", "np.floor({})", "np.ceil({})", "np.trunc({})"])
        return str(form).format(self.value(code, depth))

    def _called(self, code: str, depth: int) -> str:
        name, _code, other = self._pick([each for each in self._functions if each[1] == code])
        return f"{name}({self.value(code, depth)}, {self.value(other, depth)})"

    def condition(self, depth: int = 1) -> str:
        """Something true or false."""
        kind = self._number(0, 4 if depth else 1)
        if kind == 0:
            return f"({self.weak()}) {self._pick(COMPARISONS)} {self.weak(0)}"
        if kind <= 2:
            code = self._pick(DTYPES)
            other = self._pick([code, self._pick(DTYPES)])
            return f"{self.value(code, 1)} {self._pick(COMPARISONS)} {self.value(other, 0)}"
        if kind == 3:
            return f"not ({self.condition(depth - 1)})"
        return f"({self.condition(depth - 1)}) {self._pick(['and', 'or'])} ({self.condition(depth - 1)})"

    # -- statements

    def write(self, line: str, plain: str | None = None) -> None:
        """One line of the kernel, and of its judge."""
        self._lines.append("    " * self._indent + line)
        self._plain.append("    " * self._indent + (line if plain is None else plain))

    def block(self, depth: int) -> None:
        """Some statements, one step further in."""
        self._indent += 1
        weak = list(self._weak)
        for _ in range(self._number(1, 1 + self._depth)):
            self.statement(depth)
        self._weak = weak
        self._indent -= 1

    def statement(self, depth: int) -> None:
        """One statement that needs no other work-item."""
        forms = [self._assignment, self._assignment, self._augmented, self._store, self._atomic, self._local_store]
        if depth:
            forms += [self._branch, self._branch, self._counted_loop, self._while_loop]
        self._pick(forms)(depth)

    def _assignment(self, depth: int) -> None:
        code = self._pick(each for each, names in self._variables.items() if names)
        self.write(f"{self._pick(self._variables[code])} = {self.value(code, self._depth)}")

    def _augmented(self, depth: int) -> None:
        code = self._pick(each for each, names in self._variables.items() if names)
        operator = self._pick(["+=", "-=", "*="] + (["^=", "|=", "&="] if code in INTEGERS else []))
        self.write(f"{self._pick(self._variables[code])} {operator} {self.value(code, 1)}")

    def _store(self, depth: int) -> None:
        name, code = self._pick(self.program.outputs.items())
        self.write(f"{name}[i] = {self.value(code, self._depth)}")

    def _local_store(self, depth: int) -> None:
        if not self._locals:
            return self._store(depth)
        name, code = self._pick(self._locals)
        return self.write(f"{name}[{self.index(CELLS)}] {self._pick(['=', '+='])} {self.value(code, 1)}")

    def _atomic(self, depth: int) -> None:
        """Each array of cells has one operation, so that the order does not matter."""
        code = self._pick(SPREAD)
        operation = self._pick(["add", "sub", "min", "max", "and", "or", "xor"])
        kind = "add" if operation == "sub" else operation
        name = f"cells_{kind}_{code}"
        self.program.cells[name] = code
        order = self._pick(["", ", kapi.MemoryOrder.ACQ_REL", ", memory_scope=kapi.MemoryScope.SYSTEM"])
        reference = f"kapi.AtomicRef({name}, {self.index(CELLS)}{order})"
        self.write(f"{reference}.fetch_{operation}({self.value(code, 1)})")

    def _branch(self, depth: int) -> None:
        self.write(f"if {self.condition()}:")
        self.block(depth - 1)
        if self._number(0, 1):
            self.write(f"elif {self.condition()}:")
            self.block(depth - 1)
        if self._number(0, 1):
            self.write("else:")
            self.block(depth - 1)

    def _counted_loop(self, depth: int) -> None:
        counter = self._name("k")
        ranges = ["range(4)", "range(1, 6, 2)", "range(5, -1, -2)", f"range({self.weak()} % 5)", "range(3, 3)"]
        self.write(f"for {counter} in {self._pick(ranges)}:")
        self._loop_body(depth, counter)
        if self._number(0, 3) == 0:
            self.write("else:")
            self.block(depth - 1)

    def _while_loop(self, depth: int) -> None:
        counter = self._name("w")
        self.write(f"{counter} = {self.weak()} % 4")
        self.write(f"while {counter} < 6:")
        self._indent += 1
        self.write(f"{counter} += {self._number(1, 3)}")
        self._indent -= 1
        self._loop_body(depth, counter)

    def _loop_body(self, depth: int, counter: str) -> None:
        weak, self._weak = self._weak, [*self._weak, counter]
        self.block(depth - 1)
        if self._number(0, 2) == 0:
            self._indent += 1
            self.write(f"if {self.condition()}:")
            self._indent += 1
            self.write(self._pick(["break", "continue"]))
            self._indent -= 1
            self._variables_keep_their_types()
            self._indent -= 1
        self._weak = weak

    def _variables_keep_their_types(self) -> None:
        code = self._pick(each for each, names in self._variables.items() if names)
        name = self._pick(self._variables[code])
        self.write(f"{name} = {self.value(code, 1)}")

    # -- whole programs

    def declare(self) -> None:
        """Arrays, functions and variables."""
        for _ in range(self._number(1, 3)):
            code = self._pick(DTYPES)
            self.program.inputs[self._name("a")] = code
        for _ in range(self._number(1, 2)):
            self.program.outputs[self._name("out")] = self._pick(DTYPES)

    def define_functions(self) -> str:
        """The source of the functions that the kernel calls."""
        sources = []
        for _ in range(self._number(0, 2)):
            name, code, other = self._name("f"), self._pick(DTYPES), self._pick(DTYPES)
            inputs, self.program.inputs = self.program.inputs, {}
            weak, self._weak = self._weak, ["3"]
            self._variables[code].append("x")
            self._variables[other].append("y")
            lines = [f"def {name}(x, y):"]
            if self._number(0, 1):
                lines += [f"    if {self.condition()}:", f"        return {self.value(code, 1)}"]
            lines.append(f"    return {self.value(code, self._depth)}")
            self._variables[code].remove("x")
            self._variables[other].remove("y")
            self.program.inputs, self._weak = inputs, weak
            self._functions.append((name, code, other))
            sources.append("\n".join(lines) + "\n\n\n")
        return "".join(sources)

    def start(self) -> None:
        """The variables' first values, and a private array."""
        for code in sorted({self._pick(DTYPES) for _ in range(3)} | set(self.program.outputs.values())):
            name = self._name("v")
            self.write(f"{name} = {self.value(code, 1)}")
            self._variables[code].append(name)
        if self._number(0, 1):
            name, code = self._name("p"), self._pick(DTYPES)
            self.write(f"{name} = kapi.PrivateArray({CELLS}, np.{DTYPES[code]}, fill_zeros=True)")
            self._locals.append((name, code))

    def meet(self) -> None:
        """One statement that all work-items of a group do together."""
        code, name = self._pick(SPREAD), self._name("v")
        if self._number(0, 1):
            value = self.value("i4", self._depth)
            shift = self._number(1, GROUP - 1)
            self.write(f"tile[lane] = {value}", f"yield 'store', {value}")
            self.write("kapi.group_barrier(group)", f"{name} = yield 'load', (lane + {shift}) % {GROUP}")
            self.write(f"{name} = tile[(lane + {shift}) % {GROUP}]", "yield 'meet', None")
            self.write("kapi.group_barrier(group)", "pass")
            code = "i4"
        else:
            kind = self._pick(["reduce", "inclusive_scan", "exclusive_scan"])
            operator = self._pick(["plus", "multiplies", "minimum", "maximum", "bit_and", "bit_or", "bit_xor"])
            value = self.value(code, self._depth)
            self.write(
                f"{name} = kapi.{kind}_over_group(group, {value}, kapi.{operator})",
                f"{name} = yield '{kind}', ({value}, '{operator}')",
            )
        self._variables[code].append(name)

    def end(self) -> None:
        """Every variable goes to an output of its type."""
        for name, code in self.program.outputs.items():
            for variable in self._variables[code]:
                self.write(f"{name}[i] = {name}[i] * {name}.dtype.type(3) + {variable}")


@st.composite
def programs(draw: Any, depth: int = 2) -> Program:
    """A program whose expressions and blocks nest up to `depth` deep, of a few to some dozens of lines."""
    writer = _Writer(draw, depth)
    program = writer.program
    program.has_groups = draw(st.integers(0, 3)) == 0
    writer.declare()
    functions = writer.define_functions()
    if program.has_groups:
        writer.write("group = item.get_group()")
        writer.write("lane = item.get_local_id(0)")
        writer.write("i = item.get_global_id(0)")
    else:
        writer.write("i = item.get_id(0)")
    writer.start()
    for _ in range(draw(st.integers(1, 2 * depth))):
        writer.statement(depth)
        if program.has_groups:
            writer.meet()
    writer.end()
    names = ", ".join([*program.parameters, *(["tile"] if program.has_groups else [])])
    head = f"{functions}def program(item, {names}):\n"
    program.source = head + "\n".join(writer._lines) + "\n"
    program.plain = head + "\n".join(writer._plain) + "\n    yield 'end', None\n"
    return program


# -- plain Python as the judge ---------------------------------------------------------------------------


class _Cell:
    """An atomic reference where there is one work-item at a time."""

    def __init__(self, array: Any, index: Any, *order: Any, **scope: Any) -> None:
        self._array, self._index = array, index

    def _update(self, function: Any, value: Any) -> None:
        self._array[self._index] = function(self._array[self._index], self._array.dtype.type(value))

    def __getattr__(self, name: str) -> Any:
        functions = {
            "add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
            "or": np.bitwise_or, "xor": np.bitwise_xor,
        }  # fmt: skip
        function = functions[name.removeprefix("fetch_")]
        return lambda value: self._update(function, value)


class _Plain:
    """What programs call, for plain Python."""

    AtomicRef = _Cell

    class MemoryOrder:
        ACQ_REL = None

    class MemoryScope:
        SYSTEM = None

    @staticmethod
    def PrivateArray(shape: int, dtype: Any, fill_zeros: bool) -> Any:
        return np.zeros(shape, dtype)


class _Item:
    def __init__(self, index: int) -> None:
        self._index = index

    def get_id(self, dim: int) -> int:
        return self._index

    get_global_id = get_id

    def get_local_id(self, dim: int) -> int:
        return self._index % GROUP

    def get_group(self) -> None:
        return None


_UFUNCS = {
    "plus": np.add, "multiplies": np.multiply, "minimum": np.minimum, "maximum": np.maximum,
    "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
}  # fmt: skip


def run_plainly(program: Program, arrays: list[Any], identity_of: Callable[[str, Any], Any]) -> None:
    """Run the judge, one work-item after the other, each up to where it must meet its group.

    Parameters
    ----------
    program : Program
        What to run.
    arrays : list of numpy.ndarray
        Read and changed.
    identity_of : callable
        What changes nothing under an operator, given its name and a dtype.
    """
    function = _function(program.plain, {"kapi": _Plain, "np": np})
    tile = [None] if program.has_groups else []
    with np.errstate(all="ignore"):
        for first in range(0, ITEMS, GROUP):
            runs = [function(_Item(index), *arrays, *tile) for index in range(first, first + GROUP)]
            _run_group(runs, identity_of)


def _run_group(runs: list[Iterator[Any]], identity_of: Callable[[str, Any], Any]) -> None:
    replies: list[Any] = [None] * len(runs)
    stored: list[Any] = []
    while True:
        asked = [run.send(reply) for run, reply in zip(runs, replies, strict=True)]
        (kind,) = {each[0] for each in asked}
        given = [each[1] for each in asked]
        if kind == "end":
            return
        if kind == "store":
            stored = given
        elif kind == "load":
            replies = [stored[place] for place in given]
        elif kind != "meet":
            replies = _combined(kind, [value for value, _ in given], given[0][1], identity_of)


def _combined(kind: str, values: list[Any], operator: str, identity_of: Callable[[str, Any], Any]) -> list[Any]:
    array = np.array(values)
    scanned = _UFUNCS[operator].accumulate(array, dtype=array.dtype)
    if kind == "reduce":
        return [scanned[-1]] * len(values)
    if kind == "inclusive_scan":
        return list(scanned)
    return [identity_of(operator, array.dtype), *scanned[:-1]]
