"""Branches that few work-items take, by arithmetic on their numbers: work-groups give what the simulator gives."""

import importlib.util
import os
import random
from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target
from kapi_cpu.emission.groups.assembly import assemble_groups
from kapi_cpu.emission.legalize.group_operations import expand_group_operations
from kapi_cpu.emission.zero_remainders import simplify_zero_remainders
from kapi_lowering.emission.pipeline import run_pass

LOCAL, GROUPS = 70, 3
NUMBERS = (
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    16,
    33,
    64,
    69,
    70,
    71,
    -1,
    -2,
    -8,
    15,
    63,
    2**31,
    2**62,
    2**62 - 1,
    2**63 - 1,
    -(2**63),
)


def remainders(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    for number in range(numbers.shape[0]):
        kapi.group_barrier(group)
        if k % numbers[number] == 0:
            out[i] += tile[69 - k] * (number + 1)
        kapi.group_barrier(group)
        if (k + 1) % numbers[number] == number % 5 - 1:
            out[i] -= tile[69 - k]


def remainders_of_global_numbers(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    for number in range(numbers.shape[0]):
        kapi.group_barrier(group)
        if i % numbers[number] != 0:
            pass
        else:
            out[i] += tile[69 - k] * (number + 1)


def narrow_remainders(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    for number in range(numbers.shape[0]):
        kapi.group_barrier(group)
        if np.int32(k) % (np.int32(numbers[number]) | np.int32(1)) == np.int32(number & 3):
            out[i] += tile[69 - k] * (number + 1)


def masks(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    for number in range(numbers.shape[0]):
        kapi.group_barrier(group)
        if (k + number) & numbers[number] == 0:
            out[i] += tile[69 - k] * (number + 1)
        kapi.group_barrier(group)
        if number & 1:
            if k & (numbers[number] - 1) == 3:
                out[i] -= tile[69 - k]
        kapi.group_barrier(group)
        if k & 7 == 5 and tile[k] > number:
            out[i] -= number


def equal_numbers(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    for number in range(numbers.shape[0]):
        kapi.group_barrier(group)
        if k == numbers[number]:
            out[i] += tile[69 - k] * (number + 1)
        kapi.group_barrier(group)
        if i - 5 != numbers[number]:
            pass
        else:
            out[i] -= number
        kapi.group_barrier(group)
        if k == number:
            out[i] += 3
        else:
            out[i] -= 1


def scaled_bounds(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    for number in range(numbers.shape[0]):
        for limit in range(-1, 200, 41):
            kapi.group_barrier(group)
            at = k * numbers[number]
            if at < limit:
                out[i] += tile[at & 63] + tile[at + 5 & 63] * tile[at + 9 & 63] - tile[at + 2 & 63]
            kapi.group_barrier(group)
            if 3 * k + number >= limit:
                out[i] += tile[at & 63] + tile[at + 5 & 63] * tile[at + 9 & 63] - tile[at + 2 & 63]
            kapi.group_barrier(group)
            if limit <= at - 2 and a[i] > 4:
                out[i] -= tile[at & 63] + tile[at + 5 & 63] * tile[at + 9 & 63] - tile[at + 2 & 63]


def with_values_of_their_own(item: kapi.NdItem, a, out, tile, numbers):
    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)
    tile[k] = a[i]
    last, shared = 0, 0
    for number in range(numbers.shape[0]):
        kapi.group_barrier(group)
        if k % numbers[number] == 0:
            last = tile[69 - k] + shared
        shared += 3
    kapi.group_barrier(group)
    if k == 4:
        out[i] = shared
    kapi.group_barrier(group)
    out[i] += last


KERNELS = (
    remainders, remainders_of_global_numbers, narrow_remainders, masks, equal_numbers, scaled_bounds,
    with_values_of_their_own,
)  # fmt: skip


@pytest.mark.parametrize("lanes", [0, 4, 32])
@pytest.mark.parametrize("function", KERNELS)
def test_active_work_items_are_those_of_the_condition(function, lanes):
    a, numbers = np.random.default_rng(5).integers(-9, 99, LOCAL * GROUPS), np.array(NUMBERS)
    results = []
    for world in (kapi, Cpu(replace(host_target(), lanes=lanes)).kapi):
        results.append(np.zeros_like(a))
        tile = kapi.LocalAccessor(LOCAL, np.int64)
        with np.errstate(over="ignore"):
            world.call_kernel(kapi.kernel(function), kapi.NdRange(LOCAL * GROUPS, LOCAL), a, results[-1], tile, numbers)
    np.testing.assert_array_equal(results[1], results[0])


SEED = int(os.environ.get("KAPI_TEST_SEED", "0"))


def random_source(seed):
    """A kernel whose branches compare numbers of work-items with what their group shares, in many ways."""
    pick = random.Random(seed).choice

    def shared():
        return pick(
            ["numbers[number]", "number + 1", "2 * number + 1", "(1 << number % 7)", "n - 1", "n // 2", "4", "7"]
        )

    def condition():
        item = pick(["k", "k", "i", f"(k + {shared()})", f"({pick((2, 3))} * k + {shared()})", f"{shared()} * k"])
        return pick([
            f"{item} % ({shared()}) == {pick((0, 0, 1, 3, -1))}", f"{item} & ({shared()}) - 1 == {pick((0, 0, 2))}",
            f"{item} {pick(('<', '<=', '>', '>=', '==', '!='))} {shared()}", f"{item} % ({shared()}) != 0",
            f"{item} < {shared()} and k % ({shared()}) == 0", f"k % 8 == 0 and tile[k] > {shared()}",
        ])  # fmt: skip

    def effect():
        at = pick(["n - 1 - k", f"(k * ({shared()})) & 31", f"(k + {pick((1, 5))}) % n"])
        return pick([f"out[i] += tile[{at}] * {shared()}", f"out[i] -= tile[{at}] + tile[k]", "own = out[i] + tile[k]"])

    lines = ["def drawn(item: kapi.NdItem, a, out, tile, numbers):"]
    lines += ["    k, group, i = item.get_local_id(0), item.get_group(), item.get_global_id(0)"]
    lines += [
        "    n, own = item.get_local_range(0), 0",
        "    tile[k] = a[i]",
        "    for number in range(numbers.shape[0]):",
    ]
    for _ in range(pick((1, 2, 3))):
        lines.append("        kapi.group_barrier(group)")
        for _ in range(pick((1, 1, 1, 2))):
            indent = "        "
            if pick((True, False, False)):
                lines.append(f"{indent}if number % 3 == {pick((0, 1))}:")
                indent += "    "
            lines += [f"{indent}if {condition()}:", f"{indent}    {effect()}"]
            if pick((True, False, False)):
                lines += [f"{indent}else:", f"{indent}    {effect()}"]
    return "import kapi_sim as kapi\n\n\n" + "\n".join([*lines, "    out[i] += own", ""])


@pytest.mark.parametrize("number", range(12))
def test_random_conditions_have_the_active_work_items_of_the_simulator(number, tmp_path):
    seed = (SEED << 8) + number
    file = tmp_path / f"drawn_{seed}.py"
    file.write_text(random_source(seed))
    specification = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    size = (LOCAL, 33, 128)[number % 3]
    a, numbers = np.random.default_rng(seed).integers(-9, 99, 2 * size), np.array([1, 2, 8, -3, 64, 5, 2**40, 16])
    results = []
    for world in (kapi, Cpu(replace(host_target(), lanes=(0, 0, 4)[number // 3 % 3])).kapi):
        results.append(np.zeros_like(a))
        tile = kapi.LocalAccessor(size, np.int64)
        with np.errstate(over="ignore"):
            world.call_kernel(kapi.kernel(module.drawn), kapi.NdRange(2 * size, size), a, results[-1], tile, numbers)
    np.testing.assert_array_equal(results[1], results[0], file.read_text())


def sums(item: kapi.NdItem, a, out, tile):
    y, x = item.get_local_id(0), item.get_local_id(1)
    tile[y, x] = a[item.get_global_id(0), item.get_global_id(1)]
    step = 1
    while step < item.get_local_range(1):
        kapi.group_barrier(item.get_group())
        if x % (2 * step) == 0 and x + step < item.get_local_range(1):
            tile[y, x] += tile[y, x + step]
        step *= 2
    if x == 0:
        out[item.get_global_id(0), item.get_group().get_group_id(1)] = tile[y, 0]


def test_rows_of_groups_have_active_work_items_each():
    a = np.random.default_rng(6).integers(0, 99, (6, 60))
    out = np.zeros((6, 3), np.int64)
    Cpu().kapi.call_kernel(
        kapi.kernel(sums), kapi.NdRange((6, 60), (3, 20)), a, out, kapi.LocalAccessor((3, 20), np.int64)
    )
    np.testing.assert_array_equal(out, a.reshape(6, 3, 20).sum(2))


KERNEL = """
declare ptr @kapi.local_memory() nounwind memory(none)
declare i64 @kapi.query.local_id(i32) nounwind memory(none)
declare void @kapi.barrier.0.work_group()
define void @kernel(ptr noalias readonly %packed) {
entry:
  %tile = call ptr @kapi.local_memory()
  %step = load i64, ptr %packed, align 8
  %k = call i64 @kapi.query.local_id(i32 0)
  %at = getelementptr float, ptr %tile, i64 %k
  store float 1.0, ptr %at, align 4
  br label %barrier
barrier:
  call void @kapi.barrier.0.work_group()
  br label %resume
resume:
  %rest = srem i64 %k, %step
  %is_active = icmp eq i64 %rest, 0
  br i1 %is_active, label %add, label %end
add:
  %one = load float, ptr %at, align 4
  %twice = fadd float %one, %one
  store float %twice, ptr %at, align 4
  br label %end
end:
  BEHIND
  ret void
}
!kapi.cpu = !{!0}
!0 = !{i64 0, i64 0}
"""


def assembled(behind):
    run = assemble_groups.with_options(entry_point="kernel", vector_bits=512, lanes=0, has_fast_gathers=True)
    return run_pass(run, KERNEL.replace("  BEHIND\n", behind))


def test_a_part_finds_its_active_work_items_where_the_others_have_no_effect():
    assert "@kernel.one.1.items(" in assembled("")
    assert "@kernel.one" not in assembled("  store float 2.0, ptr %at, align 4\n")


def test_lanes_that_wait_for_each_other_stay_lanes():
    barrier = "declare void @kapi.barrier.sub_group()\n"
    text = barrier + KERNEL.replace("  BEHIND\n", "").replace("add:", "add:\n  call void @kapi.barrier.sub_group()")
    text = text.replace("@kapi.barrier.0.work_group", "@kapi.barrier.work_group")
    run = assemble_groups.with_options(entry_point="kernel", vector_bits=512, lanes=0, has_fast_gathers=True)
    assert "@kernel.one" not in run_pass(run, run_pass(expand_group_operations, text))


def test_remainders_of_either_sign_are_compared_with_zero():
    text = """
declare i64 @llvm.smin.i64(i64, i64)
define i1 @f(i64 %a, i64 %m) {
  %r = srem i64 %a, %m
  %is_zero = icmp eq i64 %r, 0
  %low = call i64 @llvm.smin.i64(i64 %m, i64 0)
  %added = select i1 %is_zero, i64 0, i64 %low
  %less = sub i64 0, %added
  %c = icmp eq i64 %r, %less
  ret i1 %c
}
define i1 @g(i64 %a, i64 %m, i1 %differ) {
  %r = srem i64 %a, %m
  %is_not = icmp ne i64 %r, 0
  %both = and i1 %differ, %is_not
  %added = select i1 %both, i64 %m, i64 0
  %less = sub i64 0, %added
  %c = icmp ne i64 %less, %r
  ret i1 %c
}
define i1 @h(i64 %a, i64 %m, i1 %differ) {
  %r = srem i64 %a, %m
  %added = select i1 %differ, i64 %m, i64 0
  %less = sub i64 0, %added
  %c = icmp eq i64 %r, %less
  ret i1 %c
}
"""
    f, g, h = run_pass(simplify_zero_remainders, text).split("define")[1:]
    assert "%c = icmp eq i64 %r, 0" in f
    assert "%c = icmp ne i64 %r, 0" in g
    assert "%c = icmp eq i64 %r, %less" in h  # which holds of no remainder 0 where signs differ
