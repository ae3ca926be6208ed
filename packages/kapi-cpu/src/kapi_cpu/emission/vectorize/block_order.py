"""The order in which blocks are written: topological but for back edges, those of a loop next to each other."""

from __future__ import annotations

from kapi_cpu.emission.vectorize.divergence import Shapes
from kapi_lowering.emission.llvm_ir import Block, NaturalLoop

__all__ = ["BlockOrder", "Level", "Node"]

Node = Block | NaturalLoop
Level = NaturalLoop | None
"""A loop, or None for the function, of which blocks and loops within it are the nodes."""


class BlockOrder:
    """Nodes of each level, those that one dominates right behind it, and each behind those that lead to it.

    - `shapes`: of the function.
    - `nodes`: the nodes of each level.
    - `position`: the number of each block.
    """

    def __init__(self, shapes: Shapes) -> None:
        self.shapes, self.flow = shapes, shapes.flow
        self.position: dict[Block, int] = {}
        self.nodes: dict[Level, list[Node]] = {}
        self._number(None, shapes.function.entry)

    def _number(self, level: Level, first: Block) -> None:
        self.nodes[level] = self._nodes(level, first)
        for node in self.nodes[level]:
            if isinstance(node, NaturalLoop):
                assert node.header is not None
                self._number(node, node.header)
            else:
                self.position[node] = len(self.position)

    def _nodes(self, level: Level, first: Block) -> list[Node]:
        """The nodes of a level, those that one dominates right behind it, and each behind those that lead to it."""
        order = self._topological(level, first)
        children: dict[Node, list[Node]] = {node: [] for node in order}
        for node in order[1:]:
            block = node.header if isinstance(node, NaturalLoop) else node
            above = self.flow.dominators.parent[block]  # type: ignore[index]
            parent = self.node_at(level, above)  # type: ignore[arg-type]
            children[parent].append(node)  # type: ignore[index]
        compact: list[Node] = []
        pending = order[:1]
        while pending:
            node = pending.pop()
            compact.append(node)
            pending += reversed(children[node])
        return compact

    def _topological(self, level: Level, first: Block) -> list[Node]:
        seen: set[Node] = {first}
        order: list[Node] = []
        stack: list[tuple[Node, list[Block]]] = [(first, self._targets(first))]
        while stack:
            at, targets = stack[-1]
            while targets:
                target = targets.pop()
                following = self.node_at(level, target)
                if following is None or following in seen or (level is not None and target is level.header):
                    continue
                seen.add(following)
                stack.append((following, self._targets(following)))
                break
            else:
                order.append(at)
                stack.pop()
        return order[::-1]

    def _targets(self, node: Node) -> list[Block]:
        return [*node.exits] if isinstance(node, NaturalLoop) else [*self.flow.successors[node]]

    def node_at(self, level: Level, block: Block) -> Node | None:
        """The block, or the loop around it, that is a node of a level; None if it is outside of it."""
        node: Node = block
        loop = self.shapes.loop_of(block)
        while loop is not level:
            if loop is None:
                return None
            node, loop = loop, loop.parent
        return node

    def first(self, node: Node) -> int:
        """The position of the first block of a node."""
        block = node.header if isinstance(node, NaturalLoop) else node
        assert block is not None
        return self.position[block]
