"""Dominators and loops of random graphs, compared with their definitions."""

from __future__ import annotations

import os
import random

import pytest

from kapi_lowering.emission.llvm_ir import ControlFlow
from llvm_ir.checks import one

GRAPHS = 60


def random_graph(seed):
    """A function whose blocks lead to up to two others, at random."""
    draw = random.Random(int(os.environ.get("KAPI_TEST_SEED", "0")) * GRAPHS + seed)
    count = draw.randrange(1, 12)
    lines = ["define void @f(i1 %c) {", "entry:", "  br label %b0"]
    for block in range(count):
        targets = [f"label %b{draw.randrange(count)}" for _ in range(draw.choice((0, 1, 1, 2, 2, 2)))]
        end = ["ret void", f"br {targets[0]}" if targets else "", f"br i1 %c, {', '.join(targets)}"][len(targets)]
        lines += [f"b{block}:", f"  {end}"]
    return one("\n".join([*lines, "}"]))[1]


def reached(starts, edges, without=None):
    found, pending = set(), [each for each in starts if each is not without]
    while pending:
        each = pending.pop()
        if each not in found:
            found.add(each)
            pending += [other for other in edges[each] if other is not without]
    return found


@pytest.mark.parametrize("is_post", [False, True])
@pytest.mark.parametrize("seed", range(GRAPHS))
def test_dominators_are_on_every_path(seed, is_post):
    flow = ControlFlow(random_graph(seed))
    edges = flow.predecessors if is_post else flow.successors
    roots = [each for each in edges if not flow.successors[each]] if is_post else [flow.function.entry]
    tree = flow.post_dominators if is_post else flow.dominators
    there = reached(roots, edges)
    assert set(tree.parent) == there
    expected = {
        block: {other for other in there if other is block or block not in reached(roots, edges, without=other)}
        for block in there
    }
    for block in there:
        for other in there:
            assert tree.dominates(other, block) == (other in expected[block])


@pytest.mark.parametrize("seed", range(GRAPHS))
def test_loops_with_one_header_are_natural_ones(seed):
    flow = ControlFlow(random_graph(seed))
    tree = flow.dominators
    natural = {}
    for block in tree.parent:
        for target in flow.successors[block]:
            if tree.dominates(target, block):
                body = reached([block], flow.predecessors, without=target) & set(tree.parent)
                natural.setdefault(target, {target}).update(body)
    found = {each.header: each.blocks for each in flow.loops if each.header}
    # A cycle with several entries hides headers that are not its own, so natural loops may be more.
    if all(each.header for each in flow.loops):
        assert found == natural
    for header, blocks in found.items():
        assert natural.get(header, blocks) <= blocks


def test_loops_know_their_parts():
    _, function = one("""define void @f(i1 %c) {
entry:
  br i1 %c, label %start, label %end
start:
  br label %outer
outer:
  br label %inner
inner:
  br i1 %c, label %inner, label %middle
middle:
  br i1 %c, label %end, label %latch
latch:
  br i1 %c, label %outer, label %done
done:
  br label %end
end:
  ret void
}""")
    outer, inner = ControlFlow(function).loops
    names = lambda blocks: sorted(each.name for each in blocks)  # noqa: E731
    assert (outer.header.name, inner.header.name) == ("outer", "inner")
    assert (inner.parent, outer.inner, outer.depth, inner.depth) == (outer, [inner], 1, 2)
    assert names(outer.blocks) == ["inner", "latch", "middle", "outer"]
    assert names(outer.own_blocks) == ["latch", "middle", "outer"]
    assert (outer.preheader.name, outer.latch.name, inner.preheader.name) == ("start", "latch", "outer")
    assert (names(outer.exiting), names(outer.exits)) == (["latch", "middle"], ["done", "end"])
    assert len([*inner.instructions()]) == 1


def test_values_are_available_where_they_dominate():
    _, function = one("""define i32 @f(i1 %c, i32 %x) {
entry:
  %a = add i32 %x, 1
  br i1 %c, label %left, label %right
left:
  %b = add i32 %a, 1
  br label %right
right:
  %r = phi i32 [ %a, %entry ], [ %b, %left ]
  ret i32 %r
}""")
    tree = ControlFlow(function).dominators
    a, b, end = (function.blocks[number].instructions[0] for number in (0, 1, 2))
    ret = function.blocks[2].terminator
    assert tree.is_available(a, b)
    assert not tree.is_available(b, a)
    assert not tree.is_available(b, ret)
    assert tree.is_available(end, ret)
    assert tree.is_available(function.parameters[0], a)
