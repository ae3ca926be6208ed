"""Products of small matrices and vectors in the body of a loop, and other functions of matrices and vectors.

A product that is an array is made before the statement, in private memory. The elements of outer and cross products,
diagonals and identity matrices are computed where they are used.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from kapi_numba_offload.analysis.syntax import expression
from kapi_numba_offload.loops.body.functions import private_arrays
from kapi_numba_offload.loops.body.functions.combined_rows import combined
from kapi_numba_offload.loops.body.functions.row_calls import RowFunction
from kapi_numba_offload.loops.body.functions.row_reductions import dot_of_rows, total
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError, unsupported_option
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, Rows

__all__ = ["MATRIX_ROWS", "TRACE", "factors", "identity", "matrix_product", "product_rows"]

_SHORT = 64  # elements of a vector: longer ones are computed where they are used, for work-items to share


def factors(state: BodyState, node: ast.expr) -> tuple[Rows, Rows] | None:
    """The operands of a product of a matrix and a matrix or vector; None for other expressions."""
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            given = [left, right]
        case ast.Call(_, _, []) if state.called(node)[0] in ("dot", "matmul"):
            given = list(state.called(node)[1])
        case _:
            return None
    rows = [each for operand in given if (each := state.rows(operand)) is not None]
    is_known = len(rows) == len(given) == 2 and sorted(len(each.shape) for each in rows) in ([1, 2], [2, 2])
    return (rows[0], rows[1]) if is_known else None


def matrix_product(state: BodyState, node: ast.expr) -> ArrayPart | None:
    """The array that a product of a matrix and a matrix or vector is; None for other expressions."""
    given = factors(state, node)
    if given is None:
        return None
    left, right = given
    shape = (*left.shape[:-1], *right.shape[1:])
    if _is_long(state, shape):
        return None
    zeros: list[ast.expr] = [ast.Constant(0)] * 2
    one = combined(state, "multiply", [_row(left, zeros), _column(right, zeros)], node)
    room = Rows(shape, one.spelled, has_narrow_integers=one.has_narrow_integers)
    if one.mask is not None or not private_arrays.fits(state, room):
        raise NotInKernelError(f"a product of matrices, {ast.unparse(node)}", node)
    return private_arrays.filled(
        state, room, node, lambda at: dot_of_rows(state, [_row(left, at), _column(right, at)], node), sample=one.first
    )


def _is_long(state: BodyState, shape: Sequence[Extent]) -> bool:
    """Whether a product is a vector whose elements are computed where they are used."""
    return len(shape) == 1 and not 0 < (state.launch.most(shape[0].length) or 0) <= _SHORT


def product_rows(state: BodyState, node: ast.expr, *, are_stored: bool = False) -> Rows | None:
    """The elements of a product of a matrix and a vector that is long, or is stored; None for other expressions."""
    given = factors(state, node)
    if given is None:
        return None
    left, right = (each.elsewhere for each in given)
    shape = (*left.shape[:-1], *right.shape[1:])
    if not (len(shape) == 1 if are_stored else _is_long(state, shape)):
        return None
    is_nested = not are_stored and any(each.text.endswith("elsewhere") for row in given for each in row.reads)
    if is_nested or left.mask is not None or right.mask is not None:  # each element of one would be a product again
        raise NotInKernelError(f"a product of matrices, {ast.unparse(node)}", node)

    def element(at: Sequence[ast.expr]) -> ast.expr:
        index = [state.kept(at[0])]
        return dot_of_rows(state, [_row(left, index), _column(right, index)], node)

    is_narrow = left.has_narrow_integers and right.has_narrow_integers
    return Rows.of(shape, element, reads=left.reads | right.reads, has_narrow_integers=is_narrow)


def _row(matrix: Rows, at: Sequence[ast.expr]) -> Rows:
    """The row of the left factor for an element of the product; a vector as it is."""
    return matrix if len(matrix.shape) == 1 else matrix.rearranged(matrix.shape[1:], lambda k: [at[0], *k])


def _column(matrix: Rows, at: Sequence[ast.expr]) -> Rows:
    """The column of the right factor for an element of the product; a vector as it is."""
    return matrix if len(matrix.shape) == 1 else matrix.rearranged(matrix.shape[:1], lambda k: [*k, at[-1]])


def identity(state: BodyState, node: ast.Call) -> Rows | None:
    """The rows of an identity matrix; None for other calls."""
    if state.numpy_name(node) not in ("eye", "identity"):
        return None
    if len(node.args) != 1 or node.keywords or state.rows(node.args[0]) is not None:
        raise unsupported_option(node)
    extent = Extent(state.frozen(state.scalar(node.args[0])))
    return Rows.of((extent, extent), lambda at: expression(
        "kapi_np.float64(1 if ROW == COLUMN else 0)", ROW=at[0], COLUMN=at[1]))  # fmt: skip


def _diagonal(state: BodyState, matrix: Rows) -> Rows:
    least = expression("min(ROWS, COLUMNS)", ROWS=matrix.lengths[0], COLUMNS=matrix.lengths[1])
    return matrix.rearranged((Extent(state.frozen(least)),), lambda at: [at[0], at[0]])


def _of_two(make: Callable[[BodyState, Rows, Rows, ast.Call], Rows]) -> RowFunction[Rows | None]:
    """A function of two vectors; None is made of others."""

    def made(state: BodyState, rows: Rows, given: Mapping[str, ast.expr], node: ast.Call) -> Rows | None:
        other = state.rows(given["b"]) if "b" in given else None
        are_vectors = other is not None and other.mask is None and len(other.shape) == len(rows.shape) == 1
        return make(state, rows, other, node) if are_vectors and other is not None else None

    return RowFunction(made, ("b",))


def _outer(state: BodyState, left: Rows, right: Rows, node: ast.Call) -> Rows:
    column = left.rearranged((left.shape[0], Extent(ast.Constant(1), True)), lambda at: [at[0]])
    return combined(state, "multiply", [column, right.elsewhere], node)


def _raveled(state: BodyState, rows: Rows, given: Mapping[str, ast.expr], node: ast.Call) -> Rows | None:
    return None if state.is_put_off else _flattened(state, rows, given, node)  # it may be a view, which is stored to


def _flattened(state: BodyState, rows: Rows, given: Mapping[str, ast.expr], node: ast.Call) -> Rows:
    lengths = [state.frozen(each) for each in rows.lengths]
    size = private_arrays.size(rows)

    def index(at: Sequence[ast.expr]) -> list[ast.expr]:
        found, rest = list[ast.expr](), at[0]
        for length in reversed(lengths[1:]):
            found.append(expression("AT % LENGTH", AT=rest, LENGTH=length))
            rest = expression("AT // LENGTH", AT=rest, LENGTH=length)
        return [rest, *reversed(found)]

    return rows.rearranged((Extent(state.frozen(size)),), index)


def _cross(state: BodyState, left: Rows, right: Rows, node: ast.Call) -> Rows:
    if any(state.launch.number(each.shape[0].length) != 3 for each in (left, right)):
        raise NotInKernelError(f"`{ast.unparse(node)}` of vectors that are not known to have three elements", node)
    extent = Extent(ast.Constant(3), False)

    def shifted(row: Rows, by: int) -> Rows:
        return row.rearranged((extent,), lambda at: [expression("(AT + BY) % 3", AT=at[0], BY=by)])

    terms = [
        combined(state, "multiply", [shifted(left, one), shifted(right, other)], node)
        for one, other in ((1, 2), (2, 1))
    ]
    return combined(state, "subtract", terms, node)


MATRIX_ROWS: dict[str, RowFunction[Rows | None]] = {
    "outer": _of_two(_outer), "cross": _of_two(_cross),
    "diag": RowFunction(lambda state, rows, given, node: _diagonal(state, rows), rank=2),
    "flatten": RowFunction(_flattened), "ravel": RowFunction(_raveled),
}  # fmt: skip
"""The makers of rows by NumPy's names."""
TRACE = {"trace": RowFunction(lambda state, rows, given, node: total(state, _diagonal(state, rows), node), rank=2)}
