"""The control-flow graph of a function: edges, orders, dominators, and loops. Each is of the moment it was made in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from .instructions import Block, Instruction
from .module import Function
from .values import IRValue

__all__ = ["ControlFlow", "DominatorTree", "NaturalLoop", "loops_of", "postorder"]

_Edges = Mapping[Block, Iterable[Block]]


def postorder(starts: Iterable[Block], edges: _Edges, within: set[Block] | None = None) -> list[Block]:
    """The blocks that are reached from some along edges, each after those that it leads to."""
    seen: set[Block] = set()
    order: list[Block] = []
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        pending: list[tuple[Block, Iterator[Block]]] = [(start, iter(edges[start]))]
        while pending:
            block, following = pending[-1]
            for each in following:
                if each not in seen and (within is None or each in within):
                    seen.add(each)
                    pending.append((each, iter(edges[each])))
                    break
            else:
                order.append(block)
                pending.pop()
    return order


class ControlFlow:
    """The edges between blocks, looked at once.

    - `successors`, `predecessors`: the blocks that a block leads to, and those that lead to it, each once.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.successors = {block: [*dict.fromkeys(block.successors)] for block in function.blocks}
        self.predecessors: dict[Block, list[Block]] = {block: [] for block in function.blocks}
        for block, targets in self.successors.items():
            for target in targets:
                self.predecessors[target].append(block)

    @cached_property
    def position(self) -> dict[Block, int]:
        """The number of each block in the function."""
        return {block: number for number, block in enumerate(self.function.blocks)}

    @cached_property
    def reverse_postorder(self) -> list[Block]:
        """The blocks that are reached, each before those that it leads to but by back edges."""
        return postorder([self.function.entry], self.successors)[::-1]

    @cached_property
    def dominators(self) -> DominatorTree:
        """The dominator tree, from the entry."""
        return DominatorTree([self.function.entry], self.successors, self.predecessors)

    @cached_property
    def post_dominators(self) -> DominatorTree:
        """The post-dominator tree, from the exits."""
        exits = [block for block, targets in self.successors.items() if not targets]
        return DominatorTree(exits, self.predecessors, self.successors)

    @cached_property
    def loops(self) -> list[NaturalLoop]:
        """All loops, an outer one before those within it."""
        return loops_of(self)


class DominatorTree:
    """The dominator tree of a graph, by Cooper, Harvey and Kennedy's algorithm.

    Parameters
    ----------
    roots : list of Block
        Where paths begin: the entry, or for post-dominators all exits.
    edges, reverse : mapping of Block to Block
        Where paths lead, and from where they come.

    Attributes
    ----------
    parent : dict of Block to Block or None
        The immediate dominator; None of a root, or where only all roots together dominate. Blocks that no path comes
        to have no entry.

    References
    ----------
    K. Cooper, T. Harvey, K. Kennedy, "A Simple, Fast Dominance Algorithm", 2001.
    """

    def __init__(self, roots: list[Block], edges: _Edges, reverse: _Edges) -> None:
        self.order = postorder(roots, edges)[::-1]
        number = {block: position for position, block in enumerate(self.order, 1)}  # 0 is in front of all roots
        above = [0] * (len(self.order) + 1)
        known = [False] * (len(self.order) + 1)
        known[0] = True
        starts = set(roots)
        changed = True
        while changed:
            changed = False
            for position, block in enumerate(self.order, 1):
                found = 0 if block in starts else -1
                for each in reverse[block]:
                    other = number.get(each, -1)
                    if found != 0 and other > 0 and known[other]:
                        found = other if found < 0 else _common(above, found, other)
                if not known[position] or above[position] != found:
                    above[position], known[position], changed = found, True, True
        self.parent = {
            block: self.order[above[position] - 1] if above[position] else None
            for position, block in enumerate(self.order, 1)
        }

    def dominates(self, block: Block, other: Block) -> bool:
        """Whether a block dominates another one, or is it. Every block dominates one that no path comes to."""
        if other not in self._subtrees:
            return True
        if block not in self._subtrees:
            return False
        return self._subtrees[other][0] in range(*self._subtrees[block])

    @cached_property
    def _subtrees(self) -> dict[Block, tuple[int, int]]:
        """The number of each block in a preorder walk of the tree, and the one behind those of its subtree."""
        sizes: dict[Block | None, int] = dict.fromkeys(self.order, 1)
        sizes[None] = 0
        for block in reversed(self.order):
            sizes[self.parent[block]] += sizes[block]
        following: dict[Block | None, int] = {None: 0}
        found = {}
        for block in self.order:
            start = following[self.parent[block]]
            following[self.parent[block]] += sizes[block]
            following[block] = start + 1
            found[block] = start, start + sizes[block]
        return found

    def is_available(self, value: IRValue, user: Instruction) -> bool:
        """Whether a value is there where an instruction stands, so that it may use it (phis use at the edge's end)."""
        if not isinstance(value, Instruction):
            return True
        assert value.block is not None
        assert user.block is not None
        if value.block is user.block:
            instructions = value.block.instructions
            return instructions.index(value) < instructions.index(user)
        return self.dominates(value.block, user.block)

    @cached_property
    def children(self) -> dict[Block, list[Block]]:
        """The blocks of which each is the immediate dominator."""
        found: dict[Block, list[Block]] = {block: [] for block in self.order}
        for block, up in self.parent.items():
            if up is not None:
                found[up].append(block)
        return found


