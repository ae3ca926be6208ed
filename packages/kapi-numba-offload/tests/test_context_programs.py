"""Random programs over arrays that share memory, in a device context: they do what Python does."""

import os
import random

import numba
import numpy as np
import pytest

SEED = int(os.environ.get("KAPI_TEST_SEED", "0"))

STATEMENTS = [
    "{x}[{i}] = {y}[{j}] * {k}", "{x}[{s}] = {k}", "{x}[{i}:] += {k}", "{x} += {k}", "{x} = {y}[{s}]",
    "{x} = {y}[::-1]", "{x} = {y} * {k}", "{x}[:2] = {y}[-2:]", "{x} = {y}.copy()", "{x}[0] = {y}.sum()",
    "{x}[:3] = {y}[:3] + {z}[:3]", "{x} = {y}[:6].reshape(2, 3)[1]", "{x}[...] = {k}", "{x} = {y}.ravel()",
]  # fmt: skip


def program(numbers):
    """A function of three arrays that assigns them, their views and new arrays, and returns all."""
    lines = []
    for _ in range(numbers.randint(3, 8)):
        x, y, z = (numbers.choice("abc") for _ in range(3))
        words = {"i": numbers.randint(0, 2), "j": numbers.randint(0, 2), "k": numbers.randint(2, 9)}
        words["s"] = numbers.choice([":", "1:", "::2", ":-1", "::-1"])
        lines.append(numbers.choice(STATEMENTS).format(x=x, y=y, z=z, **words))
    return "def f(a, b, c):\n    d = a * 1\n    " + "\n    ".join(lines) + "\n    return a, b, c, d, a[1:], b[::-1]"


def arguments(numbers):
    memory = np.arange(40.0)
    return memory, [
        numbers.choice([memory[3:13], memory[0:20:2], memory[30:10:-2], np.arange(10.0), memory[20:30]])
        for _ in range(3)
    ]


@pytest.mark.nightly(one_in=4)
@pytest.mark.parametrize("case", range(40))
def test_random_programs_over_views_do_what_numpy_does(case, in_context, launches):
    """Values, memory, and what stores into the results do; or an error where Python has one."""
    text = program(random.Random(f"{SEED}-{case}"))
    scope = {"np": np}
    exec(text, scope)
    runs = []
    device = ("cpu", "opencl:cpu")[case % 2]
    for call in (scope["f"], lambda *args: in_context(numba.njit(scope["f"]), *args, device=device)):
        memory, given = arguments(random.Random(f"{SEED}-{case}-arguments"))
        try:
            found = call(*given)
        except (ValueError, IndexError) as error:
            runs.append((type(error).__mro__[-3], memory, given))
            continue
        values = [each.copy() for each in found]
        for number, each in enumerate(found):
            if each.size:
                each[...] = 100 + number
        runs.append((None, memory, given, values, found))
    assert launches
    assert runs[0][0] == runs[1][0], text
    for own, other in zip(runs[0][1:], runs[1][1:], strict=True):
        for one, another in zip(own, other, strict=True):
            np.testing.assert_array_equal(another, one, err_msg=text)
