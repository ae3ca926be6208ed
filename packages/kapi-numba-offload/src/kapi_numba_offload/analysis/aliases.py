"""Whether a variable may be another name for memory that has one already."""

from __future__ import annotations

import ast

__all__ = ["has_aliases", "is_view", "returns_new_values"]

_VIEWS = frozenset(
    "array array_split asanyarray asarray ascontiguousarray asfortranarray astype atleast_1d atleast_2d atleast_3d "
    "broadcast_arrays broadcast_to diag diagonal dsplit expand_dims flip fliplr flipud hsplit imag matrix_transpose "
    "moveaxis nan_to_num permute_dims ravel real require reshape rollaxis rot90 sliding_window_view split squeeze "
    "swapaxes transpose trim_zeros unstack view vsplit".split()
)
"""Functions and methods that may return a view of what they are given, or that itself."""

_COUNTS = frozenset("range prange pndindex ndindex".split())
"""What gives indices, and no parts of arrays."""


def is_view(value: ast.expr) -> bool:
    """Whether the value of an expression may be an array that has another name, or part of one."""
    if isinstance(value, ast.Call):
        return _last_name(value.func) in _VIEWS
    return not isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Constant, ast.JoinedStr))


def has_aliases(node: ast.AST) -> bool:
    """Whether a statement may store to an array under another name than its parameter's."""
    return any(
        (
            isinstance(each, (ast.Assign, ast.AnnAssign))
            and each.value is not None
            and is_view(each.value)
            and not all(isinstance(target, ast.Subscript) for target in _targets(each))
        )
        or isinstance(each, (ast.NamedExpr, ast.With))
        or (isinstance(each, (ast.For, ast.comprehension)) and not _gives_indices(each.iter))
        for each in ast.walk(node)
    )


def returns_new_values(definition: ast.FunctionDef) -> bool:
    """Whether a function returns no array, nor part of one, that it was given or finds outside."""
    new = {each.arg: False for each in ast.walk(definition.args) if isinstance(each, ast.arg)}
    stores = {id(each): each.id for each in ast.walk(definition)
              if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}  # fmt: skip
    for each in ast.walk(definition):
        if isinstance(each, (ast.Assign, ast.AugAssign)):
            for target in _targets(each):
                name = stores.pop(id(target), None)
                if name is not None:
                    is_new = isinstance(each, ast.AugAssign) or not is_view(each.value)
                    new[name] = new.get(name, True) and is_new
    new.update(dict.fromkeys(stores.values(), False))
    returned = [each.value for each in ast.walk(definition) if isinstance(each, ast.Return) and each.value is not None]
    parts = [part for each in returned for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return all(new.get(each.id, False) if isinstance(each, ast.Name) else not is_view(each) for each in parts)


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _gives_indices(iterated: ast.expr) -> bool:
    if not isinstance(iterated, ast.Call):
        return False
    name = _last_name(iterated.func)
    return name in _COUNTS or (name in ("reversed", "enumerate", "zip") and all(map(_gives_indices, iterated.args)))


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]
