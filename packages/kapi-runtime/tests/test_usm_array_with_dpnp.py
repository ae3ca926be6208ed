"""kapi's own arrays with dpnp's: they hand memory to each other, and DLPack is read as dpnp reads it."""

from __future__ import annotations

import gc

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime import memory
from kapi_runtime.platform import dlpack
from kapi_runtime.sycl.memory.usm_array import new_usm_array, usm_array_of
from kapi_sim.testing.reports import raises

DTYPES = ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64", "complex128")


@kapi.kernel
def add(item: kapi.Item, left, right, total):
    i = item.get_id(0)
    total[i] = left[i] + right[i]


def ours(values, kind="device"):
    values = np.asarray(values)
    array = new_usm_array(values.shape, values.dtype, kind, kapi.default_queue())
    array[...] = values
    return array


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["device", "shared", "host"])
def test_dpnp_takes_our_capsules(dtype, kind):
    values = np.arange(12).reshape(3, 4).astype(dtype)
    array = ours(values, kind)
    for part, expected in [(array, values), (array[1:, ::2], values[1:, ::2]), (array[:, 1].T, values[:, 1].T)]:
        theirs = dpnp.from_dlpack(part)
        assert (theirs.dtype, theirs.shape, theirs.usm_type) == (np.dtype(dtype), expected.shape, kind)
        np.testing.assert_array_equal(theirs.asnumpy(), expected)
    theirs[...] = 1
    np.testing.assert_array_equal(array[:, 1].asnumpy(), np.ones(3, dtype))
    del theirs, part
    gc.collect()
    assert len(dlpack._exported) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_dpnp_s_capsules_are_read(dtype):
    theirs = dpnp.asarray(np.arange(12).reshape(3, 4).astype(dtype))
    for part in (theirs, theirs[1:, ::2], theirs[::-1].T, theirs[2, 3], theirs[:0]):
        told = dlpack.read_capsule(part)
        known = memory.asarray(part).get_array()
        assert (told.shape, told.dtype) == (part.shape, part.dtype)
        if part.size:
            assert told.pointer == known._pointer
            assert told.strides is None or told.strides == known.strides
        assert told.device == part.__dlpack_device__()[1]


def test_memory_of_a_capsule_that_was_read_is_given_back():
    class Counted:
        """Counts the capsules of which the memory is held, by what they keep."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self):
            return self.array.__dlpack__()

    told = dlpack.read_capsule(Counted(ours([1, 2, 3])))
    assert len(dlpack._exported) == 1
    del told
    gc.collect()
    assert len(dlpack._exported) == 0


def test_capsule_is_read_once():
    class Same:
        capsule = dpnp.arange(3).__dlpack__()

        def __dlpack__(self):
            return self.capsule

    dlpack.read_capsule(Same())
    with raises(kapi.DtypeError, "dlpack-capsule"):
        dlpack.read_capsule(Same())


def test_capsule_of_the_host_that_was_used_is_refused():
    class Same:
        capsule = np.arange(3).__dlpack__()

        def __dlpack__(self, **options):
            return self.capsule

        def __dlpack_device__(self):
            return (1, 0)

    same = Same()
    assert memory.asarray(same).asnumpy().tolist() == [0, 1, 2]
    with raises(kapi.DtypeError, "dlpack-capsule"):
        memory.asarray(same)


def test_each_takes_the_other_by_its_protocol():
    one, other = ours([1.0, 2.0, 3.0]), dpnp.asarray([4.0, 5.0, 6.0])
    total = memory.like(one, other)
    assert isinstance(total, dpnp.ndarray)
    add[3](one, other, total)
    assert total.asnumpy().tolist() == [5, 7, 9]
    assert memory.asarray(one).get_array()._pointer == one.__sycl_usm_array_interface__["data"][0]
    view = usm_array_of(total[::-1])
    view[0] = 0
    assert total.asnumpy().tolist() == [5, 7, 0]
    one[...] = total
    assert one.asnumpy().tolist() == [5, 7, 0]


class Speaking:
    """An array of another library that speaks the protocol of USM arrays and nothing else."""

    def __init__(self, array):
        self.__sycl_usm_array_interface__ = usm_array_of(array).__sycl_usm_array_interface__
        self.array = array


def test_asarray_shares_the_memory_of_what_speaks_the_protocol():
    theirs = dpnp.arange(12, dtype="int32").reshape(3, 4)
    for part in (theirs, theirs[::-1], theirs[1:, ::-2], theirs.T[1:], theirs[2, 1:], theirs[1, 1], theirs[1:1]):
        array = memory.asarray(Speaking(part), copy=False)
        assert isinstance(array, dpnp.ndarray)
        assert (array.shape, array.dtype, array.usm_type) == (part.shape, part.dtype, part.usm_type)
        assert (array.asnumpy() == part.asnumpy()).all()
        array += 100
        assert (array.asnumpy() == part.asnumpy()).all()


def test_asarray_keeps_the_owner_of_the_memory():
    array = memory.asarray(Speaking(dpnp.full(1000, 7)))
    gc.collect()
    other = dpnp.zeros(1000)
    assert set(array.asnumpy()) == {7}
    assert set(other.asnumpy()) == {0}


def test_asarray_keeps_what_may_not_be_written():
    fixed = dpnp.arange(3)
    fixed.flags["W"] = False
    assert not memory.asarray(Speaking(fixed)).flags["W"]


def test_program_ends_with_memory_that_was_handed_on(run_python):
    """dpnp gives a capsule's memory back when the interpreter has forgotten kapi's modules."""
    done = run_python(
        "import kapi_runtime as kapi, dpnp, numpy\n"
        "from kapi_runtime.sycl.memory.usm_array import new_usm_array\n"
        "a = new_usm_array((3,), numpy.dtype('int32'), 'device', kapi.default_queue())\n"
        "a[...] = 4\n"
        "dpnp.kept = dpnp.from_dlpack(a)\n"
        "kapi.kept = a.__dlpack__()\n"
        "print(dpnp.kept.asnumpy())\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[4 4 4]\n", "")


def test_elements_that_numpy_lacks_are_refused():
    class Pairs:
        capsule = dpnp.arange(3).__dlpack__()

        def __dlpack__(self):
            return self.capsule

    pairs = Pairs()
    managed = dlpack._Managed.from_address(dlpack._pointer_of(id(pairs.capsule), dlpack._NAME))
    managed.tensor.lanes = 2
    with raises(kapi.DtypeError, "dlpack-elements"):
        dlpack.read_capsule(pairs)
