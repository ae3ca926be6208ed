"""Races of writes that their authors call harmless, in a comment with a reason."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.testing.reports import raises

RACING = "    a[0] = {value}  # kapi: harmless, {reason}\n"


def launched(body, defined, *, local=False, orders=False):
    """Launch a kernel with this body over two groups of three work-items; return the notes of the report."""
    head = "def kernel(item, a, b, lock):\n    i = item.get_global_id(0)\n"
    order = "    kapi.AtomicRef(lock, 0).fetch_add(1)\n" if orders else ""
    kernel = kapi.kernel(defined(head + order + body, kapi=kapi)["kernel"])
    a = kapi.LocalAccessor(4, np.float64) if local else np.zeros(4)
    with kapi.simulation() as report:
        kapi.call_kernel(kernel, kapi.NdRange(6, 3), a, np.zeros(6), np.zeros(1, np.int32))
    return report.notes


@pytest.mark.parametrize("orders", [False, True])
@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("value", ["1", "i"])
def test_comment_with_a_reason_makes_a_note_of_a_race(value, local, orders, defined):
    (note,) = launched(RACING.format(value=value, reason="nobody minds"), defined, local=local, orders=orders)
    assert note.startswith(f"harmless race on a[0] ({'local' if local else 'global'} memory) at <source-")
    assert note.endswith(", as the program says: nobody minds")


def test_comment_may_stand_in_the_line_above(defined):
    body = "    # kapi: harmless, it is a flag\n    a[0] = i\n"
    (note,) = launched(body, defined)
    assert note.endswith("it is a flag")


@pytest.mark.parametrize("comment", ["", "# kapi: harmless", "# kapi: harmless, ", "# harmless, it is a flag"])
@pytest.mark.parametrize("above", ["", "    b[i] = 1  # kapi: harmless, of another line\n"])
def test_without_a_reason_it_is_a_fault(above, comment, defined):
    with raises(kapi.DataRaceError, "data-race", words=False):
        launched(f"{above}    a[0] = i  {comment}\n", defined)


@pytest.mark.parametrize("orders", [False, True])
def test_reading_what_they_wrote_is_a_fault(orders, defined):
    body = RACING.format(value="i", reason="nobody reads it")
    barrier = "    kapi.group_barrier(item.get_group())\n"
    with raises(kapi.DataRaceError, "data-race", words=False) as caught:
        launched(f"{body}{barrier}    b[i] = a[0]\n", defined, local=True, orders=orders)
    assert "which is not harmless: work-item global (0,), local (0,), group (0,) reads the element at" in "".join(
        caught.value.__notes__
    )
    assert "written twice, with different values" in str(caught.value)


@pytest.mark.parametrize("orders", [False, True])
def test_element_written_anew_may_be_read(orders, defined):
    body = RACING.format(value="i", reason="it is overwritten")
    barrier = "    kapi.group_barrier(item.get_group())\n"
    anew = "    if item.get_local_id(0) == 1:\n        a[0] = 5\n"
    notes = launched(f"{body}{barrier}{anew}{barrier}    b[i] = a[0]\n", defined, local=True, orders=orders)
    assert len(notes) == 1


@pytest.mark.parametrize("orders", [False, True])
def test_race_with_a_read_stays_a_fault(orders, defined):
    with raises(kapi.DataRaceError, "data-race", words=False):
        launched("    b[i] = a[0]\n" + RACING.format(value="i", reason="no matter"), defined, orders=orders)


def test_numba_cuda_s_kernels_have_the_comment_too():
    @cuda.jit
    def found(flag):
        flag[0] = cuda.grid(1)  # kapi: harmless, any thread will do

    with kapi.simulation() as report:
        found[2, 2](np.zeros(1))
    assert report.notes[0].endswith("as the program says: any thread will do")
