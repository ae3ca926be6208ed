"""Equivalence of the dtypes that NumPy's rules and Numba's give the expressions of a function."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kapi_numba_offload._numba_compat import as_dtype, from_dtype, ufunc_find_matching_loop
from kapi_numba_offload.analysis.kinds import may_have_axes
from kapi_numba_offload.analysis.numpy_functions import elementwise, numpy_name
from kapi_numba_offload.analysis.operations import operator_operands
from kapi_numba_offload.analysis.scope import UNKNOWN
from kapi_numba_offload.analysis.syntax import indices_of
from kapi_numba_offload.partition.function_info import FunctionInfo
from kapi_numba_offload.partition.loop_plans.numba_equivalence import called_function

__all__ = ["LoopIntegers", "NumberType", "numba_dtypes"]

NumberType = np.dtype[Any] | type
"""The dtype of an array's elements or of a number; `int` and `float` for Python's numbers, which NumPy has take that of
the other operand, and Numba for 64 bits."""

_Value = NumberType | tuple[Any, ...]
_Sums = dict[ast.Call, tuple[str, ast.expr]]

_PYTHON = frozenset((int, float))  # no tuple: NumPy has dtypes equal to them
_64_BITS = {int: np.dtype("int64"), float: np.dtype("float64")}
_BOOL, _INT64, _FLOAT32, _FLOAT64 = map(np.dtype, ("bool", "int64", "float32", "float64"))
_HELD = frozenset(
    map(np.dtype, ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64"))
)
_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
_BITWISE = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor"))
_ARITHMETIC = frozenset(("add", "subtract", "multiply", "floor_divide", "remainder"))
_IN_RANGE = (
    _COMPARISONS
    | _BITWISE
    | {"maximum", "minimum", "fmax", "fmin", "remainder", "right_shift"}
    | {"isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not"}
)
"""Operations on integers whose results a type holds that holds the operands."""
_OF_EXTREMES = frozenset(("min", "max", "amin", "amax", "copy", "ravel", "flatten", "reshape", "transpose", "sort"))
_OF_SUMS = frozenset(("sum", "prod"))
_OF_MOMENTS = frozenset(("mean", "std", "var"))
_REWRITTEN = _OF_MOMENTS | {"sum"}
_OF_FLOATS = frozenset(("sqrt", "exp", "log", "sin", "cos", "tan", "fabs", "tanh", "atan", "atan2", "hypot"))
_TO_INTEGERS = frozenset(("floor", "ceil", "trunc"))
_LIKE = frozenset(("zeros_like", "ones_like", "empty_like"))
_NEW = frozenset(("zeros", "ones", "empty"))
_DEEPEST = 3  # calls of functions in functions


class _UnlikeError(Exception):
    """NumPy's rules and Numba's give an expression other dtypes, or that is not known."""


def numba_dtypes(
    facts: FunctionInfo, parameters: Mapping[str, NumberType]
) -> Mapping[ast.Call, tuple[str, ast.expr]] | None:
    """Whether NumPy's rules and Numba's give all expressions of a function the same dtypes, but for sums of float32.

    - `parameters`: the types of the parameters that are arrays or numbers.

    Returns these sums, which Numba rounds otherwise, with their names and what they are of; None for other dtypes.
    """
    sums: dict[ast.Call, tuple[str, ast.expr]] = {}
    try:
        _returned(facts, parameters, 0, sums)
    except _UnlikeError:
        return None
    return sums


class LoopIntegers:
    """Equivalence of the integers that NumPy and Numba have in a loop, for what it is given.

    - `given`: the names of what it is given.
    """

    def __init__(self, facts: FunctionInfo, loop: ast.stmt, given: Sequence[str]) -> None:
        self._facts, self._loop, self._given = facts, loop, given
        self._known: dict[tuple[_Value | None, ...], bool] = {}

    def are_alike(self, captured: Sequence[Any]) -> bool:
        """Whether integers of few bits, or without a sign, have the dtypes for Numba that they are to have."""
        key = tuple(map(_type_given, captured))
        if self._facts.numba_types or not any(
            isinstance(each, np.dtype) and each.kind in "iu" and each != _INT64 for each in key
        ):
            return True
        if key not in self._known:
            types = {name: each for name, each in zip(self._given, key, strict=True) if each is not None}
            self._known[key] = self._have_same_dtypes(types)
        return self._known[key]

    def _have_same_dtypes(self, types: Mapping[str, _Value]) -> bool:
        try:
            _read_until_known(_Reader(self._facts, dict(types), 0, None), [self._loop])
        except _UnlikeError:
            return False
        return True


def _type_given(value: Any) -> _Value | None:
    """The type of a value that a loop is given, None where it is neither an array nor a number."""
    if isinstance(value, tuple):
        members = tuple(map(_type_given, value))
        return None if None in members else members
    if isinstance(value, bool):
        return _BOOL
    dtype = getattr(value, "dtype", None)
    return dtype if isinstance(dtype, np.dtype) else type(value) if type(value) in _PYTHON else None


def _read_until_known(reader: _Reader, body: Sequence[ast.stmt]) -> None:
    """Read statements until no name gets another type: a loop's body may give it one for the next iteration."""
    known = None
    while known != reader.known:
        known = dict(reader.known)
        reader.block(body)


