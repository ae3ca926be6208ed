"""Everything of the table that gives a value: operators, Python's functions, those of `math`, `cmath` and NumPy."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from kapi_sim.language.table.intrinsics import rows
from kapi_types.kernel_typing.rules.operators import BINARY, COMPARISONS, UNARY

__all__ = ["OPERATIONS", "POWERS", "Operation"]

_SYMBOLS = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>", operator.neg: "-", operator.pos: "+", operator.invert: "~",
    **COMPARISONS,
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes
    ----------
    name : str
        Unique.
    form : str
        How it is written, with a field for each operand.
    arity : int
        Operands, 1 to 3.
    ulp : float
        Allowed error in units in the last place; 0 for what is exact.
    complex_ulp : float
        The same of complex operands.
    is_small : bool
        Whether operands have to be small: Python's ints have no end.
    least : float
        A size: of smaller results the allowed error is that of this one, where they are differences of larger numbers.
    plain : str
        How plain Python has it, where it is not `form`: what gives one of its operands has one type on the device.
    """

    name: str
    form: str
    arity: int
    ulp: float = 0.0
    complex_ulp: float = 0.0
    is_small: bool = False
    plain: str = ""
    least: float = 0.0

    @property
    def gives_an_operand(self) -> bool:
        """Whether the result is one of the operands, so that its type in Python depends on the values."""
        return bool(self.plain) and self.plain != _REAL_POWER

    @property
    def may_become_zero(self) -> bool:
        """Whether the sign of a zero is not defined: of two zeros either one is the larger."""
        return self.name.removeprefix("np.") in ("maximum", "minimum", "fmax", "fmin", "clip", "min", "max")

    @property
    def reads_sign(self) -> bool:
        """Whether the sign of nan shows, which is not defined of what is computed."""
        return self.name.split(".")[-1] in ("copysign", "signbit")


_POWERS, _COMPLEX, _COMPLEX_POWERS = 16.0, 16.0, 64.0  # an exponent times a logarithm is some hundred
POWERS = frozenset(("**", "pow", "np.power", "np.float_power"))
"""Names of operations whose errors grow with the exponent times the logarithm of the base."""
_UNBOUNDED = {"factorial", "comb", "perm", "power", "float_power", "left_shift", "pow", "lcm"}
_COMPOSED_ULP = {"power": 16.0, "float_power": 16.0, "logaddexp": 8.0, "logaddexp2": 8.0, "lgamma": 256.0, "log": 8.0}
_DIFFERENCES = {"logaddexp", "logaddexp2", "lgamma"}
_EXACT_OF_COMPLEX = {
    "add", "subtract", "negative", "positive", "conjugate", "where", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "maximum", "minimum", "fmax", "fmin", "clip", "isnan", "isinf", "isfinite",
    "logical_and", "logical_or", "logical_xor", "logical_not",
}  # fmt: skip
_REAL_POWER = "real_power({0}, {1})"
_PARTS = {"divmod": 2, "frexp": 2, "modf": 2, "polar": 2}


def _of_table() -> list[Operation]:
    made = []
    for owner, module in (("math", "math"), ("cmath", "cmath"), ("numpy", "np")):
        for row in rows(owner=owner):
            required = [each for each in row.parameters if each[2] is None]
            for count in range(len(required), len(row.parameters) + 1):
                fields = ", ".join(f"{{{n}}}" for n in range(count))
                ulp = row.ulp or _COMPOSED_ULP.get(row.name, 0.0)
                of_complex = 0.0 if row.name in _EXACT_OF_COMPLEX else _COMPLEX
                small = row.name in _UNBOUNDED
                for part in range(_PARTS.get(row.name, 1)):
                    last = f"[{part}]" if row.name in _PARTS else ""
                    name = f"{module}.{row.name}{last}" + ("" if count == len(required) else f"/{count}")
                    form = f"{module}.{row.name}({fields}){last}"
                    least = 1.0 if row.name in _DIFFERENCES else 0.0
                    made.append(Operation(name, form, count, ulp, of_complex, small, least=least))
    return made


def _of_python() -> list[Operation]:
    made = []
    for function in (*BINARY, *COMPARISONS):
        symbol = _SYMBOLS[function]
        of_complex = _COMPLEX_POWERS if symbol == "**" else _COMPLEX if symbol in "*/" else 0.0
        ulp = _POWERS if symbol == "**" else 0.0
        plain = _REAL_POWER if symbol == "**" else ""
        made.append(Operation(symbol, f"({{0}} {symbol} {{1}})", 2, ulp, of_complex, symbol in ("**", "<<"), plain))
    made += [Operation(f"{_SYMBOLS[function]}x", f"({_SYMBOLS[function]}{{0}})", 1) for function in UNARY]
    made += [
        Operation("not", "(not {0})", 1),
        *(
            Operation(name, form, 2, plain=f"one_of({form}, lambda: {{0}}, lambda: {{1}})")
            for name, form in (
                ("and", "({0} and {1})"),
                ("or", "({0} or {1})"),
                ("if-else", "({0} if c else {1})"),
                ("min", "min({0}, {1})"),
                ("max", "max({0}, {1})"),
            )
        ),
        Operation("chain", "({0} < {1} <= {0})", 2),
        Operation("tuple", "({0}, {1})[0]", 2),
        Operation("abs", "abs({0})", 1, 0.0, _COMPLEX),
        Operation("round", "round({0})", 1),
        Operation("round to digits", "round({0}, 1)", 1, 2.0),
        Operation("pow", "pow({0}, {1})", 2, _POWERS, _COMPLEX_POWERS, True, _REAL_POWER),
        Operation("divmod[0]", "divmod({0}, {1})[0]", 2),
        Operation("divmod[1]", "divmod({0}, {1})[1]", 2),
        *(Operation(f"{name}()", f"{name}({{0}})", 1) for name in ("bool", "int", "float", "complex")),
        Operation("complex(,)", "complex({0}, {1})", 2),
        Operation(".real", "({0}).real", 1),
        Operation(".imag", "({0}).imag", 1),
        Operation(".conjugate()", "({0}).conjugate()", 1),
        Operation(".bit_count()", "({0}).bit_count()", 1),
    ]
    names = ("bool_", *(f"{s}int{w}" for s in ("", "u") for w in (8, 16, 32, 64)))
    names += ("float16", "float32", "float64", "complex64", "complex128")
    return made + [Operation(f"np.{name}()", f"np.{name}({{0}})", 1) for name in names]


OPERATIONS: tuple[Operation, ...] = (*_of_python(), *_of_table())
"""All of them: a function that the table gains is here by itself."""
