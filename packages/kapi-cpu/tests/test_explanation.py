"""Decisions of the vectoriser, as a compiled module explains them."""

import inspect

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_cpu import Decision, Explanation, compile_kernel, explain, read_module, write_module
from kapi_sim.language import KernelOptions
from kapi_types import ArrayType, ItemType, NdItemType, typeof_argument


def mixed(item, table, indices, x, tile):
    i = item.get_global_id(0)
    x[i] = table[indices[i]]
    tile[item.get_local_id(0)] = x[i]
    kapi.group_barrier(item.get_group())
    if x[i] > 0:
        x[i] += x[2 * i]


def compiled(**options):
    number, index, tile = np.float32(0), np.int32(0), kapi.LocalAccessor(4, np.float32)
    f, i = (ArrayType(typeof_argument(each), 1, "C") for each in (number, index))
    signature = [NdItemType(1), f, i, f, typeof_argument(tile)]
    return compile_kernel(mixed, signature, options=KernelOptions.of(**options))


def line_of(text):
    source, first = inspect.getsourcelines(mixed)
    return first + next(number for number, line in enumerate(source) if text in line)


def test_decisions_name_lines_and_reasons():
    explanation = explain(compiled(lineinfo=True))
    found = {(each.kind, each.line) for each in explanation.decisions}
    assert ("gather", line_of("table[")) in found
    assert ("barrier", line_of("group_barrier")) in found
    assert ("strided", line_of("2 * i")) in found
    assert ("masked", line_of("2 * i")) in found
    assert f"line {line_of('table[')}: gather" in str(explanation)


def rows(item, a, indices, out):
    i, n = item.get_id(0), a.shape[0]
    out[i] = a[i, 0] + a[i, 1] + a[indices[i], 0] * a[indices[i], 1] + indices[min(i + 1, n - 1)]


def test_rows_and_neighbours_are_distinguished_from_gathers():
    f, i = (ArrayType(typeof_argument(each(0)), 2 if each is np.float32 else 1, "C") for each in (np.float32, np.int32))
    out = ArrayType(typeof_argument(np.float32(0)), 1, "C")
    found = explain(compile_kernel(rows, [ItemType(1), f, i, out])).decisions
    reasons = [(each.kind, each.why) for each in found]
    assert any(kind == "record" and "for all lanes" in why for kind, why in reasons)
    assert any(kind == "gather" and "neighbours" in why for kind, why in reasons)


def test_decisions_are_a_part_of_the_module():
    module = compiled()
    assert explain(read_module(write_module(module))) == explain(module)
    first = explain(module).decisions[0]
    assert module.explanation == explain(module)
    assert (first.kind, first.lanes, first.line) == ("kernel", module.lanes, 0)


def test_lines_do_not_change_the_code():
    assert compiled(lineinfo=True).lanes == compiled().lanes


def test_equal_decisions_are_counted():
    one = Decision("gather", 3, 8, "because")
    assert Explanation.of([one, one]).decisions == (Decision("gather", 3, 8, "because", 2),)


def test_other_texts_are_refused():
    with pytest.raises(ValueError, match="decisions must be those of a CPU module"):
        Explanation.from_json('[{"what": 1}]')