def _returned(
    facts: FunctionInfo, parameters: Mapping[str, NumberType], depth: int, sums: _Sums | None = None
) -> _Value | None:
    """The type of what a function returns, None for nothing."""
    if depth > _DEEPEST or not {each for each in parameters.values() if isinstance(each, np.dtype)} <= _HELD:
        raise _UnlikeError
    reader = _Reader(facts, dict(parameters), depth, sums)
    _read_until_known(reader, facts.definition.body)
    return reader.returned


class _Reader:
    """Reads the types of a function's expressions.

    - `known`: those of its names.
    - `sums`: sums of float32 that it has; None where there may be none.
    - `_held`: the expressions whose values a statement stores or returns.
    """

    def __init__(self, facts: FunctionInfo, known: dict[str, _Value], depth: int, sums: _Sums | None) -> None:
        self._facts, self.known, self._depth, self._sums = facts, known, depth, sums
        self.returned: _Value | None = None
        self._held: Sequence[ast.expr | None] = ()
        self._is_returned = False

    def block(self, body: Sequence[ast.stmt]) -> None:
        for each in body:
            self._statement(each)

    def _statement(self, node: ast.stmt) -> None:
        held = node.value if isinstance(node, (ast.Assign, ast.Return)) else None
        self._held, self._is_returned = (
            held.elts if isinstance(held, ast.Tuple) else [held],
            isinstance(node, ast.Return),
        )
        if isinstance(node, ast.Assign):
            value = self._of(node.value)
            for target in node.targets:
                self._assign(target, value)
        elif isinstance(node, ast.AugAssign):
            self._update(node)
        elif isinstance(node, ast.For) and self._facts.names.is_range(node.iter) and isinstance(node.iter, ast.Call):
            if not all(_wide(self._number(each)) == _INT64 for each in node.iter.args):
                raise _UnlikeError
            self._assign(node.target, int)
            self.block([*node.body, *node.orelse])
        elif isinstance(node, (ast.If, ast.While)):
            self._number(node.test)
            self.block([*node.body, *node.orelse])
        elif isinstance(node, ast.Return):
            if node.value is not None:
                value = self._of(node.value)
                self.returned = value if self.returned is None else _joined(self.returned, value)
        elif isinstance(node, ast.Expr):
            if not isinstance(node.value, ast.Constant):
                self._of(node.value)
        elif not isinstance(node, (ast.Pass, ast.Break, ast.Continue)):
            raise _UnlikeError

    def _assign(self, target: ast.expr, value: _Value) -> None:
        if isinstance(target, ast.Name):
            self.known[target.id] = _joined(self.known[target.id], value) if target.id in self.known else value
        elif isinstance(target, ast.Tuple):
            if not isinstance(value, tuple) or len(value) != len(target.elts):
                raise _UnlikeError
            for part, its_value in zip(target.elts, value, strict=True):
                self._assign(part, its_value)
        elif isinstance(target, ast.Subscript):
            _require_stored(self._number(target), value)
        else:
            raise _UnlikeError

    def _update(self, node: ast.AugAssign) -> None:
        name, _ = operator_operands(ast.BinOp(node.target, node.op, node.value)) or ("", [])
        self._held = ()  # the update's own operation is what is stored
        before, value = self._number(node.target), self._number(node.value)
        if may_have_axes(self._facts.kinds.target(node)):
            if self._of_arrays(node, name, (before, value)) != before:
                raise _UnlikeError
        elif isinstance(node.target, ast.Name):
            self._assign(node.target, _of_numbers(name, before, value))
        else:
            _require_stored(before, _of_numbers(name, before, value))

    def _number(self, node: ast.expr) -> NumberType:
        found = self._of(node)
        if isinstance(found, tuple):
            raise _UnlikeError
        return found

    def _of(self, node: ast.expr) -> _Value:
        if isinstance(node, ast.Tuple):
            return tuple(map(self._of, node.elts))
        if isinstance(node, ast.Constant):
            return _of_value(node.value)
        if isinstance(node, ast.Name) and node.id in self.known:
            return self.known[node.id]
        if isinstance(node, (ast.Name, ast.Attribute)) and self._facts.names.value(node) is not UNKNOWN:
            return _of_value(self._facts.names.value(node))
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.IfExp):
            self._number(node.test)
            return _joined(self._of(node.body), self._of(node.orelse))
        if isinstance(node, ast.BoolOp) and all(self._number(each) == _BOOL for each in node.values):
            return _BOOL
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return _of_product([self._number(node.left), self._number(node.right)])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._number(node.operand)
            return _BOOL
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
            return self._operation(node, operator_operands(node))
        if isinstance(node, ast.Call):
            return self._call(node)
        raise _UnlikeError

    def _operation(self, node: ast.expr, found: tuple[str, list[ast.expr]] | None) -> NumberType:
        if found is None:
            raise _UnlikeError
        name, operands = found
        given = tuple(map(self._number, operands))
        if any(may_have_axes(self._facts.kinds.kind(each)) for each in operands):
            return self._of_arrays(node, name, given)
        if len(given) == 1 and _is_wide(given[0]):
            return given[0]
        return _of_numbers(name, *given) if len(given) == 2 else _unlike()

    def _of_arrays(self, node: ast.AST, name: str, given: tuple[NumberType, ...]) -> np.dtype[Any]:
        """The dtype of an elementwise operation on arrays.

        Numba's integers have 64 bits until an array holds them: within an expression, and beyond names in parallel
        code. What overflows fewer bits must be stored or returned as it is.
        """
        result = _of_arrays(name, given)
        is_narrow = result.kind in "biu" and result.itemsize < _INT64.itemsize
        stays = name in _IN_RANGE or (name == "invert" and result.kind == "i")
        if is_narrow and not stays:
            is_held = isinstance(node, ast.AugAssign) or any(node is each for each in self._held)
            if not is_held or (self._facts.options.parallel and not self._is_returned):
                raise _UnlikeError
        return result

    def _attribute(self, node: ast.Attribute) -> _Value:
        owner = self._number(node.value)
        if node.attr == "shape":
            kind = self._facts.kinds.kind(node.value)
            return (int,) * (getattr(kind, "ndim", None) or 0)
        if node.attr not in ("size", "ndim", "T"):
            raise _UnlikeError
        return owner if node.attr == "T" else int

    def _subscript(self, node: ast.Subscript) -> _Value:
        owner = self._of(node.value)
        for index in indices_of(node):
            parts = (index.lower, index.upper, index.step) if isinstance(index, ast.Slice) else (index,)
            for each in parts:
                if each is not None and not (isinstance(each, ast.Constant) and each.value in (None, ...)):
                    self._number(each)
        if not isinstance(owner, tuple):
            return owner
        if not owner or any(each != owner[0] for each in owner):
            raise _UnlikeError
        found: _Value = owner[0]
        return found

    def _call(self, node: ast.Call) -> _Value:
        facts = self._facts
        function = facts.names.value(node.func)
        if function is UNKNOWN:
            if not isinstance(node.func, ast.Attribute):
                raise _UnlikeError
            return self._method(node.func.attr, node.func.value, node, node.args)
        name = numpy_name(function)
        if name is not None:
            return self._numpy_call(name, node)
        called = called_function(facts, node)
        if called is not None:
            return self._user_call(called[0], node)
        given = tuple(self._number(each) for each in node.args)
        if node.keywords or not given:
            raise _UnlikeError
        if function in (int, len):
            return int
        if function is float:
            return float
        if isinstance(function, type) and issubclass(function, np.generic):
            return _converted(given[0], np.dtype(function))
        if function in (min, max, abs):
            return _extreme(given)
        own_name = str(getattr(function, "__name__", ""))
        if own_name and getattr(math, own_name, None) is function:
            return _of_mathematics(own_name, given)
        raise _UnlikeError

    def _user_call(self, inner: FunctionInfo, node: ast.Call) -> _Value:
        names = inner.names.parameters
        if node.keywords or len(names) != len(node.args):
            raise _UnlikeError
        given = dict(zip(names, map(self._number, node.args), strict=True))
        found = _returned(inner, given, self._depth + 1)
        return _unlike() if found is None else found

    def _numpy_call(self, name: str, node: ast.Call) -> _Value:
        facts = self._facts
        if name in _NEW or name in _LIKE or name == "full":
            return self._new(name, node)
        if name == "arange":
            is_of_integers = not node.keywords and all(_wide(self._number(each)) == _INT64 for each in node.args)
            return _INT64 if is_of_integers else _unlike()
        if name == "dot" and len(node.args) == 2 and not node.keywords:
            return _of_product([*map(self._number, node.args)])
        if name == "where" and len(node.args) == 3 and self._number(node.args[0]) == _BOOL:
            left, right = map(self._number, node.args[1:])
            return left if left == right and isinstance(left, np.dtype) else _of_arrays("add", (left, right))
        found = elementwise(node, facts.names)
        if found is not None:
            given = tuple(map(self._number, found[1]))
            if not any(may_have_axes(facts.kinds.kind(each)) for each in found[1]):
                given = tuple(_wide(each) for each in given)
            return self._of_arrays(node, found[0], given)
        return self._method(name, node.args[0], node, node.args[1:]) if node.args else _unlike()

    def _method(self, name: str, owner: ast.expr, node: ast.Call, args: Sequence[ast.expr]) -> _Value:
        dtype = self._number(owner)
        for each in () if name == "astype" else args:
            self._of(each)
        if name == "astype" and len(args) == 1 and not node.keywords:
            wanted = self._facts.dtype(args[0])
            return _unlike() if wanted is None else _converted(dtype, wanted)
        if not isinstance(dtype, np.dtype) or not {each.arg for each in node.keywords} <= {"axis"}:
            raise _UnlikeError
        if name in _OF_EXTREMES:
            return dtype
        if dtype == _FLOAT32 and name in _REWRITTEN and self._sums is not None and not node.keywords and not args:
            self._sums[node] = name, owner
            return dtype
        if name in ("any", "all"):
            return _BOOL
        if name in ("argmin", "argmax", "argsort"):
            return _INT64
        if name in _OF_MOMENTS and dtype != _FLOAT32:
            return _FLOAT64
        if name in (*_OF_SUMS, "cumsum", "cumprod") and dtype != _FLOAT32:
            found: np.dtype[Any] = np.ones(1, dtype).sum().dtype
            return found
        raise _UnlikeError

    def _new(self, name: str, node: ast.Call) -> NumberType:
        words = {each.arg: each.value for each in node.keywords}
        first = self._of(node.args[0]) if node.args else _unlike()
        position = 2 if name == "full" else 1
        named = node.args[position] if len(node.args) > position else words.pop("dtype", None)
        if words or (name == "full" and len(node.args) < 2):
            raise _UnlikeError
        if named is not None:
            dtype = self._facts.dtype(named)
            if dtype is None and isinstance(named, ast.Attribute) and named.attr == "dtype":
                return self._number(named.value)
            return _unlike() if dtype is None or dtype not in _HELD else dtype
        if name in _LIKE:
            return _unlike() if isinstance(first, tuple) else first
        filled = self._number(node.args[1]) if name == "full" else float
        return _wide(filled)


