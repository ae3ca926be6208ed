"""Records in launches: which kernel runs for which dtype, as arguments, and in memory of a device."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_runtime as kapi
from kapi_runtime.build.fingerprint import fingerprint

XY, YX = np.dtype([("x", "f4"), ("y", "f4")]), np.dtype([("y", "f4"), ("x", "f4")])
INTEGERS, WIDE = np.dtype([("y", "i4"), ("x", "i4")]), np.dtype([("x", "f8")])


def test_each_dtype_of_one_size_has_a_kernel_of_its_own():
    @kapi.kernel
    def increment(item: kapi.Item, a):
        a[item.get_id(0)].x += 1

    for dtype in (XY, XY, YX, YX, INTEGERS, WIDE, XY, YX):
        a = np.zeros(3, dtype)
        kapi.call_kernel(increment, kapi.Range(3), a)
        assert {name: a[name].tolist() for name in dtype.names} == {
            name: [1.0 if name == "x" else 0.0] * 3 for name in dtype.names
        }


def test_records_as_arguments_are_read_anew_by_each_launch():
    pair = np.dtype([("z", "c16"), ("v", "i2", (2, 2)), ("flag", "?")])

    @kapi.kernel
    def of_pair(item: kapi.Item, out, p, more):
        out[item.get_id(0)] = p.z.imag + p.v[1][0] + p.flag + more[1].x

    out = np.full(2, -1.0)
    for k in range(4):
        given = np.void((k * 1j, ((9, 9), (10 * k, 9)), k > 1), pair)
        kapi.call_kernel(of_pair, kapi.Range(2), out, given, (k, np.void((k / 2, 9), XY)))
        assert out.tolist() == [11.5 * k + (k > 1)] * 2


def test_the_fingerprint_of_a_kernel_distinguishes_dtypes_of_one_size():
    def of(dtype):
        def made(item, a):
            a[0] = np.void((1, 2), dtype)

        return fingerprint(made)

    assert len({of(XY), of(YX), of(INTEGERS), of(WIDE)}) == 4
    assert of(XY) == of(np.dtype(XY.descr))


@pytest.mark.parametrize(
    ("dtype", "said"),
    [
        ([("x", "O")], "field 'x' must be bool"),
        ([("x", ">f4")], "field 'x' must be bool"),
        ([("n", [("s", "S3")]), ("x", "f4")], "field 'n.s' must be bool"),
        ({"names": ["x", "y"], "formats": ["f4", "f4"], "offsets": [0, 2]}, "fields 'x' and 'y' share bytes"),
    ],
)
def test_a_dtype_that_kernels_do_not_have_is_refused_by_its_field(dtype, said):
    @kapi.kernel
    def increment(item: kapi.Item, a):
        a[item.get_id(0)].x += 1

    with pytest.raises(kapi.DtypeError, match=said) as caught:
        kapi.call_kernel(increment, kapi.Range(3), np.zeros(3, np.dtype(dtype)))
    assert caught.value.code == "argument-dtype"
    assert "argument `a`" in str(caught.value)


def test_fields_at_addresses_that_are_not_aligned_are_read_all_the_same():
    packed = np.dtype([("k", "i1"), ("d", "f8"), ("h", "f2"), ("v", "c16", 2), ("q", "u8")])

    @kapi.kernel
    def scaled(item: kapi.Item, a):
        p = a[item.get_id(0)]
        p.d *= p.k
        p.h = p.h + p.k
        p.v[1] = p.v[0] * p.d
        p.q += 2**40

    raw = np.zeros(1 + 21 * packed.itemsize, np.uint8)
    a = raw[1:].view(packed)
    a["k"], a["d"], a["h"], a["q"] = np.arange(21) - 4, np.arange(21) / 4, np.arange(21), np.arange(21)
    a["v"][:, 0] = np.arange(21) * (1 - 2j)
    wanted = a.copy()
    wanted["d"] *= wanted["k"]
    wanted["h"] += wanted["k"]
    wanted["v"][:, 1] = wanted["v"][:, 0] * wanted["d"]
    wanted["q"] += np.uint64(2**40)
    kapi.call_kernel(scaled, kapi.Range(21), a)
    np.testing.assert_array_equal(a, wanted)


def test_arrays_of_records_on_a_device_are_kapis_own():
    queue = kapi.queue("opencl:cpu")
    h = np.zeros(4, YX)
    h["y"] = np.arange(4)
    a = kapi.memory.asarray(h, queue=queue)
    assert a.dtype == YX
    assert kapi.memory.asarray(a) is a

    @kapi.kernel
    def reverse(item: kapi.Item, a, out):
        i = item.get_id(0)
        out[i] = a[a.shape[0] - 1 - i]
        out[i].x = i

    out = kapi.memory.device_array(4, YX, queue=queue)
    for part in (a, a, a[::-1]):
        kapi.call_kernel(reverse, kapi.Range(4), part, out)
        expected = kapi.memory.asnumpy(part)[::-1].copy()
        expected["x"] = np.arange(4)
        np.testing.assert_array_equal(kapi.memory.asnumpy(out), expected)
    with pytest.raises(BufferError, match="must be numbers"):
        a.__dlpack__()


MIXED = np.dtype(
    {
        "names": ["z", "flag", "half", "parts", "inner"],
        "formats": ["c8", "?", "f2", ("u8", 2), np.dtype([("k", "i1"), ("x", "f4", (2, 2))])],
        "offsets": [24, 1, 2, 40, 7],
        "itemsize": 60,
    }
)


@kapi.kernel
def mixed_total(item: kapi.Item, out, settings, pair):
    total = settings.z.real + settings.z.imag * 2 + settings.half + settings.parts[1] + settings.inner.x[1][0]
    out[item.get_id(0)] = total + settings.inner.k + (1000 if settings.flag else 0) + pair[0].low + pair[1]


def test_records_and_tuples_have_a_plan_on_the_cpu():
    """Launches with others of the same types take it, and those with other types do not."""
    out = np.zeros(2)
    pair_type = np.dtype([("low", "i2")])
    for step in range(4):
        for number in (step, float(step)):
            given = (complex(step, -1), step % 2, step / 4, (7, 2**40 + step), (-step, ((0, 1), (step * 0.5, 3))))
            settings = np.void(given, MIXED)
            pair = (np.void((step * 3,), pair_type), number)
            kapi.call_kernel(mixed_total, kapi.Range(2), out, settings, pair)
            exact = step + step - 2 + step / 4 + step * 0.5 - step + 1000 * (step % 2) + step * 3 + number
            assert out.tolist() == [2**40 + exact] * 2
    assert len(mixed_total._plans[kapi.Range(2)]) == 2
