"""Products of small matrices and vectors in the body of a loop, and other functions of matrices and vectors.

A product that is an array is made before the statement, in private memory. The elements of outer and cross products,
diagonals and identity matrices are computed where they are used.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from kapi_numba_offload.analysis.syntax import expression, index_of, statements
from kapi_numba_offload.loops.body.functions import private_arrays
from kapi_numba_offload.loops.body.functions.combined_rows import combined
from kapi_numba_offload.loops.body.functions.row_reductions import dot_of_rows, total
from kapi_numba_offload.loops.body.state import BodyState, NotInKernelError, unsupported_option
from kapi_numba_offload.loops.body.views import ArrayPart, Extent, Rows

__all__ = ["factors", "matrix_product", "matrix_rows", "product_rows", "trace"]

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
    made = private_arrays.like(state, room, node, sample=one.first)
    if one.has_narrow_integers:
        state.wide.discard(made)

    def store(at: list[ast.expr]) -> list[ast.stmt]:
        number = dot_of_rows(state, [_row(left, at), _column(right, at)], node)
        return statements("ARRAY[AT] = X", ARRAY=made, AT=index_of(at), X=number)

    state.put_loops(shape, node, store)
    return private_arrays.full_part(state, made, shape)


def _is_long(state: BodyState, shape: Sequence[Extent]) -> bool:
    """Whether a product is a vector whose elements are computed where they are used."""
    return len(shape) == 1 and not 0 < (state.launch.most(shape[0].length) or 0) <= _SHORT


def product_rows(state: BodyState, node: ast.expr) -> Rows | None:
    """The elements of a long product of a matrix and a vector; None for other expressions."""
    given = factors(state, node)
    if given is None:
        return None
    left, right = (each.elsewhere for each in given)
    shape = (*left.shape[:-1], *right.shape[1:])
    if not _is_long(state, shape):
        return None
    is_nested = any(each.text.endswith("elsewhere") for row in given for each in row.reads)
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


def trace(state: BodyState, node: ast.expr) -> ast.expr | None:
    """The number that `numpy.trace` gives of a matrix; None for other expressions."""
    if not isinstance(node, ast.Call):
        return None
    name, operands = state.called(node)
    rows = state.rows(operands[0]) if name == "trace" and len(operands) == 1 and not node.keywords else None
    return None if rows is None or len(rows.shape) != 2 else total(state, _diagonal(state, rows), node)


def matrix_rows(state: BodyState, node: ast.Call) -> Rows | None:
    """The rows of a function of matrices or vectors that are computed where they are used; None for other calls."""
    name, operands = state.called(node)
    if name in ("eye", "identity") and state.numpy_name(node) is not None:
        if len(operands) != 1 or node.keywords or state.rows(operands[0]) is not None:
            raise unsupported_option(node)
        extent = Extent(state.frozen(state.scalar(operands[0])))
        return Rows.of((extent, extent), lambda at: expression(
            "kapi_np.float64(1 if ROW == COLUMN else 0)", ROW=at[0], COLUMN=at[1]))  # fmt: skip
    make, count = _MADE.get(name or "", (None, 0))
    if make is None or len(operands) != count or node.keywords:
        return None
    rows = [each for operand in operands if (each := state.rows(operand)) is not None]
    if len(rows) != count or any(each.mask is not None for each in rows):
        return None
    return make(state, rows, node)


def _diagonal(state: BodyState, matrix: Rows) -> Rows:
    least = expression("min(ROWS, COLUMNS)", ROWS=matrix.lengths[0], COLUMNS=matrix.lengths[1])
    return matrix.rearranged((Extent(state.frozen(least)),), lambda at: [at[0], at[0]])


def _of_diagonal(state: BodyState, rows: Sequence[Rows], node: ast.Call) -> Rows | None:
    return _diagonal(state, rows[0]) if len(rows[0].shape) == 2 else None


def _outer(state: BodyState, rows: Sequence[Rows], node: ast.Call) -> Rows | None:
    if any(len(each.shape) != 1 for each in rows):
        return None
    left, right = rows
    column = left.rearranged((left.shape[0], Extent(ast.Constant(1), True)), lambda at: [at[0]])
    return combined(state, "multiply", [column, right.elsewhere], node)


def _raveled(state: BodyState, rows: Sequence[Rows], node: ast.Call) -> Rows | None:
    return None if state.is_put_off else _flattened(state, rows, node)  # it may be a view, which is stored to


def _flattened(state: BodyState, rows: Sequence[Rows], node: ast.Call) -> Rows | None:
    lengths = [state.frozen(each) for each in rows[0].lengths]
    size = private_arrays.size(rows[0])

    def index(at: Sequence[ast.expr]) -> list[ast.expr]:
        found, rest = list[ast.expr](), at[0]
        for length in reversed(lengths[1:]):
            found.append(expression("AT % LENGTH", AT=rest, LENGTH=length))
            rest = expression("AT // LENGTH", AT=rest, LENGTH=length)
        return [rest, *reversed(found)]

    return rows[0].rearranged((Extent(state.frozen(size)),), index)


def _cross(state: BodyState, rows: Sequence[Rows], node: ast.Call) -> Rows | None:
    if any(len(each.shape) != 1 or state.launch.number(each.shape[0].length) != 3 for each in rows):
        raise NotInKernelError(f"`{ast.unparse(node)}` of vectors that are not known to have three elements", node)
    extent = Extent(ast.Constant(3), False)

    def shifted(row: Rows, by: int) -> Rows:
        return row.rearranged((extent,), lambda at: [expression("(AT + BY) % 3", AT=at[0], BY=by)])

    left, right = rows
    terms = [
        combined(state, "multiply", [shifted(left, one), shifted(right, other)], node)
        for one, other in ((1, 2), (2, 1))
    ]
    return combined(state, "subtract", terms, node)


_MADE: dict[str, tuple[Callable[[BodyState, Sequence[Rows], ast.Call], Rows | None], int]] = {
    "outer": (_outer, 2), "cross": (_cross, 2), "diag": (_of_diagonal, 1), "flatten": (_flattened, 1),
    "ravel": (_raveled, 1),
}  # fmt: skip
"""The makers of rows by NumPy's names, and the number of their operands."""
