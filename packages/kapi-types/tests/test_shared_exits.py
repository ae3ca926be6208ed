"""Ends of functions that Python's compiler writes several times become one."""

from __future__ import annotations

import dis
import math
from types import CodeType, FunctionType

import pytest

from kapi_types.kernel_typing.passes.shared_exits import with_shared_exits


def called(*values):
    """Stands for a function that all work-items call together."""
    return values


def last_argument(x, chosen):
    return called(x if chosen else 0.5)


def middle_argument(x, chosen):
    return called(1, x if chosen else 0.5, math.pi)


def three_values(x, chosen):
    return called(x if chosen == 0 else -x if chosen == 1 else 0.25)


def after_another_end(x, chosen):
    if x < 0:
        return -1.0
    return called(x if chosen else 2 * x, 0)


def after_branch(x, chosen):
    if chosen:
        y = x
    else:
        y = -x
    return called(y)


def after_break(x, chosen):
    for k in range(3):
        if k == chosen:
            break
        x += k
    return called(x)


def store(x, chosen):
    x[0] = 1 if chosen else 2


def far(x, chosen):
    return called(
        (x * (1 + x * (2 + x * (3 + x * (4 + x * (5 + x * (6 + x * (7 + x * (8 + x * (9 + x * (10 + x))))))))))
         + x * (1 + x * (2 + x * (3 + x * (4 + x * (5 + x * (6 + x * (7 + x * (8 + x * (9 + x * (10 + x)))))))))))
        if chosen
        else (x - (1 - x - (2 - x - (3 - x - (4 - x - (5 - x - (6 - x - (7 - x - (8 - x - (9 - x - (10 - x))))))))))
              - x - (1 - x - (2 - x - (3 - x - (4 - x - (5 - x - (6 - x - (7 - x - (8 - x - (9 - x - (10 - x))))))))))
              - x - (1 - x - (2 - x - (3 - x - (4 - x - (5 - x - (6 - x - (7 - x - (8 - x - (9 - x - (10 - x))))))))))
              - x - (1 - x - (2 - x - (3 - x - (4 - x - (5 - x - (6 - x - (7 - x - (8 - x - (9 - x - (10 - x)))))))))))
    )  # fmt: skip


def two_calls(x, chosen):
    return called(x) if chosen else called(-x)


def two_lines(x, chosen):
    if chosen:
        return called(x)
    return called(x)


def run(code, *args):
    return FunctionType(code, {"called": called, "math": math})(*args)


def calls_that_are_reached(code):
    """Count the calls reachable from the beginning of the code."""
    instructions = {each.offset: each for each in dis.get_instructions(code)}
    offsets = sorted(instructions)
    following = dict(zip(offsets, [*offsets[1:], -1], strict=True))
    seen, pending = set(), [0]
    while pending:
        offset = pending.pop()
        if offset in seen or offset < 0:
            continue
        seen.add(offset)
        each = instructions[offset]
        if each.opcode in (*dis.hasjrel, *dis.hasjabs):
            pending.append(each.argval)
        if not each.opname.startswith(("RETURN", "JUMP_FORWARD")):
            pending.append(following[offset])
    return sum(instructions[offset].opname == "CALL" for offset in seen)


@pytest.mark.parametrize(
    "function", [last_argument, middle_argument, three_values, after_another_end, after_branch, after_break, far]
)
@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_end_is_one_and_python_runs_it(function, chosen):
    """Each path gives the same as before, and every value comes to one call."""
    code = with_shared_exits(function.__code__)
    assert run(code, 3.0, chosen) == function(3.0, chosen)
    assert calls_that_are_reached(code) == 1 + (function is after_break)  # of `range`


def test_store_is_one():
    """A statement at the end, as well as a return."""
    code, given = with_shared_exits(store.__code__), [0]
    for chosen, wanted in ((True, 1), (False, 2)):
        run(code, given, chosen)
        assert given == [wanted]


@pytest.mark.parametrize("function", [two_calls, two_lines])
def test_what_the_author_wrote_twice_stays_two(function):
    """Though the instructions are the same ones."""
    code = with_shared_exits(function.__code__)
    assert calls_that_are_reached(code) == 2
    for chosen in (True, False):
        assert run(code, 3.0, chosen) == function(3.0, chosen)


def test_local_functions_have_one_end_too():
    """They are compiled as part of the function around them."""

    def outer(x, chosen):
        def inner(y):
            return called(y if chosen else 0.5)

        return inner(x)

    code = with_shared_exits(outer.__code__)
    [inner] = [each for each in code.co_consts if isinstance(each, CodeType)]
    assert calls_that_are_reached(inner) == 1
    assert [run(code, 3.0, chosen) for chosen in (True, False)] == [(3.0,), (0.5,)]


def test_code_without_copies_is_itself():
    """Most functions."""
    for function in (called, two_lines):
        assert with_shared_exits(function.__code__) is function.__code__
