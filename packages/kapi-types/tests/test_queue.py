"""Queues and events in plain njit functions."""

from __future__ import annotations

import gc
import sys

import numba
import numpy as np
import pytest

from kapi_types import EventType, QueueType
from kapi_types.usm import queue_waits

pytestmark = pytest.mark.usefixtures("registered")


@numba.njit
def same(value):
    return value


@numba.njit
def compare(a, b):
    return a == b, a != b


@numba.njit(nogil=True)
def queue_of(array):
    return array.sycl_queue


@numba.njit
def wait_for(value):
    value.wait()


def test_typeof_recognises_queues_and_events_by_their_capsules(any_sycl_class):
    """The name of the reference that an object hands out says what it is; a device is neither."""
    types = {b"SyclQueueRef": QueueType(), b"SyclEventRef": EventType()}
    if any_sycl_class.NAME in types:
        assert numba.typeof(any_sycl_class()) == types[any_sycl_class.NAME]
    else:
        with pytest.raises(ValueError, match="Cannot determine Numba type"):
            numba.typeof(any_sycl_class())


def test_typeof_asks_a_class_once(queue_class):
    """Making a capsule copies the queue, so one is made for each class and no more."""
    queue = queue_class()
    numba.typeof(queue)
    queue._get_capsule = None
    assert numba.typeof(queue) == QueueType()


def test_queue_comes_back_as_the_same_object(queue_class, event_class):
    """Compiled functions pass queues and events on."""
    queue, event = queue_class(), event_class()
    returned = same((queue, event))
    assert returned[0] is queue
    assert returned[1] is event


def test_queues_are_compared_as_their_library_does(queue_class):
    """The same object is equal without asking; of two objects, Python's `==` decides."""
    queue = queue_class(1)
    assert compare(queue, queue) == (True, False)
    assert compare(queue, queue_class(1)) == (True, False)
    assert compare(queue, queue_class(2)) == (False, True)


def test_queue_and_event_are_not_compared(queue_class, event_class):
    """They are of different types."""
    with pytest.raises(numba.TypingError, match="eq"):
        compare(queue_class(), event_class())


def test_queue_of_an_array_is_the_one_that_it_names(usm_array, queue_class):
    """By the attribute `sycl_queue`, or by the protocol, in functions without the interpreter lock too."""
    first, second = queue_class(1), queue_class(2)
    array = usm_array(np.zeros(3), queue=first)
    assert queue_of(array) is first
    array.sycl_queue = second
    assert queue_of(array) is second


def test_queue_of_an_array_raises_what_the_array_raises(usm_array):
    """An error from Python ends the compiled function."""

    class Broken(type(usm_array(np.zeros(1)))):
        @property
        def sycl_queue(self):
            raise RuntimeError("no queue today")

    with pytest.raises(RuntimeError, match="no queue today"):
        queue_of(Broken(np.zeros(3)))


def test_queue_of_no_array_says_where_to_ask():
    """Numba's parallel loops hand on an array's memory without the array, and raise this in the loop."""
    with pytest.raises(RuntimeError, match="queue of an array must be asked for outside of parallel loops, got"):
        queue_waits.queue_of(None)


def test_wait_waits(queue_class, event_class):
    """Queues and events are waited for from compiled functions."""
    for value in (queue_class(), event_class()):
        wait_for(value)
        assert value.waits == 1


def test_wait_raises_what_the_library_raises(queue_class):
    """An error of the device arrives."""
    queue = queue_class()
    queue.wait = lambda: 1 // 0
    with pytest.raises(ZeroDivisionError):
        wait_for(queue)


def test_queues_balance_references(usm_array, queue_class):
    """Nothing is left of many calls."""

    @numba.njit
    def work(queue, array):
        if queue != array.sycl_queue:
            raise ValueError("another queue")
        return queue

    queue = queue_class()
    array = usm_array(np.zeros(3), queue=queue)
    work(queue, array)
    gc.collect()
    before = sys.getrefcount(queue), sys.getrefcount(array)
    for number in (0, 1):
        for _ in range(2000):
            try:
                work(queue_class(number), array)
            except ValueError:
                assert number == 1
            assert work(queue, array) is queue
    assert (sys.getrefcount(queue), sys.getrefcount(array)) == before


def test_queue_types_have_no_state(pickled):
    """Types do not depend on the queue: arrays of two queues share compiled code."""
    assert pickled(QueueType()) == QueueType()
    assert QueueType() != EventType()