def _common(above: list[int], one: int, other: int) -> int:
    """The nearest common dominator of two blocks."""
    while one != other:
        while one > other:
            one = above[one]
        while other > one:
            other = above[other]
    return one


class NaturalLoop:
    """A loop: a natural one, or a cycle of blocks that is entered at several blocks.

    - `header`: the block by which it is entered; None if there are several.
    - `blocks`: all its blocks, those of inner loops among them.
    - `parent`: the loop around it.
    - `inner`: the loops in it, without those in these.
    """

    def __init__(self, header: Block | None, blocks: set[Block], parent: NaturalLoop | None, flow: ControlFlow) -> None:
        self.header, self.blocks, self.parent = header, blocks, parent
        self.inner: list[NaturalLoop] = []
        self._flow = flow

    @property
    def depth(self) -> int:
        """The nesting depth, 1 for an outermost loop."""
        return 1 if self.parent is None else self.parent.depth + 1

    @property
    def own_blocks(self) -> set[Block]:
        """Its blocks without those of inner loops."""
        return self.blocks.difference(*(each.blocks for each in self.inner))

    @property
    def entering(self) -> list[Block]:
        """The blocks outside that lead in."""
        sources = (each for block in self.blocks for each in self._flow.predecessors[block])
        return [*dict.fromkeys(each for each in sources if each not in self.blocks)]

    @property
    def latches(self) -> list[Block]:
        """The blocks inside that lead to the header."""
        if self.header is None:
            return []
        return [each for each in self._flow.predecessors[self.header] if each in self.blocks]

    @property
    def latch(self) -> Block | None:
        """The only block that leads back to the header, if there is one only."""
        found = self.latches
        return found[0] if len(found) == 1 else None

    @property
    def preheader(self) -> Block | None:
        """The only block that enters, if it leads nowhere else."""
        found = self.entering
        is_one = self.header is not None and len(found) == 1 and len(self._flow.successors[found[0]]) == 1
        return found[0] if is_one else None

    @property
    def exiting(self) -> list[Block]:
        """The blocks inside that lead out, in the order of the function."""
        successors = self._flow.successors
        return [block for block in self._in_order() if any(each not in self.blocks for each in successors[block])]

    @property
    def exits(self) -> list[Block]:
        """The blocks outside that it leads to."""
        targets = (each for block in self.exiting for each in self._flow.successors[block])
        return [*dict.fromkeys(each for each in targets if each not in self.blocks)]

    def instructions(self) -> Iterator[Instruction]:
        """Its instructions, in the order of the function."""
        for block in self._in_order():
            yield from [*block.instructions]

    def _in_order(self) -> list[Block]:
        return sorted(self.blocks, key=self._flow.position.__getitem__)

    def is_invariant(self, value: IRValue) -> bool:
        """Whether a value comes from outside."""
        return not (isinstance(value, Instruction) and value.block in self.blocks)


def loops_of(
    flow: ControlFlow, within: set[Block] | None = None, parent: NaturalLoop | None = None
) -> list[NaturalLoop]:
    """The loops of a function, or of some of its blocks, an outer one before those within it.

    Blocks that no path comes to have none. Cycles are the strongly connected components; without its headers, a
    component shows the loops within it. Of a reducible graph, these are the natural loops, those of one header
    together.
    """
    reached = flow.dominators.parent
    blocks = {*reached} if within is None else within
    found: list[NaturalLoop] = []
    left = set(blocks)
    order = postorder(sorted(blocks, key=flow.position.__getitem__), flow.successors, blocks)
    for start in reversed(order):
        if start not in left:
            continue
        cycle = set(postorder([start], flow.predecessors, left))
        left -= cycle
        if len(cycle) == 1 and start not in flow.successors[start]:
            continue
        headers = {
            block for block in cycle if any(each not in cycle and each in reached for each in flow.predecessors[block])
        }
        loop = NaturalLoop(next(iter(headers)) if len(headers) == 1 else None, cycle, parent, flow)
        nested = loops_of(flow, cycle - headers, loop)
        loop.inner = [each for each in nested if each.parent is loop]
        found += [loop, *nested]
    return found
