"""Expressions at random, each of a dtype that the writer knows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from random_kernels.program import CELLS, COMPLEX, DTYPES, EXACT, FLOATS, INTEGERS, SPREAD, Program

__all__ = ["Expressions"]

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
RANDOM = ("u4", "i8", "f4", "f8")  # dtypes that `kapi.random` gives


class Expressions:
    """Writes expressions; what is written depends on what is drawn alone.

    Python ints stay small, and complex numbers never become real ones. Expressions may divide integers by zero, where
    the simulator raises an error; the program says so.
    """

    def __init__(self, draw: Callable[[Any], Any], depth: int) -> None:
        self._draw = draw
        self._depth = depth
        self.program = Program()
        self._variables: dict[str, list[str]] = {code: [] for code in EXACT}
        self._weak = ["i"]
        self._readable: dict[str, str] = {}
        self._privates: list[tuple[str, str]] = []
        self._shapes: dict[str, tuple[str, tuple[int, ...]]] = {}  # parts of arrays, and constant arrays
        self._local_functions: list[tuple[str, tuple[str, ...], str]] = []
        self._functions: list[tuple[str, tuple[str, ...], str]] = []
        self._names = itertools.count()
        # A few dtypes a program, so that operations have values of one type.
        self._codes = sorted({self._pick(EXACT) for _ in range(3)} | {self._pick(SPREAD)})

    def _pick(self, options: Any) -> Any:
        # By number: hypothesis tells choices among methods apart by their addresses, which come and go.
        choices = list(options)
        return choices[self._number(0, len(choices) - 1)]

    def _number(self, low: int, high: int) -> int:
        return int(self._draw(st.integers(low, high)))

    def _name(self, prefix: str) -> str:
        return f"{prefix}{next(self._names)}"

    def weak(self, depth: int = 1) -> str:
        """A Python int from 0 to some hundreds."""
        if depth == 0 or self._number(0, 2) == 0:
            return self._pick([*self._weak, str(self._number(0, 9))])
        left, right = self.weak(depth - 1), self.weak(depth - 1)
        forms = [f"({left} + {right})", f"({left} * {self._number(1, 3)})", f"({left} % 7)", f"({left} // 2)"]
        forms += [f"({left} if {left} < {right} else {right})", f"max({left}, {right})", f"({left} & 5)"]
        forms += [f"(({left} - 5) // -3 % 11)", f"({left} % -7 + 7)", f"(({left} - 9) % 5)", f"int({left} > {right})"]
        return self._pick(forms)

    def index(self, size: int, depth: int) -> str:
        """An index below `size`: of Python ints, or of an integer of a dtype."""
        if depth and self._number(0, 3) == 0:
            value = self.value(self._pick(SPREAD), depth - 1)
            return self._pick([f"{value} % {size}", f"int({value} & {size - 1})"])
        return f"({self.weak()}) % {size}"

    def _element(self, name: str, depth: int) -> str:
        shape = self._shapes[name][1] if name in self._shapes else self.program.arrays[name].shape
        return f"{name}[{', '.join(self.index(size, depth) for size in shape)}]"

    def _leaf(self, code: str, depth: int = 0) -> str:
        options = [f"np.{DTYPES[code]}({self._literal(code)})"]
        options += self._variables[code]
        options += [self._element(name, depth) for name, each in self._readable.items() if each == code]
        options += [self._element(name, depth) for name, (each, _) in self._shapes.items() if each == code]
        options += [f"{name}[{self.index(CELLS, depth)}]" for name, each in self._privates if each == code]
        return self._pick(options[::-1])

    def _literal(self, code: str) -> str:
        if code in COMPLEX:
            return self._pick(["1j", "0.5", "2 - 1.5j", "-3j"])
        if code in FLOATS:
            return self._pick(["0.5", "2.0", "-1.25", "3.0", "0.1", "1e4"])
        return str(self._number(0 if code[0] == "u" else -5, 9))

    def value(self, code: str, depth: int) -> str:
        """An expression of exactly this dtype."""
        if depth == 0:
            return self._leaf(code)
        forms = [self._leaf, self._arithmetic, self._arithmetic, self._converted, self._chosen, self._unary]
        if code in INTEGERS:
            forms += [self._bitwise, self._divided, self._power, self._extreme, self._integer_function, self._bits]
        elif code in FLOATS:
            forms += [self._float_function, self._extreme, self._divided_floats]
        forms += [self._drawn] if code in RANDOM else []
        forms += [self._called] if any(each[2] == code for each in self._callable()) else []
        return self._pick(forms)(code, depth - 1)

    def _arithmetic(self, code: str, depth: int) -> str:
        operator = self._pick("+-*/" if code in FLOATS else "+-*")
        left = self.value(code, depth)
        wider = {"f8": ["i4", "f4", "i8"], "i8": ["i4", "u4", "u1"], "u8": ["u4", "u2"], "i4": ["i2", "u2", "u1"]}
        if code in wider and self._number(0, 3) == 0:
            return f"({left} {operator} {self.value(self._pick(wider[code]), depth)})"
        right = self._pick([self.value(code, depth), self._literal(code)])
        if code in ("i4", "i8", "f4", "f8") and self._number(0, 3) == 0:
            right = self.weak()
        return f"({left} {operator} {right})" if self._number(0, 1) else f"({right} {operator} {left})"

    def _bitwise(self, code: str, depth: int) -> str:
        operator = self._pick(["&", "|", "^", "<<", ">>"])
        left = self.value(code, depth)
        if operator in ("<<", ">>") and self._number(0, 1):
            return f"({left} {operator} {self._number(0, 70)})"
        return f"({left} {operator} {self.value(code, depth)})"

    def _divided(self, code: str, depth: int) -> str:
        operator = self._pick(["//", "%"])
        divisor = self.value(code, depth)
        if code[0] == "i" and self._number(0, 3) == 0:
            return f"({self.value(code, depth)} {operator} -{self._number(1, 9)})"
        if self._number(0, 3) == 0:
            self.program.may_divide_by_zero = True
            return f"({self.value(code, depth)} {operator} {divisor})"
        return f"({self.value(code, depth)} {operator} ({divisor} | 1))"

    def _divided_floats(self, code: str, depth: int) -> str:
        return f"({self.value(code, depth)} {self._pick(['//', '%'])} {self.value(code, depth)})"

    def _power(self, code: str, depth: int) -> str:
        exponent = self._pick([f"({self.value(code, depth)} & 7)", str(self._number(0, 9)), f"({self.weak()} % 5)"])
        return f"({self.value(code, depth)} ** {exponent})"

    def _extreme(self, code: str, depth: int) -> str:
        name = self._pick(["min", "max", "np.minimum", "np.maximum"])
        return f"{name}({self.value(code, depth)}, {self.value(code, depth)})"

    def _unary(self, code: str, depth: int) -> str:
        forms = ["(-{})", "(+{})"]
        if code in INTEGERS:
            forms += ["(~{})", "abs({})"]
        elif code in FLOATS:
            forms += ["abs({})", "abs({})"]
        else:
            forms += ["np.conjugate({})", "({} * 1j)"]
        return str(self._pick(forms)).format(self.value(code, depth))

    def _converted(self, code: str, depth: int) -> str:
        sources = [each for each in EXACT if each != code and (each not in COMPLEX or code in COMPLEX)]
        form = self._number(0, 7)
        if form == 0:
            return f"np.{DTYPES[code]}({self.condition(depth)})"
        if form == 1:
            return f"np.{DTYPES[code]}({self._pick(['bool', 'np.bool_'])}({self.value(self._pick(sources), depth)}))"
        if form == 2:
            return f"np.{DTYPES[code]}(int({self.value(self._pick(INTEGERS), depth)} & 63))"
        if form == 3 and code not in COMPLEX:
            return f"np.{DTYPES[code]}(float({self.value(self._pick(FLOATS), depth)}))"
        return f"np.{DTYPES[code]}({self.value(self._pick(sources), depth)})"

    def _chosen(self, code: str, depth: int) -> str:
        if self._number(0, 3) == 0:
            return f"({self.value(code, depth)}, {self.value(code, depth)})[{self._number(0, 1)}]"
        if self._number(0, 3) == 0:
            return f"np.where({self.condition(depth)}, {self.value(code, depth)}, {self.value(code, depth)})"
        return f"({self.value(code, depth)} if {self.condition(depth)} else {self.value(code, depth)})"

    def _float_function(self, code: str, depth: int) -> str:
        forms = ["np.sqrt(abs({}))", "np.floor({})", "np.ceil({})", "np.trunc({})", "np.rint({})", "np.square({})"]
        forms += ["np.fabs({})", "np.sign({})", "np.fmin({}, {})", "np.fmax({}, {})", "np.copysign({}, {})"]
        form = str(self._pick(forms))
        return form.format(*(self.value(code, depth) for _ in range(form.count("{}"))))

    def _integer_function(self, code: str, depth: int) -> str:
        forms = ["np.sign({})", "np.square({})", "np.left_shift({}, {})", "np.right_shift({}, {})", "np.gcd({}, {})"]
        form = str(self._pick([*forms, "np.bitwise_xor({}, {})", "np.add({}, {})"]))
        return form.format(*(self.value(code, depth) for _ in range(form.count("{}"))))

    def _bits(self, code: str, depth: int) -> str:
        forms = ["kapi.clz({})", "kapi.ctz({})", "kapi.popcount({})", "kapi.mul_hi({}, {})"]
        form = str(self._pick([*forms, f"kapi.rotate({{}}, {self._number(-70, 70)})", "kapi.rotate({}, {})"]))
        return form.format(*(self.value(code, depth) for _ in range(form.count("{}"))))

    def _drawn(self, code: str, depth: int) -> str:
        """A random number, from a seed and a counter that are weak or strong."""
        seed = self._pick([str(self._number(0, 2**62)), self.weak(), self.value(self._pick(SPREAD), 0)])
        key = f"{seed}, {self.weak()}"
        stream = self._pick(["", f", stream={self.weak()}", ", stream=i" if self._is_kernel else ", stream=5"])
        if code == "u4":
            return f"kapi.random.philox({key}{stream})[{self._number(0, 3)}]"
        if code == "i8":
            low = self._number(-9, 9)
            return f"np.int64(kapi.random.randint({key}, {low}, {low + self._number(1, 2**40)}{stream}))"
        return f"kapi.random.{self._pick(['uniform', 'normal'])}({key}{stream}, dtype=np.{DTYPES[code]})"

    def _callable(self) -> list[tuple[str, tuple[str, ...], str]]:
        return [*self._functions, *self._local_functions]

    def _called(self, code: str, depth: int) -> str:
        name, codes, _ = self._pick([each for each in self._callable() if each[2] == code])
        return f"{name}({', '.join(self.value(each, depth) for each in codes)})"

    def condition(self, depth: int = 1) -> str:
        """Something true or false."""
        kind = self._number(0, 9 if depth else 1)
        if kind >= 8:
            return self.guard()
        if kind == 6:
            code = self._pick(INTEGERS)
            return (
                f"{self.value(code, 1)} {self._pick(['in', 'not in'])} ({self.value(code, 0)}, {self.value(code, 0)})"
            )
        if kind == 7:
            first, second, third = (self.value(self._pick(INTEGERS[:6]), 0) for _ in range(3))
            return f"{first} {self._pick(COMPARISONS)} {second} {self._pick(COMPARISONS)} {third}"
        if kind == 0:
            return f"({self.weak()}) {self._pick(COMPARISONS)} {self.weak(0)}"
        if kind <= 2:
            code = self._pick([*self._codes, self._pick(EXACT)])
            other = self._pick([code, self._pick(EXACT)])
            is_ordered = not {code, other} & set(COMPLEX)
            return (
                f"{self.value(code, depth)} {self._pick(COMPARISONS[0 if is_ordered else 4 :])} {self.value(other, 0)}"
            )
        if kind == 3:
            return f"not ({self.condition(depth - 1)})"
        if kind == 4:
            code = self._pick(INTEGERS)
            return f"{self.value(code, 0)} {self._pick(COMPARISONS)} {self.value(code, 1)} < {self._literal(code)}"
        return f"({self.condition(depth - 1)}) {self._pick(['and', 'or'])} ({self.condition(depth - 1)})"

    def guard(self) -> str:
        """A condition on an id and a limit that may be negative, as work-items are kept from what is not theirs."""
        weak, bound = self._pick(self._weak), self._number(-9, 9)
        limits = [f"-{self._number(1, 70)}", f"({self._pick(self._weak)} - {self._number(0, 70)})"]
        limits += [f"(int({self.value(self._pick(SPREAD), 0)} & 127) - 64)", self.value(self._pick(("i4", "i8")), 0)]
        limit = self._pick(limits)
        forms = ["{limit} - {weak}", "{weak} - {limit}", "{weak} + {limit}", "{weak} * {limit}", "-{weak}"]
        forms += ["{weak} // -3", "{weak} % -5", "{weak}", "~{weak}", "({weak} - 5) * {limit}", "({weak} << 2)"]
        left = str(self._pick(forms)).format(weak=weak, limit=limit)
        right = self._pick([str(bound), limit])
        if self._number(0, 3) == 0:
            return f"{bound} {self._pick(COMPARISONS[:2])} {left} {self._pick(COMPARISONS[:2])} {right}"
        return f"{left} {self._pick(COMPARISONS)} {right}"