def _unlike() -> Any:
    raise _UnlikeError


def _of_value(value: Any) -> NumberType:
    if isinstance(value, (bool, np.bool_)):
        return _BOOL
    if isinstance(value, (np.generic, np.ndarray)):
        return value.dtype if value.dtype in _HELD else _unlike()
    return type(value) if type(value) in (int, float) else _unlike()


def _wide(number: NumberType) -> np.dtype[Any]:
    """The dtype that Numba has for a number."""
    return number if isinstance(number, np.dtype) else _64_BITS[number]


def _is_integer(number: NumberType) -> bool:
    return number is int or (isinstance(number, np.dtype) and number.kind in "biu")


def _is_wide(number: NumberType) -> bool:
    """Whether it is a float, or an integer of 64 bits with a sign."""
    return number in _PYTHON or number in (_INT64, _FLOAT32, _FLOAT64)


def _joined(first: _Value, second: _Value) -> _Value:
    """The type of a name or an expression that has one of two."""
    if type(first) is type(second) and first == second:
        return first
    if isinstance(first, tuple) or isinstance(second, tuple):
        raise _UnlikeError
    wide = {each for each in (first, second) if each not in _PYTHON}
    if not wide:
        return float
    if wide == {_FLOAT64} or (wide == {_INT64} and float not in (first, second)):
        return wide.pop()
    raise _UnlikeError


