"""The part of the tree transformation that makes arithmetic what a device computes."""

from __future__ import annotations

import ast

__all__ = ["ArithmeticRewriter"]

_RING = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.LShift)
_GROWING = (ast.Mult, ast.Pow, ast.LShift)
_DIVISIONS: dict[type[ast.operator], str] = {ast.FloorDiv: "_kapi_floor_divide", ast.Mod: "_kapi_remainder"}


class ArithmeticRewriter(ast.NodeTransformer):
    """Puts calls of `kapi_sim.arithmetic` where Python's own operators would not do.

    Parameters
    ----------
    is_checked : bool
        Whether every weak integer result is looked at, or those of ``* ** <<`` only.

    Attributes
    ----------
    has_changed : bool
        Whether the tree differs from the source.
    """

    def __init__(self, is_checked: bool) -> None:
        self._is_checked = is_checked
        self._temporaries = 0
        self.has_changed = False

    def _call(self, name: str, arguments: list[ast.expr], node: ast.AST) -> ast.Call:
        self.has_changed = True
        function = ast.copy_location(ast.Name(name, ast.Load()), node)
        return ast.copy_location(ast.Call(function, arguments, []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if self._is_checked and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            return self._call("_kapi_ring", [node], node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if _may_divide_by_zero(node.op, node.right):
            return self._call(_DIVISIONS[type(node.op)], [self.visit(node.left), self.visit(node.right)], node)
        if isinstance(node.op, _RING):
            needs_look = self._needs_look(node)
            self._visit_chain(node)
            return self._call("_kapi_ring", [node], node) if needs_look else node
        self.generic_visit(node)
        return node

    def _visit_chain(self, node: ast.BinOp) -> None:
        """Visit a chain of ring operations: wrapping its end wraps its inner results as well."""
        for side in ("left", "right"):
            operand = getattr(node, side)
            is_inner = isinstance(operand, ast.BinOp) and isinstance(operand.op, _RING)
            # An exponent or a shift count is no ring operand: it has to be right by itself.
            if is_inner and not (side == "right" and isinstance(node.op, (ast.Pow, ast.LShift))):
                self._visit_chain(operand)
            else:
                setattr(node, side, self.visit(operand))

    def _needs_look(self, node: ast.expr) -> bool:
        """Tell whether a chain of ring operations may leave 64 bits and has to be looked at."""
        operations: list[ast.operator] = []
        pending: list[ast.expr] = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, ast.BinOp) and isinstance(part.op, _RING):
                operations.append(part.op)
                pending += [part.left, part.right]
            elif part is not node and isinstance(part, ast.Constant) and isinstance(part.value, (float, str)):
                return False
        return self._is_checked or any(isinstance(operation, _GROWING) for operation in operations)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.value = self.visit(node.value)
        # An index that left 64 bits is out of bounds anyway: its end needs no look of its own.
        node.slice = self._index(node.slice)
        return node

    def _index(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(element) for element in node.elts]
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, _RING):
            self._visit_chain(node)
            return node
        made: ast.expr = self.visit(node)
        return made

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:
        is_division = _may_divide_by_zero(node.op, node.value)
        target = node.target
        if isinstance(target, ast.Name) and (is_division or isinstance(node.op, _RING)):
            read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            return ast.copy_location(ast.Assign([target], self.visit(value)), node)
        if isinstance(target, ast.Subscript) and is_division:
            # The array and the index are evaluated once, as Python does.
            array, index = self._temporary(target.value), self._temporary(target.slice)
            place = [
                ast.copy_location(ast.Subscript(_load(array), _load(index), ctx), target)
                for ctx in (ast.Load(), ast.Store())
            ]
            result = self._call(_DIVISIONS[type(node.op)], [place[0], self.visit(node.value)], node)
            return [
                ast.copy_location(ast.Assign([array], self.visit(target.value)), node),
                ast.copy_location(ast.Assign([index], self._index(target.slice)), node),
                ast.copy_location(ast.Assign([place[1]], result), node),
            ]
        self.generic_visit(node)
        return node

    def _temporary(self, node: ast.expr) -> ast.Name:
        self._temporaries += 1
        return ast.copy_location(ast.Name(f"_kapi_{self._temporaries}", ast.Store()), node)


def _may_divide_by_zero(operation: ast.operator, right: ast.expr) -> bool:
    if type(operation) not in _DIVISIONS:
        return False
    return not (isinstance(right, ast.Constant) and isinstance(right.value, (int, float)) and right.value != 0)


def _load(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)
