"""Kernels written at random, in the kernel language, with the same program for plain Python as their judge.

Each value has one type throughout, which the writer knows: where NumPy's rules would let a variable's type depend on
the path taken, kernels are not comparable. Python ints stay small.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from random_kernels.judge import run_plainly
from random_kernels.program import (
    ALIASES,
    CELLS,
    DTYPES,
    EXACT,
    GROUP,
    ITEMS,
    SPACES,
    SPREAD,
    SUB_GROUP,
    VIEWS,
    Array,
    Program,
)
from random_kernels.statements import Statements

__all__ = ["CELLS", "GROUP", "ITEMS", "SPREAD", "SUB_GROUP", "Program", "programs", "run_plainly"]

SHARED = ("i2", "u2", "f4", "f8", *SPREAD)  # dtypes that go from one work-item to another


class _Writer(Statements):
    """Writes entire programs: arguments, functions, statements, and what a group does together."""

    def declare(self) -> None:
        """Arguments."""
        for _ in range(self._number(1, 3)):
            shape = self._pick([(ITEMS,), (ITEMS,), (8, 8), (4, 16), (2, 4, 8)])
            # Up to three views of each other.
            views = tuple(self._pick(VIEWS) for _ in range(self._pick([0, 0, 1, 1, 2, 3])))
            name = self._name("a")
            self.program.arrays[name] = Array(self._pick(self._codes), shape, views)
            if self._number(0, 3) == 0:
                self._share(name)
        for _ in range(self._number(1, 2)):
            self.program.arrays[self._name("out")] = Array(self._pick(self._codes), role="output")
        for _ in range(self._number(0, 2)):
            kind = self._pick(["weak", *self._codes, f"{self._pick(self._codes)} weak"])
            self.program.scalars[self._name("n")] = kind

    def _share(self, name: str) -> None:
        """Another argument of the same memory: the array itself, its reverse, or the elements between its own."""
        known = self.program.arrays[name]
        kind = self._number(0, 2)
        views = known.views if kind == 0 else (*known.views, "reversed")
        if kind == 2 and known.views and known.views[-1] in ALIASES:
            views = (*known.views[:-1], ALIASES[known.views[-1]])
        self.program.arrays[self._name("a")] = Array(known.code, known.shape, views, shares=name)

    def start(self) -> None:
        """The kernel's reads, the variables' first values, and a private array."""
        self._readable = {name: each.code for name, each in self.program.arrays.items() if each.role == "input"}
        for name, kind in self.program.scalars.items():
            members = [(f"{name}[{index}]", each) for index, each in enumerate(kind.split())]
            for spelled, code in members if " " in kind else [(name, kind)]:
                (self._weak if code == "weak" else self._variables[code]).append(spelled)
        axes = range(len(self.program.spaces[0]))
        if self.program.has_groups:
            self.write("group = item.get_group()")
            self.write("sub = item.get_sub_group()")
            self.write("lane = item.get_local_linear_id()")
            self.write("i = item.get_global_linear_id()")
            self._weak += ["lane", "group.get_group_linear_id()", "sub.get_local_id()", "sub.get_group_id()"]
            self._weak += [f"item.{each}({d})" for d in axes for each in ("get_global_id", "get_local_range")]
            self._weak += [f"group.{each}({d})" for d in axes for each in ("get_group_id", "get_group_range")]
        else:
            self.write("i = item.get_linear_id()")
            self._weak += [f"item.{each}({d})" for d in axes for each in ("get_id", "get_range")]
        arguments = {code: list(names) for code, names in self._variables.items()}
        outputs = [each.code for each in self.program.arrays.values() if each.role == "output"]
        made = []
        for code in sorted({*self._codes, *outputs}):
            name = self._name("v")
            self.write(f"{name} = {self.value(code, 1)}")
            made.append((code, name))
        # Arguments are not assigned to: a member of a tuple cannot be, and a number's name then has two types.
        self._variables = {code: [] for code in arguments}
        for code, name in made:
            self._variables[code].append(name)
        if self._number(0, 1):
            name, code = self._name("p"), self._pick(EXACT)
            self.write(f"{name} = kapi.PrivateArray({CELLS}, np.{DTYPES[code]}, fill_zeros=True)")
            self._privates.append((name, code))
        for _ in range(self._number(0, 2)):
            self.view()
        for _ in range(self._number(0, 1)):
            self.define_local_function()

    # -- what a group does together

    def converge(self) -> None:
        """Something that a group does together, now and then in a loop or branch that all of it takes."""
        around = self._number(0, 5)
        self._indent += around < 2
        if around == 0:
            self._indent -= 1
            counter = self._name("k")
            self.write(f"for {counter} in range({self._number(1, 3)}):")
            self._indent += 1
        elif around == 1:
            self._indent -= 1
            self.write(f"if group.get_group_linear_id() % 2 == {self._number(0, 1)}:")
            self._indent += 1
        name, code = self._pick([self._exchange, self._bins, self._combine, self._test, self._shuffle])()
        if around < 2:
            target = self._pick(self._variables[code]) if self._variables[code] else ""
            if target:
                self.write(f"{target} = {name}")
            self._indent -= 1
        else:
            self._variables[code].append(name)

    def _exchange(self) -> tuple[str, str]:
        """Through local memory."""
        which, name, own = self._number(0, 1), self._name("v"), self._name("o")
        code, tile = self.program.tiles[which], f"tile{which}"
        shift = self._number(1, GROUP - 1)
        self.write(f"{tile}[lane] = {{0}}".format(value := self.value(code, self._depth)), f"{own} = {value}")
        for _ in range(self._number(0, 2)):
            change = f"{self._update(code)} {self.value(code, 1)}" if self._number(0, 1) else self._divided_update(code)
            self.write(f"{tile}[lane] {change}", f"{own} {change}")
        self.write("kapi.group_barrier(group)", f"{name} = yield 'take', {own}, (lane + {shift}) % {GROUP}")
        self.write(f"{name} = {tile}[(lane + {shift}) % {GROUP}]", "pass")
        self.write("kapi.group_barrier(group)", "pass")
        return name, code

    def _bins(self) -> tuple[str, str]:
        """Atomics on local memory."""
        operation, code, name = self._pick(["add", "sub", "max", "or", "xor"]), SPREAD[0], self._name("v")
        index, value, seen = self.index(CELLS, 1), self.value(code, 1), self._number(0, CELLS - 1)
        local = "address_space=kapi.AddressSpace.LOCAL, memory_scope=kapi.MemoryScope.WORK_GROUP"
        self.write(f"if lane < {CELLS}:", "pass")
        self.write("    bins[lane] = 0", "pass")
        self.write("kapi.group_barrier(group)", "pass")
        answer = f"{name} = (yield 'bins', '{operation}', {index}, {value})[{seen}]"
        self.write(f"kapi.AtomicRef(bins, {index}, {local}).fetch_{operation}({value})", answer)
        self.write("kapi.group_barrier(group)", "pass")
        self.write(f"{name} = bins[{seen}]", "pass")
        self.write("kapi.group_barrier(group)", "pass")
        return name, code

    def _scope(self) -> tuple[str, str]:
        """A group or sub-group, and what the judge calls it."""
        return self._pick([("group", ""), ("sub", "sub ")])

    def _combine(self) -> tuple[str, str]:
        code, name, (group, scope) = self._pick(SPREAD), self._name("v"), self._scope()
        kind = self._pick(["reduce", "inclusive_scan", "exclusive_scan"])
        operator = self._pick(["plus", "multiplies", "minimum", "maximum", "bit_and", "bit_or", "bit_xor"])
        value = self.value(code, self._depth)
        asked = f"{name} = yield '{scope}{kind}', {value}, '{operator}'"
        self.write(f"{name} = kapi.{kind}_over_group({group}, {value}, kapi.{operator})", asked)
        return name, code

    def _test(self) -> tuple[str, str]:
        name, (group, scope), code = self._name("v"), self._scope(), self._codes[0]
        kind, condition = self._pick(["any", "all", "none"]), self.condition()
        asked = f"{name} = yield '{scope}{kind}', {condition}, None"
        self.write(f"{name} = kapi.{kind}_of_group({group}, {condition})", asked)
        chosen = self._name("v")
        self.write(f"{chosen} = {self.value(code, 1)} if {name} else {self.value(code, 1)}")
        return chosen, code

    def _shuffle(self) -> tuple[str, str]:
        code, name = self._pick(SHARED), self._name("v")
        value, own, number = self.value(code, self._depth), self._name("o"), self._number(0, SUB_GROUP - 1)
        group, scope, index, guard = "sub", "sub ", "", "True"
        kind = self._pick(["broadcast", "shift_left", "shift_right", "permute", "select"])
        here = "sub.get_local_id()"
        if kind == "broadcast":
            group, scope = self._scope()
            call, index = f"kapi.group_broadcast({group}, {own}, {number})", f"{number}"
        elif kind == "permute":
            call, index = f"kapi.permute_group_by_xor(sub, {own}, {number})", f"{here} ^ {number}"
        elif kind == "select":
            index = f"({here} + {number}) % {SUB_GROUP}"
            call = f"kapi.select_from_group(sub, {own}, {index})"
        else:
            sign = "+" if kind == "shift_left" else "-"
            index, guard = f"{here} {sign} {number}", f"0 <= {here} {sign} {number} < {SUB_GROUP}"
            call = f"kapi.shift_group_{kind.removeprefix('shift_')}(sub, {own}, {number})"
        self.write(f"{own} = {value}")
        self.write(f"{name} = {call}", f"{name} = yield '{scope}take', {own}, {index}")
        if guard != "True":
            self.write(f"if not ({guard}):")
            self.write(f"    {name} = {own}")
        return name, code

    def end(self) -> None:
        """Every variable goes to an output of its type."""
        for name, each in self.program.arrays.items():
            for variable in self._variables[each.code] if each.role == "output" and each.code != "?" else ():
                self.write(f"{name}[i] = {name}[i] * {name}.dtype.type(3) + {variable}")


@st.composite
def programs(draw: Any, depth: int = 2) -> Program:
    """A program whose expressions and blocks nest up to `depth` deep, of a few to some dozens of lines."""
    writer = _Writer(draw, depth)
    program = writer.program
    program.has_groups = draw(st.integers(0, 2)) == 0
    program.spaces = SPACES[draw(st.integers(0, len(SPACES) - 1))]
    first, second = (SHARED[draw(st.integers(0, len(SHARED) - 1))] for _ in range(2))
    program.tiles = (first, second)
    writer.declare()
    writer.define_constants()
    for _ in range(draw(st.integers(0, 2))):
        writer.define_function()
    functions = "\n".join(writer._lines)
    writer._lines, writer._plain = [], []
    writer.start()
    writer._may_return = not program.has_groups
    for _ in range(draw(st.integers(1, 2 * depth))):
        writer.leave_early()
        writer.statement(depth)
        if program.has_groups:
            writer.converge()
    writer.end()
    head = f"{functions}\ndef program(item, {', '.join(program.parameters)}):\n"
    program.source = head + "\n".join(writer._lines) + "\n"
    program.plain = head + "\n".join(writer._plain) + "\n    yield 'end', None\n"
    return program