def _of_arrays(name: str, given: tuple[NumberType, ...]) -> np.dtype[Any]:
    """The dtype of an elementwise operation's result, and of what it computes in."""
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc) or not {each for each in given if isinstance(each, np.dtype)} <= _HELD:
        raise _UnlikeError
    if name == "power" and _BOOL in given:
        raise _UnlikeError  # NumPy's depends on the exponent
    wide = [_wide(each) for each in given]
    try:
        of_numpy = ufunc.resolve_dtypes((*given, None))
        loop = ufunc_find_matching_loop(ufunc, [from_dtype(each) for each in wide])
    except TypeError:
        raise _UnlikeError from None
    if loop is None or len(of_numpy) != ufunc.nin + 1:
        raise _UnlikeError
    result = of_numpy[-1]
    of_numba = [*map(as_dtype, loop.inputs), as_dtype(loop.outputs[0])]
    if name in _COMPARISONS and all(map(_is_integer, given)) and of_numba[0].kind in "bi":
        return _BOOL  # whatever they are compared in
    return result if of_numba == [*of_numpy] and result in _HELD else _unlike()


def _of_numbers(name: str, left: NumberType, right: NumberType) -> NumberType:
    """The type of an operation on two numbers, whose integers are Numba's."""
    both = {left, right}
    if not {each for each in both if isinstance(each, np.dtype)} <= _HELD:
        raise _UnlikeError
    if name in _COMPARISONS:
        is_alike = _FLOAT32 not in both or both == {_FLOAT32}
        return _BOOL if is_alike else _unlike()
    if _is_integer(left) and _is_integer(right):
        if name in _BITWISE and both == {_BOOL}:
            return _BOOL
        if both == {_BOOL}:
            raise _UnlikeError
        if name == "divide":
            return float if both == {int} else _FLOAT64
        if both <= {int, _INT64}:
            return int if both == {int} else _INT64
        if name in _ARITHMETIC or name in _BITWISE:
            is_signed = any(each is int or (isinstance(each, np.dtype) and each.kind != "u") for each in both)
            return _INT64 if is_signed else _unlike()
        raise _UnlikeError
    if name in _BITWISE or name in ("left_shift", "right_shift"):
        raise _UnlikeError
    if both == {_FLOAT32}:
        return _FLOAT32
    if _FLOAT32 in both and _FLOAT64 not in both:
        raise _UnlikeError
    return float if both <= {int, float} else _FLOAT64


