"""Functions of Python's and NumPy's that numba.cuda's compiler has, in any of its releases; it refuses others.

References
----------
numba-cuda's manual, "Supported Python features in CUDA Python"; completed by what the compilers of Numba 0.68 and
numba-cuda 0.30 take.
"""

from __future__ import annotations

__all__ = ["BUILTINS", "CMATH", "INSTEAD", "MATH", "NUMPY", "OPERATOR", "REFUSED_BUILTINS"]

BUILTINS = frozenset(
    "abs all any bool breakpoint complex divmod enumerate filter float getattr hasattr int isinstance iter len max min "
    "next ord pow print range round slice sum tuple type zip".split()
) - {"all", "any", "getattr"}
"""Of Python's own."""

REFUSED_BUILTINS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("list", "sorted"), ("list-in-kernel", "kernels have no lists: use a tuple, or cuda.local.array")),
    "dict": ("dict-in-kernel", "kernels have no dicts: use tuples or arrays"),
    **dict.fromkeys(("set", "frozenset"), ("set-in-kernel", "kernels have no sets: use tuples or arrays")),
    **dict.fromkeys(
        ("str", "repr", "format", "ascii", "bin", "hex", "oct", "chr", "bytes", "bytearray", "input"),
        ("text-in-kernel", "kernels make no strings: give print() constant strings and numbers one by one"),
    ),
    **dict.fromkeys(("all", "any", "map", "reversed"), ("function-unknown", "write a loop")),
}
"""Of Python's own that are often tried, with the code and the words of what is said of them."""

MATH = frozenset(
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp exp2 expm1 fabs floor "
    "fmod frexp gamma hypot isfinite isinf isnan ldexp lgamma log log10 log1p log2 modf nextafter pow radians "
    "remainder sin sinh sqrt tan tanh trunc".split()
)
"""Of `math`."""

CMATH = frozenset(
    "acos acosh asin asinh atan atanh cos cosh exp isfinite isinf isnan log log10 phase polar rect sin sinh "
    "sqrt tan tanh".split()
)
"""Of `cmath`."""

OPERATOR = frozenset(
    "add and_ contains eq floordiv ge getitem gt iadd iand ifloordiv ilshift imod imul invert ior ipow irshift "
    "is_ is_not isub itruediv ixor le lshift lt mod mul ne neg not_ or_ pos pow rshift sub truediv truth xor".split()
)
"""Of `operator`."""

NUMPY = frozenset(
    "acos acosh all angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin array_equal "
    "asarray asin asinh atan atan2 atanh atleast_1d atleast_2d atleast_3d average bitwise_and bitwise_invert "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor broadcast_shapes conj conjugate "
    "cos cosh count_nonzero deg2rad degrees divide dsplit dtype equal finfo fmax fmin greater greater_equal "
    "hypot iinfo imag invert iscomplexobj isnan isrealobj isscalar left_shift less less_equal log log10 log2 "
    "logical_and logical_not logical_or logical_xor maximum mean minimum nan_to_num nanmean nanprod nanstd "
    "nansum nanvar ndenumerate ndindex nditer not_equal prod rad2deg radians real right_shift searchsorted "
    "shape sin sinc sinh size std sum tan tanh true_divide var vsplit".split()
)
"""Of NumPy."""

INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        "add floor_divide mod multiply negative positive power remainder square subtract".split(), "write the operator"
    ),
    **dict.fromkeys(("abs", "absolute"), "write abs(x)"),
    **dict.fromkeys(("clip",), "write min(max(x, low), high)"),
    **dict.fromkeys(("where",), "write `x if condition else y`"),
    **dict.fromkeys(
        "arange array copy empty empty_like full full_like linspace ones ones_like zeros zeros_like".split(),
        "use cuda.local.array",
    ),
    **dict.fromkeys("cumsum dot einsum inner matmul max min outer vdot".split(), "write a loop"),
}
"""The replacements of functions of NumPy's that are missing."""
