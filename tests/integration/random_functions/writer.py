"""Writes a program: statements over full arrays, loops of each kind, branches, aliases, and what it returns."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from random_functions.program import Argument, Program

__all__ = ["written"]

DTYPES = ("float64", "float64", "float32", "int64", "int32")
SHAPES = ((5,), (5,), (5,), (4, 3), (4, 3), (1,), (0,), (1, 4), (3, 1), (2, 0))


@dataclass(frozen=True)
class Known:
    """Properties of a variable.

    `family` is that of the memory that an array may be part of, which no other memory is; `view` is the same for arrays
    that are surely the same view.
    """

    dtype: str
    shape: tuple[int, ...] = ()
    family: int = -1
    view: object = None
    is_number: bool = False


class Writer:
    """Draws from one generator; each method adds statements to the block at hand."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.program = Program(seed)
        self._lines = self.program.lines
        self._known: dict[str, Known] = {}
        self._count = 0
        self._families = 100
        self._is_nested = False

    # ------------------------------------------------------------------------------------------------- drawing

    def _chance(self, of: int) -> bool:
        return self._rng.randrange(of) == 0

    def _name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _new_family(self) -> int:
        self._families += 1
        return self._families

    def _arrays(self, **wanted: object) -> list[str]:
        """Variables that are arrays with these attributes."""
        return [
            name
            for name, each in self._known.items()
            if not each.is_number and all(getattr(each, key) == value for key, value in wanted.items())
        ]

    def _numbers(self, dtype: str) -> list[str]:
        return [name for name, each in self._known.items() if each.is_number and each.dtype == dtype]

    def _constant(self, dtype: str) -> str:
        if dtype.startswith("i"):
            return str(self._rng.choice([1, 2, 3, 5, -1, -2]))
        return str(self._rng.choice([0.5, 1.5, 2.0, -1.0, 0.25, 3, -2]))

    # --------------------------------------------------------------------------------------------- expressions

    def _leaf(self, dtype: str, shape: tuple[int, ...]) -> str:
        """An array that broadcasts to the shape, or a number."""
        rng = self._rng
        options: list[str] = []
        for name, each in self._known.items():
            if each.is_number or each.dtype != dtype:
                continue
            if each.shape == shape:
                options += [name] * 3
                if len(shape) == 1 and shape[0] > 1:
                    options.append(f"{name}[::-1]")
            elif len(each.shape) == 2 and each.shape[1:] == shape and each.shape[0]:
                options.append(f"{name}[{rng.randrange(-each.shape[0], each.shape[0])}]")
            elif len(shape) == 2 and (each.shape == shape[1:] or each.shape in ((1,), (1, shape[1]), (shape[0], 1))):
                options.append(name)
            elif each.shape == shape[::-1] and len(shape) == 2:
                options.append(f"{name}.T")
            elif len(each.shape) == 1 == len(shape) and each.shape[0] == shape[0] + 1:
                options += [f"{name}[1:]", f"{name}[:-1]"]
        other = self._arrays(shape=shape)
        if other and self._chance(6):
            name = rng.choice(other)
            if self._known[name].dtype != dtype and not (dtype.startswith("i") and self._known[name].dtype[0] == "f"):
                options.append(f"{name}.astype(np.{dtype})")
        numbers = self._numbers(dtype)
        if numbers and self._chance(3):
            return rng.choice(numbers)
        if options and not self._chance(5):
            return rng.choice(options)
        return self._constant(dtype)

    def _array(self, dtype: str, shape: tuple[int, ...]) -> str:
        """An array of exactly this shape, or an empty text."""
        found = self._arrays(dtype=dtype, shape=shape)
        return self._rng.choice(found) if found else ""

    def _value(self, dtype: str, shape: tuple[int, ...], depth: int = 2) -> str:
        """An expression of this dtype that has this shape, if an array of it is known."""
        rng = self._rng
        base = self._array(dtype, shape)
        if depth <= 0 or not base:
            return base or self._constant(dtype)
        one, other = self._value(dtype, shape, depth - 1 - rng.randrange(2)), self._leaf(dtype, shape)
        if rng.randrange(2):
            one, other = other, one
        form = rng.randrange(12)
        if form < 5:
            made = f"({one} {rng.choice('+-')} {other})"
        elif form < 6:
            made = f"(({one} * {other}) % 13)"
        elif form < 7:
            made = f"np.{rng.choice(['minimum', 'maximum'])}({one}, {other})"
        elif form < 8:
            made = f"np.where({one} {rng.choice(['<', '>', '>=', '=='])} {other}, {base}, {self._leaf(dtype, shape)})"
        elif form < 9:
            made = f"abs({one})"
        elif form < 10:
            made = f"-{one}"
        elif form < 11:
            made = f"grown({one})" if one in self._known and not self._known[one].is_number else f"({one} - {other})"
        else:
            made = f"np.{rng.choice(['flip', 'sort', 'copy'])}({one})" if one in self._arrays(shape=shape) and len(
                shape) == 1 else f"({one} + {other})"  # fmt: skip
        # Only one that names an array of the shape has it for sure.
        return made if base in made or one == base else f"({base} + {made})"

    def _element(self, dtype: str, index: str, length: int, loop_safe: list[str] | None = None) -> str:
        """A number: an element at an index, a variable or a constant."""
        rng = self._rng
        names = [name for name in self._arrays(dtype=dtype, shape=(length,)) if loop_safe is None or name in loop_safe]
        form = rng.randrange(6)
        if names and form < 4:
            return f"{rng.choice(names)}[{index}]"
        numbers = self._numbers(dtype)
        return rng.choice(numbers) if numbers and form < 5 else self._constant(dtype)

    def _scalar_value(self, parts: list[str], dtype: str) -> str:
        rng = self._rng
        made = parts[0]
        for each in parts[1:]:
            form = rng.randrange(6)
            if form < 3:
                made = f"({made} {rng.choice('+-')} {each})"
            elif form < 4:
                made = f"(({made} * {each}) % 7)"
            elif form < 5:
                made = f"{rng.choice(['min', 'max'])}({made}, {each})"
            else:
                made = f"clamped({made}, {each})"
        return made

    # ---------------------------------------------------------------------------------------------- statements

    def _block(self, head: str, fill: object, count: int | None = None) -> None:
        """A block of statements; what it makes is not known after it."""
        outer, known, nested = self._lines, dict(self._known), self._is_nested
        self._lines = [head]
        self._is_nested = True
        for _ in range(self._rng.randrange(1, 4) if count is None else count):
            fill()  # type: ignore[operator]
        outer.append(self._lines)
        changed = {name for name, each in self._known.items() if known.get(name) not in (None, each)}
        self._lines, self._is_nested = outer, nested
        # A variable that the block may have bound to other memory may be either afterwards.
        families = {self._known[name].family for name in changed} | {known[name].family for name in changed}
        self._known = known
        self._merge(families)

    def _merge(self, families: set[int]) -> None:
        if not families:
            return
        one = min(families)
        for name, each in self._known.items():
            if each.family in families and not each.is_number:
                self._known[name] = replace(each, family=one, view=object())

    def _pick_array(self) -> tuple[str, Known] | None:
        names = self._arrays()
        if not names:
            return None
        name = self._rng.choice(names)
        return name, self._known[name]

    def new_array(self) -> None:
        """A variable for an expression."""
        picked = self._pick_array()
        if picked is None:
            return
        _, known = picked
        same = self._arrays(dtype=known.dtype, shape=known.shape)
        rebinds = self._chance(3) or self._is_nested
        name = self._rng.choice(same) if rebinds else self._name("v")
        value = self._value(known.dtype, known.shape)
        if value in self._known:
            value = f"({value} + 1)"
        self._lines.append(f"{name} = {value}")
        self._bind(name, replace(known, family=self._new_family(), view=object()))

    def _bind(self, name: str, known: Known) -> None:
        self._known[name] = known

    def alias(self) -> None:
        """A second name for an array, or a view of it."""
        picked = self._pick_array()
        if picked is None:
            return
        name, known = picked
        rng = self._rng
        shape = known.shape
        if self._is_nested or self._chance(3):
            others = [each for each in self._arrays(dtype=known.dtype, shape=shape) if each != name]
            if not others:
                return
            target = rng.choice(others)
            if self._chance(2):
                self._lines.append(f"{target}, {name} = {name}, {target}")
                self._known[target], self._known[name] = self._known[name], self._known[target]
                return
            self._lines.append(f"{target} = {name}")
            self._bind(target, known)
            return
        forms: list[tuple[str, tuple[int, ...]]] = [("", shape), ("[:]", shape), ("[::-1]", shape)]
        if len(shape) == 1 and shape[0] > 1:
            forms += [("[1:]", (shape[0] - 1,)), ("[:-1]", (shape[0] - 1,)), ("[::2]", ((shape[0] + 1) // 2,)),
                      ("[-2::-1]", (shape[0] - 1,)), ("[-2:]", (2,))]  # fmt: skip
        if len(shape) == 2:
            forms += [(".T", shape[::-1]), ("[:, ::-1]", shape)]
            if shape[0]:
                forms += [("[0]", shape[1:]), ("[-1]", shape[1:])]
            if shape[1]:
                forms += [("[:, 0]", shape[:1]), ("[:, -1]", shape[:1])]
        text, made = rng.choice(forms)
        target = self._name("v")
        self._lines.append(f"{target} = {name}{text}")
        view = known.view if text in ("", "[:]") else (known.view, text)
        self._bind(target, replace(known, shape=made, view=view))

    def in_place(self) -> None:
        """An operator in place, of a whole array or a part."""
        picked = self._pick_array()
        if picked is None:
            return
        name, known = picked
        rng = self._rng
        shape, text = known.shape, name
        if len(shape) == 1 and shape[0] > 2 and self._chance(2):
            part, length = rng.choice([("[1:]", shape[0] - 1), ("[:-1]", shape[0] - 1), ("[::-1]", shape[0]),
                                       ("[::2]", (shape[0] + 1) // 2), ("[-1:0:-1]", shape[0] - 1)])  # fmt: skip
            text, shape = f"{name}{part}", (length,)
        elif len(shape) == 2 and self._chance(2):
            parts = [("[:, ::-1]", shape)] + ([("[-1]", shape[1:])] if shape[0] else [])
            part, shape = rng.choice(parts + ([("[:, 0]", shape[:1])] if shape[1] else []))
            text = f"{name}{part}"
        value = self._leaf(known.dtype, shape) if self._chance(2) else self._value(known.dtype, shape)
        if self._chance(3) and text != name:
            self._lines.append(f"{text} = {value}")
        elif self._chance(4):
            self._lines.append(f"{name}[:] = {self._value(known.dtype, known.shape)}")
        elif self._chance(6):
            self._lines.append(f"{text} %= 13")
        else:
            self._lines.append(f"{text} {rng.choice(['+=', '-='])} {value}")

    def number(self) -> None:
        """A variable for a number: an element, a reduction, a length, a constant."""
        rng = self._rng
        picked = self._pick_array()
        form = rng.randrange(5)
        if picked is None:
            return
        name, known = picked
        dtype, text = known.dtype, ""
        if form < 2 and 0 not in known.shape:
            at = ", ".join(str(rng.randrange(-length, length)) for length in known.shape)
            text = f"{name}[{at}]"
        elif form < 4 and dtype != "int32" and 0 not in known.shape:
            inner = self._value(dtype, known.shape, 1)
            text = f"np.{rng.choice(['sum', 'max', 'min'])}({inner})"
        elif form < 4 and dtype != "int32":
            text = f"np.sum({name})"
        else:
            return
        existing = self._numbers(dtype)
        if self._is_nested and not existing:
            return
        made = rng.choice(existing) if existing and (self._is_nested or self._chance(3)) else self._name("s")
        self._lines.append(f"{made} = {text}")
        self._bind(made, Known(dtype, is_number=True))

    def element_store(self) -> None:
        """One element, outside of a loop."""
        picked = self._pick_array()
        if picked is None or 0 in picked[1].shape:
            return
        name, known = picked
        at = ", ".join(str(self._rng.randrange(-length, length)) for length in known.shape)
        source, other = name, known
        value = f"{source}[{', '.join(str(self._rng.randrange(length)) for length in other.shape)}]"
        self._lines.append(f"{name}[{at}] {self._rng.choice(['=', '+='])} {value} + {self._constant(known.dtype)}")

    def axis_reduction(self) -> None:
        """A sum or extremum along an axis."""
        names = [name for name in self._arrays() if len(self._known[name].shape) == 2
                 and 0 not in self._known[name].shape and self._known[name].dtype != "int32"]  # fmt: skip
        if not names or self._is_nested:
            return
        name, axis = self._rng.choice(names), self._rng.randrange(2)
        known = self._known[name]
        target = self._name("v")
        inner = self._value(known.dtype, known.shape, 1)
        self._lines.append(f"{target} = np.{self._rng.choice(['sum', 'max', 'min'])}({inner}, axis={axis})")
        self._bind(target, Known(known.dtype, (known.shape[1 - axis],), self._new_family(), object()))

    def mutating_call(self) -> None:
        """A call that changes its argument, before or after it is read in the same expression."""
        picked = self._pick_array()
        if picked is None:
            return
        name, known = picked
        if self._chance(2):
            self._lines.append(f"shifted_in_place({name})")
            return
        same = self._arrays(dtype=known.dtype, shape=known.shape)
        target = self._rng.choice(same)
        parts = [f"{self._rng.choice(same)} - 1", f"shifted_in_place({name})", self._rng.choice(same)]
        self._rng.shuffle(parts)
        self._lines.append(f"{target} = {' + '.join(f'({each})' for each in parts)}")
        self._bind(target, replace(known, family=self._new_family(), view=object()))

    def tuple_(self) -> None:
        """Two arrays in a tuple, and one of them taken out of it."""
        names = self._arrays()
        if len(names) < 2 or self._is_nested:
            return
        one, other = self._rng.sample(names, 2)
        pair, target = self._name("t"), self._name("v")
        at = self._rng.randrange(2)
        self._lines += [f"{pair} = ({one}, {other})", f"{target} = {pair}[{at}]"]
        self._bind(target, self._known[(one, other)[at]])

    def _test(self) -> str:
        """A condition of numbers."""
        rng = self._rng
        numbers = [name for name, each in self._known.items() if each.is_number]
        names = [name for name in self._arrays() if 0 not in self._known[name].shape]
        if numbers and self._chance(2):
            return f"{rng.choice(numbers)} {rng.choice(['<', '>', '>='])} {rng.randrange(-3, 4)}"
        if not names:
            return rng.choice(["True", "False"])
        name = rng.choice(names)
        at = ", ".join(str(rng.randrange(length)) for length in self._known[name].shape)
        value = f"np.sum({name})" if self._chance(3) else f"{name}[{at}]"
        return f"{value} {rng.choice(['<', '>', '>='])} {rng.randrange(-3, 4)}"

    def branch(self) -> None:
        """A branch, some with an early return."""
        before = dict(self._known)
        self._block(f"if {self._test()}:", self.statement)
        if self._chance(4):
            self._lines[-1].append(f"return {self._result()}")
        elif self._chance(2):
            after, self._known = self._known, {**before}
            self._block("else:", self.statement)
            # Which of both was taken is not known.
            differing = {name for name in before if after.get(name) != self._known.get(name)}
            families = {each[name].family for each in (after, self._known, before) for name in differing}
            self._merge(families)

    def full_loop(self) -> None:
        """A plain loop over statements of full arrays."""
        counter = self._name("k")
        head = f"for {counter} in range({self._rng.randrange(4)}):"

        def fill() -> None:
            if self._chance(5):
                jump = self._rng.choice(["break", "continue", f"return {self._result()}"])
                self._lines.append([f"if {self._test()} and {counter} > 0:", jump])
            else:
                self.statement()

        # What the body binds is bound for its own start, too: two goes, of which the first is thrown away, would tell.
        self._merge({each.family for each in self._known.values() if not each.is_number})
        self._block(head, fill)
        if self._chance(4):
            self._block("else:", self.statement, 1)

    def host_loop(self) -> None:
        """A plain loop over elements, in which iterations depend on each other."""
        rng = self._rng
        names = [name for name in self._arrays() if len(self._known[name].shape) == 1
                 and self._known[name].dtype in ("float64", "int64")]  # fmt: skip
        if not names:
            return
        name = rng.choice(names)
        known = self._known[name]
        dtype, length, i = known.dtype, known.shape[0], self._name("i")
        total = rng.choice(self._numbers(dtype)) if self._numbers(dtype) else ""
        is_while = self._chance(3)
        if is_while:
            self._lines += [f"{i} = 0"]
        start = rng.randrange(2)

        def part(at: str) -> str:
            return self._element(dtype, at, length)

        def fill() -> None:
            form = rng.randrange(7)
            value = self._scalar_value([part(i), part(f"{i} - 1"), part(i)][: rng.randrange(1, 4)], dtype)
            if form < 3:
                self._lines.append(f"{name}[{i}] {rng.choice(['=', '+='])} {value}")
            elif form < 5 and total:
                self._lines.append(f"{total} {rng.choice(['+=', '-=', '='])} {value}")
            elif form < 6:
                leave = rng.choice(
                    ["break", f"return {i}", f"return {self._result()}", f"return {name}[{i}:]", "break"]
                )
                self._lines.append([f"if {part(i)} > {rng.randrange(-2, 6)}:", leave])
            elif not is_while:
                self._lines.append([f"if {part(i)} < {rng.randrange(-6, 2)}:", "continue"])

        self._block(f"while {i} < {length}:" if is_while else f"for {i} in range({start}, {length}):", fill)
        if is_while:
            self._lines[-1].append(f"{i} += 1")
        if self._chance(4) and not is_while:
            self._block("else:", self.statement, 1)
        elif self._chance(4) and length and not is_while:
            self._bind(i, Known("weak", is_number=True)) if start < length else None

    def filled_list(self) -> None:
        """A list that a plain loop over elements fills, and its length."""
        rng = self._rng
        names = [name for name in self._arrays() if len(self._known[name].shape) == 1]
        if not names or self._is_nested:
            return
        name = rng.choice(names)
        known = self._known[name]
        held, other, i, length = (self._name(each) for each in "lkin")
        filled = rng.choice([held, other])
        self._lines += [f"{held} = [{rng.choice(['', self._constant(known.dtype)])}]", f"{other} = {held}"]
        fills = [f"if {name}[{i}] > {rng.randrange(-3, 4)}:", f"{filled}.append({name}[{i}])"]
        self._lines.append([f"for {i} in range({known.shape[0]}):", fills])
        self._lines.append(f"{length} = len({held})")
        self._bind(length, Known("weak", is_number=True))

    def parallel_loop(self) -> None:
        """A `prange` loop in which an iteration stores to elements of its own."""
        rng = self._rng
        names = [name for name in self._arrays() if len(self._known[name].shape) == 1]
        if not names:
            return
        name = rng.choice(names)
        known = self._known[name]
        dtype, length, i = known.dtype, known.shape[0], self._name("i")
        # Of what may be other parts of the memory that is stored to, nothing is read: iterations have no order.
        reads = [
            each
            for each, other in self._known.items()
            if not other.is_number and (other.family != known.family or other.view == known.view)
        ]
        totals = [each for each in self._numbers(dtype) if dtype in ("float64", "int64")]
        total = rng.choice(totals) if totals and not self._chance(2) else ""
        outer_numbers = {each: self._known.pop(each) for each in ([total] if total else [])}
        operation = rng.choice(["+=", "max"])
        temporary = self._name("t")

        def part() -> str:
            return self._element(dtype, i, length, reads)

        def fill() -> None:
            form = rng.randrange(7)
            value = self._scalar_value([part() for _ in range(rng.randrange(1, 4))], dtype)
            if form < 3:
                self._lines.append(f"{name}[{i}] {rng.choice(['=', '+=', '-='])} {value}")
            elif form < 4 and total:
                self._lines.append(f"{total} += {value}" if operation == "+=" else f"{total} = max({total}, {value})")
            elif form < 5:
                self._lines.append([f"if {part()} > {rng.randrange(-3, 4)}:", f"{name}[{i}] = {value}"])
            elif form < 6:
                self._lines.append([f"if {part()} < {rng.randrange(-9, 0)}:", "continue"])
            else:
                j = self._name("j")
                inner = f"{name}[{i}] = {name}[{i}] {rng.choice('+-')} {value}"
                jump = [f"if {part()} > {rng.randrange(3)}:", rng.choice(["break", "continue"])]
                head = f"for {j} in {rng.choice(['range', 'prange'])}({rng.randrange(4)}):"
                self._lines.append([head, *([jump] if self._chance(2) else []), inner])

        self._lines.append(f"{temporary} = 0")
        self._block(f"for {i} in prange({length}):", fill)
        if self._chance(8) and not total:
            leave = rng.choice(["break", f"return {i}"])
            self._lines[-1].append([f"if {part()} > {rng.randrange(2, 6)}:", leave])
        self._known.update(outer_numbers)

    def shared_extrema(self) -> None:
        """A `prange` loop in which several iterations keep the larger, or the smaller, of an element and a number."""
        rng = self._rng
        names = [name for name in self._arrays() if len(self._known[name].shape) == 1 and self._known[name].shape[0]]
        if not names:
            return
        name = rng.choice(names)
        known = self._known[name]
        dtype, length, i = known.dtype, known.shape[0], self._name("i")
        reads = [
            each for each in self._arrays(dtype=dtype, shape=known.shape) if self._known[each].family != known.family
        ]
        function, sign = rng.choice([("max", ">"), ("min", "<")])
        element = f"{name}[{i} * {rng.choice([1, 2, 3])} % {length}]"

        def fill() -> None:
            value = f"{rng.choice(reads)}[{i} % {length}]" if reads and not self._chance(4) else self._constant(dtype)
            if self._chance(2):
                self._lines.append(f"{element} = {function}({element}, {value})")
            else:
                sides = rng.choice([f"{value} {sign} {element}", f"{element} {'<' if sign == '>' else '>'} {value}"])
                self._lines.append([f"if {sides}:", f"{element} = {value}"])

        self._block(f"for {i} in prange({length * rng.randrange(1, 4)}):", fill)

    def _is_argument_of(self, other: Known) -> bool:
        return False

    def parallel_rows(self) -> None:
        """A `prange` loop over rows."""
        rng = self._rng
        names = [name for name in self._arrays() if len(self._known[name].shape) == 2]
        if not names:
            return
        name = rng.choice(names)
        known = self._known[name]
        rows, columns = known.shape
        dtype, i, j = known.dtype, self._name("i"), self._name("j")
        reads = [
            each
            for each, other in self._known.items()
            if not other.is_number
            and other.dtype == dtype
            and other.shape == known.shape
            and (other.family != known.family or other.view == known.view)
        ]
        vectors = [each for each, other in self._known.items() if not other.is_number and other.dtype == dtype
                   and other.shape == (columns,) and other.family != known.family]  # fmt: skip

        def row() -> str:
            if vectors and self._chance(3):
                return rng.choice(vectors)
            return f"{rng.choice(reads)}[{i}]"

        def fill() -> None:
            form = rng.randrange(9)
            if form == 6:
                each = self._name("r")
                head = f"for {each} in ({row()}, {row()}, {name}[{i}]):"
                self._lines.append([head, f"{name}[{i}] = {name}[{i}] {rng.choice('+-')} {each}"])
            elif form == 7:
                held = self._name("p")
                self._lines += [
                    f"{held} = {row()}, {rng.randrange(9)}, {name}[{i}]",
                    f"{held}[2][:] += {held}[0] - {held}[1]",
                ]
            elif form == 8:
                self._lines.append(f"np.{rng.choice(['add', 'subtract', 'maximum'])}({row()}, {row()}, {name}[{i}])")
            elif form < 2:
                self._lines.append(f"{name}[{i}] {rng.choice(['=', '+=', '-='])} {row()} + {row()}")
            elif form < 3:
                self._lines.append(f"{name}[{i}] = np.maximum({row()}, {row()}) - {self._constant(dtype)}")
            elif form < 4 and columns:
                self._lines.append(f"{name}[{i}, {rng.randrange(-columns, columns)}] = {row()}.max()")
            elif form < 5:
                value = f"{name}[{i}, {j}] + {rng.choice(reads)}[{i}, {j}]"
                self._lines.append([f"for {j} in range({columns}):", f"{name}[{i}, {j}] = {value}"])
            else:
                temporary = self._name("t")
                if columns > 1:
                    self._lines.append(f"{name}[{i}, 1:] = {rng.choice(reads)}[{i}, :-1] + {self._constant(dtype)}")
                else:
                    self._lines += [f"{temporary} = {row()} * 2", f"{name}[{i}, :] = {temporary} % 11"]

        self._block(f"for {i} in prange({rows}):", fill)

    def statement(self) -> None:
        """Any statement; blocks nest twice at most."""
        forms = [
            self.new_array, self.new_array, self.alias, self.alias, self.in_place, self.in_place, self.in_place,
            self.number, self.number, self.element_store, self.axis_reduction, self.mutating_call, self.tuple_,
            self.parallel_loop, self.host_loop, self.parallel_rows, self.filled_list, self.shared_extrema,
            self.parallel_rows,
        ]  # fmt: skip
        if not self._is_nested:
            forms += [self.branch, self.full_loop]
        self._rng.choice(forms)()

    def _result(self) -> str:
        """Write the return statement."""
        rng = self._rng
        parts = []
        for _ in range(rng.randrange(1, 4)):
            picked = self._pick_array()
            numbers = [name for name, each in self._known.items() if each.is_number]
            form = rng.randrange(4)
            if picked is None or (numbers and form == 0):
                parts.append(rng.choice(numbers) if numbers else "3")
            elif form == 1:
                parts.append(picked[0])
            else:
                parts.append(self._value(picked[1].dtype, picked[1].shape))
        return ", ".join(parts)

    def write(self) -> Program:
        """The entire program."""
        rng = self._rng
        for family in range(rng.randrange(1, 4)):
            dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
            if family and self._chance(2):
                first = next(iter(self.program.arguments.values()))
                dtype, shape = first.dtype, first.shape
            for _ in range(rng.choice([1, 1, 2, 3])):
                name = self._name("a")
                self.program.arguments[name] = Argument(dtype, shape, family)
                self._known[name] = Known(dtype, shape, family, object())
        for _ in range(rng.randrange(3)):
            kind = rng.choice(["int", "float", "float64", "float32", "int32", "int64"])
            name = self._name("n")
            self.program.scalars[name] = kind
            if kind not in ("int", "float"):
                self._known[name] = Known(kind, is_number=True)
        for _ in range(rng.randrange(3, 10)):
            self.statement()
        self._lines.append(f"return {', '.join([self._result(), *self._positions()])}")
        return self.program

    def _positions(self) -> list[str]:
        """Positions of extrema and scans that are returned, too, by draws of their own: the rest of a seed stays."""
        self._rng = random.Random(f"{self.program.seed} positions")
        parts = []
        for _ in range(self._rng.randrange(3)):
            picked = self._pick_array()
            if picked is None or 0 in picked[1].shape:
                continue
            shape = picked[1].shape
            axis = f", axis={self._rng.randrange(2)}" if len(shape) == 2 and self._chance(2) else ""
            name = self._rng.choice(["argmin", "argmax", "cumsum"])
            if name == "cumsum" and (axis or picked[1].dtype == "int32"):
                continue
            parts.append(f"np.{name}({self._value(picked[1].dtype, shape, 1)}{axis})")
        return parts


def written(seed: int) -> Program:
    """The program of a seed."""
    return Writer(seed).write()
