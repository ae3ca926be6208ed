"""Statements at random that need no other work-item, and functions made of them."""

from __future__ import annotations

import math

from random_kernels.expressions import Expressions
from random_kernels.program import CELLS, DTYPES, FLOATS, INTEGERS, SPREAD, Array

__all__ = ["Statements"]

NEAR = {
    "anywhere": ("sin", "cos", "tan", "atan", "exp", "expm1", "tanh", "sinh", "cosh", "asinh", "cbrt"),
    "positive": ("log", "log2", "log10", "log1p", "sqrt"),
    "between": ("asin", "acos", "atanh"),
    "two": ("atan2", "hypot", "pow"),
}
"""Functions of `math` by where they are defined; NumPy has them in more digits than float64's."""


class Statements(Expressions):
    """Writes lines of a kernel, and of its judge."""

    def __init__(self, draw, depth):
        super().__init__(draw, depth)
        self._lines: list[str] = []
        self._plain: list[str] = []
        self._indent = 1
        self._returns = ""  # the dtype of what the function at hand gives, that being none for the kernel
        self._may_return = False
        self._is_kernel = True
        self._waiting: list[str] = []  # functions with a loop that may wait for others
        self._tables: dict[str, tuple[str, tuple[int, ...]]] = {}  # constant arrays

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
        forms = [self._assignment, self._assignment, self._augmented, self._swap, self._unpacked]
        if self._is_kernel:
            forms += [self._store, self._flag, self._near, self._atomic, self._own, self._private_store]
        if depth:
            forms += [self._branch, self._branch, self._counted_loop, self._while_loop, self._loop_over]
        self._pick(forms)(depth)

    def _variable(self) -> tuple[str, str]:
        code = self._pick(each for each, names in self._variables.items() if names)
        return self._pick(self._variables[code]), code

    def _assignment(self, depth: int) -> None:
        name, code = self._variable()
        self.write(f"{name} = {self.value(code, self._depth)}")

    def _augmented(self, depth: int) -> None:
        name, code = self._variable()
        if self._number(0, 2) == 0:
            return self.write(f"{name} {self._divided_update(code)}")
        return self.write(f"{name} {self._update(code)} {self.value(code, 1)}")

    def _update(self, code: str) -> str:
        """An augmented assignment that takes any value of the dtype."""
        others = ["^=", "|=", "&=", "<<=", ">>="] if code in INTEGERS else ["/=", "//=", "%="] if code in FLOATS else []
        return self._pick(["+=", "-=", "*=", *others])

    def _divided_update(self, code: str) -> str:
        """An augmented assignment with what it takes of the dtype."""
        if code not in INTEGERS:
            return f"{self._update(code)} {self.value(code, 1)}"
        operator, value = self._pick(["//=", "%=", "**="]), self.value(code, 1)
        return f"{operator} ({value} & 5)" if operator == "**=" else f"{operator} ({value} | 1)"

    def _swap(self, depth: int) -> None:
        name, code = self._variable()
        other = self._pick(self._variables[code])
        if other == name:
            return self._assignment(depth)
        return self.write(f"{name}, {other} = {other}, {name}")

    def _array(self, name: str, code: str, role: str) -> str:
        self.program.arrays.setdefault(name, Array(code, (CELLS,) if role == "cells" else (64,), role=role))
        return name

    def _store(self, depth: int) -> None:
        outputs = [(name, each.code) for name, each in self.program.arrays.items() if each.role == "output"]
        name, code = self._pick([each for each in outputs if each[1] != "?"])
        if self._number(0, 3) == 0:
            return self.write(f"{name}[i] {self._divided_update(code)}")
        return self.write(f"{name}[i] {self._pick(['=', self._update(code)])} {self.value(code, self._depth)}")

    def _unpacked(self, depth: int) -> None:
        """Two variables at once, of a tuple or of a function's two results."""
        (name, code), (other, second) = self._variable(), self._variable()
        if name == other:
            return self._assignment(depth)
        given = f"{self.value(code, 1)}, {self.value(second, 1)}"
        return self.write(f"{name}, {other} = {self._pick([given, f'({given})', f'kept({given})'])}")

    def _flag(self, depth: int) -> None:
        self.write(f"{self._array('flags', '?', 'output')}[i] = {self.condition(depth)}")

    def _near(self, depth: int) -> None:
        """A function within its ulp goes to an output of its own, as what follows of it is not comparable."""
        where, code = self._pick(NEAR), self._pick(FLOATS[1:])
        function, value = self._pick(NEAR[where]), self.value(code, self._depth)
        if where == "positive":
            value = f"abs({value})"
        elif where == "between":
            value = f"({value} % np.{DTYPES[code]}(1.0))"
        elif where == "two":
            other = self.value(code, 1)
            value = f"abs({value}), {other}" if function == "pow" else f"{value}, {other}"
        name = self._array(f"near_{function}_{code}", code, "near")
        self.write(f"{name}[i] = math.{function}({value})")

    def _private_store(self, depth: int) -> None:
        if not self._privates:
            return self._store(depth)
        name, code = self._pick(self._privates)
        if self._number(0, 3) == 0:
            return self.write(f"{name}[{self.index(CELLS, 1)}] {self._divided_update(code)}")
        return self.write(
            f"{name}[{self.index(CELLS, 1)}] {self._pick(['=', self._update(code)])} {self.value(code, 1)}"
        )

    def _atomic(self, depth: int) -> None:
        """Each array of cells has one operation, so that the order does not matter."""
        code = self._pick(SPREAD)
        operation = self._pick(["add", "sub", "min", "max", "and", "or", "xor"])
        kind = "add" if operation == "sub" else operation
        name = self._array(f"cells_{kind}_{code}", code, "cells")
        order = self._pick(["", ", kapi.MemoryOrder.ACQ_REL", ", memory_scope=kapi.MemoryScope.SYSTEM"])
        reference = f"kapi.AtomicRef({name}, {self.index(CELLS, 1)}{order})"
        self.write(f"{reference}.fetch_{operation}({self.value(code, 1)})")

    def _own(self, depth: int) -> None:
        """Atomics of an element that no other work-item uses, whose answers are known."""
        code = self._pick(["f4", "f8", *SPREAD])
        reference = f"kapi.AtomicRef({self._array(f'own_{code}', code, 'own')}, i)"
        kinds = ["load()", f"exchange({self.value(code, 1)})", f"fetch_add({self.value(code, 1)})"]
        kinds += [f"fetch_sub({self.value(code, 1)})"]
        kinds += [f"fetch_{self._pick(['min', 'max', 'xor'])}({self.value(code, 1)})"] if code in SPREAD else []
        seen = self._name("s")
        if self._number(0, 3) == 0:
            expected = self._pick([f"{reference}.load()", self.value(code, 0)])
            self.write(f"{seen} = kapi.PrivateArray(1, np.{DTYPES[code]})")
            self.write(f"{seen}[0] = {expected}")
            self.write(f"if {reference}.compare_exchange({seen}, {self.value(code, 1)}):")
            self.block(0)
            seen += "[0]"
        else:
            if self._number(0, 3) == 0:
                self.write(f"{reference}.store({self.value(code, 1)})")
            self.write(f"{seen} = {reference}.{self._pick(kinds)}")
        outputs = [(name, each.code) for name, each in self.program.arrays.items() if each.role == "output"]
        name, other = self._pick([each for each in outputs if each[1] != "?"])
        if other == code:
            self.write(f"{name}[i] = {name}[i] + {seen}")
        else:
            self.write(f"{self._array(f'out_own_{code}', code, 'output')}[i] = {seen}")

    def _branch(self, depth: int) -> None:
        self.write(f"if {self.condition()}:")
        self.block(depth - 1)
        self._leave(depth)
        if self._number(0, 1):
            self.write(f"elif {self.condition()}:")
            self.block(depth - 1)
        if self._number(0, 1):
            self.write("else:")
            self.block(depth - 1)

    def _leave(self, depth: int) -> None:
        """Now and then an early return, at the end of a block."""
        if self._may_return and self._number(0, 5) == 0:
            self.write(f"    return {self.value(self._returns, 1)}" if self._returns else "    return")

    def leave_early(self) -> None:
        """Now and then, a return for some work-items or values."""
        if self._may_return and self._number(0, 2) == 0:
            self.write(f"if {self._pick([self.guard, self.condition])()}:")
            self.write(f"    return {self.value(self._returns, 1)}" if self._returns else "    return")

    def _counted_loop(self, depth: int) -> None:
        counter = self._name("k")
        ranges = ["range(4)", "range(1, 6, 2)", "range(5, -1, -2)", f"range({self.weak()} % 5)", "range(3, 3)"]
        ranges += [f"range({self.weak()} % 7, -1, -1 - {self.weak()} % 3)", f"range(0, 6, {self.weak()} % 3 + 1)"]
        self.write(f"for {counter} in {self._pick(ranges)}:")
        self._loop_body(depth, counter)

    def _loop_over(self, depth: int) -> None:
        """A loop over values: a tuple's, a constant array's, some with their number or in pairs."""
        code = self._pick([code for code, names in self._variables.items() if names])
        tables = [name for name, (each, shape) in self._shapes.items() if each == code and len(shape) == 1]
        values = self._pick([f"({self.value(code, 1)}, {self.value(code, 0)}, {self.value(code, 0)})", *tables])
        name, counter = self._name("e"), self._name("k")
        form = self._number(0, 3)
        head = f"{counter}, {name} in enumerate({values})" if form == 0 else f"{name} in {values}"
        if form == 1 and values in tables:
            head = f"{name} in reversed({values})"
        elif form == 2:
            head = f"{counter}, {name} in zip(range(2, 5), {values})"
        self.write(f"for {head}:")
        self._variables[code].append(name)
        self._loop_body(depth, counter if "," in head.partition(" in ")[0] else "3", has_else=False)
        self._variables[code].remove(name)

    def _while_loop(self, depth: int) -> None:
        counter = self._name("w")
        self.write(f"{counter} = {self.weak()} % 4")
        self.write(f"while {counter} < 6{self._pick(['', f' and ({self.condition()})'])}:")
        self.write(f"    {counter} += {self._number(1, 3)}")
        self._loop_body(depth, counter)

    def _loop_body(self, depth: int, counter: str, has_else: bool = True) -> None:
        weak, self._weak = self._weak, [*self._weak, counter]
        self.block(depth - 1)
        self._leave(depth)
        if self._number(0, 2) == 0:
            self._indent += 1
            self.write(f"if {self.condition()}:")
            self.write(f"    {self._pick(['break', 'continue'])}")
            self._assignment(depth)
            self._indent -= 1
        self._weak = weak
        if has_else and self._number(0, 3) == 0:
            self.write("else:")
            self.block(depth - 1)

    # -- arrays that are parts of others, or constants

    def define_constants(self) -> None:
        """Constant arrays, which the kernel takes from outside; and a function that gives two values."""
        self._indent = 0
        for _ in range(self._number(0, 2)):
            code, shape = self._pick([*self._codes, "i1", "f4"]), self._pick([(5,), (3,), (2, 3)])
            numbers = [self._number(0, 100) - (0 if code[0] == "u" else 50) for _ in range(math.prod(shape))]
            name = self._name("T")
            self.write(f"{name} = np.array({numbers}, '{code}').reshape({shape})")
            self._tables[name] = (code, shape)
        self._shapes = dict(self._tables)
        self.write("@kapi.device_func")
        self.write("def kept(x, y):")
        self.write("    return x, y")
        self._indent = 1

    def view(self) -> None:
        """A row, a column or another part of an array, which is only read."""
        name = self._pick([*self._readable, *self._tables]) if self._tables or self._readable else ""
        code, shape = (
            self._tables[name] if name in self._tables else (self._readable[name], self.program.arrays[name].shape)
        )
        parts, left = [], []
        for size in shape:
            kind = self._number(0, 4)
            if kind == 0 and len(left) + len(shape) - len(parts) > 1:
                parts.append(self.index(size, 1))
                continue
            text, part = self._pick(
                [
                    (":", slice(None)),
                    ("::-1", slice(None, None, -1)),
                    ("::2", slice(None, None, 2)),
                    ("1:", slice(1, None)),
                    (":-1", slice(None, -1)),
                    ("-2::-1", slice(-2, None, -1)),
                ]
            )
            parts.append(text)
            left.append(len(range(size)[part]))
        made = self._name("r")
        self.write(f"{made} = {name}[{', '.join(parts)}]{'.T' if len(left) > 1 and self._number(0, 2) == 0 else ''}")
        shape = tuple(left[::-1] if self._lines[-1].endswith(".T") else left)
        self._shapes[made] = (code, shape)

    # -- functions

    def define_local_function(self) -> None:
        """A function in the kernel, which sees what the kernel reads; a `def` or a lambda."""
        name, result = self._name("g"), self._pick(self._codes)
        codes = (result, self._pick(self._codes))
        names = [self._name("x") for _ in codes]
        variables, weak, privates, functions = self._variables, self._weak, self._privates, self._functions
        self._variables = {code: [] for code in variables}
        self._weak, self._privates = ["4"], []
        is_lambda = bool(self._number(0, 1))
        if is_lambda:  # in the simulator it cannot call a function that may wait for other work-items
            self._functions = [each for each in functions if each[0] not in self._waiting]
        for parameter, code in zip(names, codes, strict=True):
            self._variables[code].append(parameter)
        value = self.value(result, 2)
        self._variables, self._weak, self._privates, self._functions = variables, weak, privates, functions
        if is_lambda:
            self.write(f"{name} = lambda {', '.join(names)}: {value}")
        else:
            self.write(f"def {name}({', '.join(names)}):")
            self.write(f"    return {value}")
        self._local_functions.append((name, codes, result))

    def define_function(self) -> None:
        """A function of two or three parameters that the kernel, and functions after it, may call."""
        name, result = self._name("f"), self._pick(self._codes)
        codes = (result, *(self._pick(self._codes) for _ in range(self._number(1, 2))))
        names = [self._name("x") for _ in codes]
        outer = self._weak, self._readable, self._variables, self._may_return
        self._weak, self._readable, self._is_kernel = ["3"], {}, False
        self._variables = {code: [] for code in self._variables}
        for parameter, code in zip(names, codes, strict=True):
            self._variables[code].append(parameter)
        self._may_return, self._returns = True, result
        first = len(self._lines)
        self._indent = 0
        self.write("@kapi.device_func")
        self.write(f"def {name}({', '.join(names)}):")
        self._indent = 1
        for _ in range(self._number(0, 2)):
            self.leave_early()
            self.statement(1)
        self.write(f"return {self.value(result, self._depth)}")
        self._indent = 0
        self.write("")
        self._weak, self._readable, self._variables, self._may_return = outer
        self._returns, self._is_kernel, self._indent = "", True, 1
        self._functions.append((name, codes, result))
        lines = "\n".join(self._lines[first:])
        if "while " in lines or any(f"{each}(" in lines for each in self._waiting):
            self._waiting.append(name)
