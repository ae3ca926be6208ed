"""Small vectors: tuples of numbers of one type, whose operators and functions work element by element.

On each element an operator does what it does on a number in a kernel, so vectors have no rules of their own. They are
the same in a kernel, in a function that is tested on the host, as arguments and as constants.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import KernelCompilationError
from kapi_sim.items.undefined_values import Undefined
from kapi_sim.language.integers import as_plain
from kapi_sim.language.promotion import common_float, operand_of_class, scalar_class, unify
from kapi_sim.language.table.row import VECTOR_LENGTHS
from kapi_sim.numbers.arithmetic import checked_ring
from kapi_sim.numbers.attributes import called
from kapi_sim.numbers.builtin_functions import BUILTINS, shared_type
from kapi_sim.numbers.choices import ARRAY_FUNCTIONS
from kapi_sim.numbers.operator_functions import FUNCTIONS
from kapi_sim.short_repr import short_repr

__all__ = ["Vec", "cross", "distance", "dot", "elementwise", "length", "normalize", "of_elements"]

_NUMBERS = (int, float, complex, np.generic)
_getframe = sys._getframe


def _in_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """The operator, as it is in a kernel."""
    return FUNCTIONS.get(function, BUILTINS.get(function, function))


def of_elements(function: Callable[..., Any], *operands: Any) -> Vec:
    """Return the vector of what `function` gives for each element; an operand that is a number goes with all of them.

    Raises `KernelCompilationError` if two vectors have different lengths; `TypeError` if an operand is neither a vector
    nor a number, or the function has several results.
    """
    size = 0
    for each in operands:
        if each.__class__ is Vec:
            if size and len(each) != size:
                raise KernelCompilationError(
                    f"vectors of one operation must have as many elements as each other, got {size} and {len(each)}",
                    code="vector-lengths",
                )
            size = len(each)
        elif isinstance(each, (tuple, np.ndarray)):
            raise TypeError(f"a vector does not go with {short_repr(each)}")
    positions = range(size)
    made = tuple.__new__(
        Vec, [function(*[each[k] if each.__class__ is Vec else each for each in operands]) for k in positions]
    )
    if isinstance(made[0], tuple):
        raise TypeError("a function of several results takes no vector")
    return made


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, of numbers, for vectors as well."""

    @functools.wraps(function)
    def of_either(*operands: Any) -> Any:
        for each in operands:
            if each.__class__ is Vec:
                return of_elements(function, *operands)
        return function(*operands)

    return of_either


def _binary(function: Callable[[Any, Any], Any]) -> Any:
    """The method of an operator, and that of a vector on its right."""
    applied = _in_kernel(function)
    return (
        lambda left, right: of_elements(applied, left, right),
        lambda right, left: of_elements(applied, left, right),
    )


def _unary(function: Callable[[Any], Any]) -> Any:
    applied = _in_kernel(function)
    return lambda value: of_elements(applied, value)


