"""Random kernels with barriers, branches, loops and sub-groups give what the simulator gives, to the bit."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
import random_groups
from cpu_backend import SHAPES, shapes

from kapi_cpu import host_target

BLOCKS, BLOCK = 200, 4
SEED = int(os.environ.get("KAPI_TEST_SEED", "0"))


@pytest.mark.nightly(one_in=100)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_groups_agree_with_the_simulator(block):
    """Every other kernel by default, the others for fewer lanes, more lanes, or an older processor."""
    others = shapes()
    for number in range(block * BLOCK, (block + 1) * BLOCK):
        program = random_groups.Program((SEED << 16) + number)
        shape = others[number // 2 % len(others)] if number % 2 else ""
        found = program.difference(replace(host_target(), **SHAPES.get(shape, {})), program.simulate())
        assert not found, f"{found}, {shape or 'default'}, {program.space}\n{program.source}"


def test_random_groups_have_what_splits_control_flow():
    programs = [random_groups.Program(number) for number in range(200)]
    sources = "".join(program.source for program in programs)
    flow = ("break", "continue", "else:", "elif", "while", "return", "for ")
    together = ("group_barrier", "= converge", "select_from_group(sub", "_over_group(sub", "_over_group(group", "bins[")
    for word in (*flow, *together, ".fetch_", "tile[0]"):
        assert sources.count(word) > 20, word
    assert any(np.prod(program.space[1]) % 8 for program in programs if program.has_groups)


def test_another_result_is_found():
    program = random_groups.Program(1)
    wanted = program.simulate()
    assert not program.difference(host_target(), wanted)
    wanted[4][-1] += 1
    assert program.difference(host_target(), wanted).startswith("out_l")