def _of_product(given: Sequence[NumberType]) -> NumberType:
    return given[0] if given[0] == given[1] and given[0] in (_FLOAT32, _FLOAT64) else _unlike()


def _of_mathematics(name: str, given: Sequence[NumberType]) -> NumberType:
    """The type of a function of `math`."""
    is_of_doubles = all(_is_wide(each) and each != _FLOAT32 for each in given)
    if name in _TO_INTEGERS:
        return int if is_of_doubles else _unlike()
    if name in _OF_FLOATS and all(each == _FLOAT32 for each in given):
        return _FLOAT32
    if not is_of_doubles or name not in _OF_FLOATS:
        raise _UnlikeError
    return float if _PYTHON.issuperset(given) else _FLOAT64


def _extreme(given: Sequence[NumberType]) -> NumberType:
    """The type of `min`, `max` or `abs`."""
    first = given[0]
    if all(each == first for each in given):
        return first if _is_wide(first) else _unlike()
    if all(map(_is_integer, given)):
        return _INT64
    return _FLOAT64 if all(each == _FLOAT64 for each in given) else _unlike()


def _converted(number: NumberType, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype to which both convert a number alike: integers of fewer bits do not hold all floats."""
    _require_stored(dtype, number)
    return dtype if dtype in _HELD else _unlike()


def _require_stored(dtype: NumberType, value: _Value) -> None:
    """Refuse a store of floats to integers of fewer bits."""
    if isinstance(value, tuple) or not isinstance(dtype, np.dtype):
        raise _UnlikeError
    if dtype.kind in "biu" and dtype != _INT64 and not _is_integer(value):
        raise _UnlikeError