class Vec(tuple[Any, ...]):
    """A vector of 2, 3, 4, 8 or 16 numbers of one type, which works element by element.

    It is a tuple: it has a length and elements, may be unpacked, passed, returned and gone over, and never changes.
    Operators, `abs`, and functions of `math` and NumPy give the vector of what they give for each element; a number
    goes with all elements. Comparisons give a vector of bools, for `any`, `all` and `numpy.where`.

    `v.x`, `v.y`, `v.z` and `v.w` are the first elements, and several letters are the vector of these: `v.zyx`.

    Parameters
    ----------
    *elements : number, bool or Vec
        The elements; a vector stands for its own. All are converted to the type that holds them all: weak numbers stay
        weak among each other.

    Raises
    ------
    KernelCompilationError
        If there are not 2, 3, 4, 8 or 16 elements, or one is no number.

    Examples
    --------
    >>> v = Vec(1.0, 2.0, 3.0)
    >>> 2 * v + v.zyx
    Vec(5.0, 6.0, 7.0)
    >>> v > 1.5, any(v > 1.5), dot(v, v)
    (Vec(False, True, True), True, 14.0)
    >>> Vec(v.xy, 0.5, 1)
    Vec(1.0, 2.0, 0.5, 1.0)
    """

    __slots__ = ()

    _fields = ("x", "y", "z", "w")
    """As named tuples have them: what takes a tuple apart for a launch makes it of its members again."""

    def __new__(cls, *elements: Any) -> Vec:
        given = [each for part in elements for each in (part if part.__class__ is Vec else (as_plain(part),))]
        for each in given:
            if each.__class__ is Undefined:
                raise each.fail("as an element of a Vec")
            if not isinstance(each, _NUMBERS):
                raise KernelCompilationError(
                    f"an element of a Vec must be a number or bool, got {short_repr(each)}", code="vector-element"
                )
        _require_length(len(given), "a Vec")
        kinds = tuple(map(type, given))
        if len(set(kinds)) > 1:
            is_strong = any(issubclass(kind, np.generic) for kind in kinds)
            kind = scalar_class(unify(*map(operand_of_class, kinds)))
            given = list(map(shared_type(kinds) if is_strong else kind, given))
        return tuple.__new__(cls, map(checked_ring, given))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"Vec({', '.join(map(repr, self))})"

    def __getattr__(self, name: str) -> Any:
        letters = ["xyzw".find(letter) for letter in name]
        if not 1 <= len(letters) <= 4 or not all(0 <= k < len(self) for k in letters):
            raise AttributeError(f"a Vec of {len(self)} elements has no {name!r}", name=name, obj=self)
        return self[letters[0]] if len(letters) == 1 else Vec(*(self[k] for k in letters))

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Vec(*found) if index.__class__ is slice else found

    @staticmethod
    def load(array: Any, index: int | tuple[int, ...], n: int) -> Vec:
        """Return the vector of the first `n` elements along an array's last axis.

        Parameters
        ----------
        array : array
            In any memory: global, local or private.
        index : int or tuple of int
            The index of the vector, along all axes but the last.
        n : int
            2, 3, 4, 8 or 16; a constant.

        Raises
        ------
        KernelCompilationError
            If `n` is no length of vectors, or the index has not one integer for each axis but the last.
        OutOfBoundsError
            In the simulator, if the index lies outside, or the last axis is shorter.

        Examples
        --------
        >>> Vec.load(np.arange(6.0).reshape(2, 3), 1, 3)
        Vec(np.float64(3.0), np.float64(4.0), np.float64(5.0))
        """
        frame, position = _getframe(1), _leading(array, index)
        _require_length(n, "a Vec")
        take = getattr(array, "take_out", None)
        return Vec(*(take((*position, k), frame) if take else array[(*position, k)] for k in range(n)))

    def store(self, array: Any, index: int | tuple[int, ...]) -> None:
        """Write the elements to the first ones along an array's last axis, converted to its dtype.

        Parameters
        ----------
        array : array
            In any memory: global, local or private.
        index : int or tuple of int
            The index of the vector, along all axes but the last.

        Raises
        ------
        KernelCompilationError
            If the index has not one integer for each axis but the last.
        OutOfBoundsError
            In the simulator, if the index lies outside, or the last axis is shorter.
        """
        frame, position = _getframe(1), _leading(array, index)
        put = getattr(array, "put_in", None)
        for k, element in enumerate(self):
            if put:
                put((*position, k), element, frame)
            else:
                array[(*position, k)] = element

    def astype(self, dtype: Any, /) -> Vec:
        """Return the vector with each element converted to one of NumPy's types."""
        kind = dtype.type if isinstance(dtype, np.dtype) else dtype
        if not (isinstance(kind, type) and issubclass(kind, np.generic)):
            raise KernelCompilationError(
                f"astype() must be given a NumPy type in a kernel, got {short_repr(dtype)}", code="call-arguments"
            )
        return of_elements(called(kind), self)

    def __bool__(self) -> bool:
        raise KernelCompilationError(
            f"a condition must be a number or bool, got {self!r}: write any(...) or all(...)", code="array-as-condition"
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        """Apply a function of NumPy's, or the operator of a number of NumPy's on the left."""
        if method != "__call__" or options:
            raise TypeError(f"numpy.{ufunc.__name__} takes vectors only as arguments of a call")
        # NumPy makes an array without axes of its number.
        numbers = (each[()] if isinstance(each, np.ndarray) and not each.ndim else each for each in operands)
        return of_elements(_OF_UFUNC.get(ufunc, ufunc), *numbers)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Apply `numpy.where` or `numpy.clip`; other functions of arrays take the vector as a tuple."""
        of_numbers = ARRAY_FUNCTIONS.get(function)
        if of_numbers is None:
            return function._implementation(*args, **options)
        if options:
            raise TypeError(f"numpy.{function.__name__} takes vectors only as arguments without names")
        return elementwise(of_numbers)(*args)

    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod)
    __pow__, __rpow__ = _binary(operator.pow)
    __and__, __rand__ = _binary(operator.and_)
    __or__, __ror__ = _binary(operator.or_)
    __xor__, __rxor__ = _binary(operator.xor)
    __lshift__, __rlshift__ = _binary(operator.lshift)
    __rshift__, __rrshift__ = _binary(operator.rshift)
    __eq__, _ = _binary(operator.eq)
    __ne__, _ = _binary(operator.ne)
    __lt__, _ = _binary(operator.lt)
    __le__, _ = _binary(operator.le)
    __gt__, _ = _binary(operator.gt)
    __ge__, _ = _binary(operator.ge)
    __neg__ = _unary(operator.neg)
    __pos__ = _unary(operator.pos)
    __invert__ = _unary(operator.invert)
    __abs__ = _unary(abs)
    __hash__ = tuple.__hash__
    del _

    def __divmod__(self, other: Any) -> tuple[Vec, Vec]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Vec, Vec]:
        return other // self, other % self


_OF_UFUNC: dict[np.ufunc, Callable[..., Any]] = {
    ufunc: _in_kernel(function)
    for ufunc, function in {
        np.add: operator.add,
        np.subtract: operator.sub,
        np.multiply: operator.mul,
        np.divide: operator.truediv,
        np.floor_divide: operator.floordiv,
        np.remainder: operator.mod,
        np.power: operator.pow,
        np.left_shift: operator.lshift,
        np.less: operator.lt,
        np.less_equal: operator.le,
        np.greater: operator.gt,
        np.greater_equal: operator.ge,
        np.equal: operator.eq,
        np.not_equal: operator.ne,
    }.items()
}
"""The operators by the function of NumPy's that a NumPy number as the left operand of a vector calls."""


def _require_length(given: Any, subject: str) -> None:
    if given not in VECTOR_LENGTHS:
        raise KernelCompilationError(
            f"{subject} must have 2, 3, 4, 8 or 16 elements, got {short_repr(given)}", code="vector-length"
        )


def _leading(array: Any, index: Any) -> tuple[Any, ...]:
    """The index of a vector, as a tuple."""
    if not getattr(array, "ndim", 0):
        raise KernelCompilationError(
            f"array must be one whose last axis has the elements of a vector, got {short_repr(array)}",
            code="vector-array",
        )
    leading = index if isinstance(index, tuple) else (index,)
    if len(leading) != array.ndim - 1:
        raise KernelCompilationError(
            f"index of a vector must have {array.ndim - 1} integers, one for each axis but the last, "
            f"got {len(leading)}",
            code="too-many-indices",
        )
    return leading


def _require_vectors(name: str, *given: Any) -> None:
    if not all(each.__class__ is Vec for each in given):
        raise KernelCompilationError(
            f"{name}() must be given vectors, got {', '.join(map(short_repr, given))}", code="vector-missing"
        )


def dot(v: Vec, w: Vec) -> Any:
    """Return the sum of the products of the elements, added from the first to the last.

    Parameters
    ----------
    v, w : Vec
        Vectors of one length.

    Examples
    --------
    >>> dot(Vec(1, 2, 3), Vec(4, 5, 6))
    32
    """
    _require_vectors("dot", v, w)
    return functools.reduce(FUNCTIONS[operator.add], v * w)


def cross(v: Vec, w: Vec) -> Vec:
    """Return the vector at right angles to two vectors of three elements.

    Parameters
    ----------
    v, w : Vec
        Vectors of three elements.

    Examples
    --------
    >>> cross(Vec(1, 0, 0), Vec(0, 1, 0))
    Vec(0, 0, 1)
    """
    _require_vectors("cross", v, w)
    if len(v) != 3 or len(w) != 3:
        raise TypeError(f"cross() must be given vectors of three elements, got {len(v)} and {len(w)}")
    a, b, c = v
    d, e, f = w
    return Vec(*(Vec(b, c, a) * Vec(f, d, e) - Vec(c, a, b) * Vec(e, f, d)))


def length(v: Vec) -> Any:
    """Return the square root of the sum of the squares of the elements, a float.

    Parameters
    ----------
    v : Vec

    Examples
    --------
    >>> length(Vec(3.0, 4.0))
    5.0
    """
    _require_vectors("length", v)
    square = dot(v, v)
    of_square: type = type(square)
    kind = scalar_class(common_float(operand_of_class(of_square)))
    return kind(math.sqrt(square))


def distance(v: Vec, w: Vec) -> Any:
    """Return the length of the difference of two vectors, a float.

    Parameters
    ----------
    v, w : Vec
        Vectors of one length.

    Examples
    --------
    >>> distance(Vec(1, 1), Vec(4, 5))
    5.0
    """
    _require_vectors("distance", v, w)
    return length(v - w)


def normalize(v: Vec) -> Vec:
    """Return the vector divided by its length: of length 1, or all nan for a vector of zeros.

    Parameters
    ----------
    v : Vec

    Examples
    --------
    >>> normalize(Vec(3.0, 4.0))
    Vec(0.6, 0.8)
    """
    _require_vectors("normalize", v)
    return of_elements(_in_kernel(operator.truediv), v, length(v))
