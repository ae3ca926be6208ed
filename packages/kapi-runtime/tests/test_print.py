"""`print` in kernels writes what the simulator's does."""

from __future__ import annotations

import ctypes
import math

import dpnp
import numpy as np
import pytest

import kapi_runtime
import kapi_sim
from kapi_sim.testing.reports import raises

HEADING = "100% of"


@kapi_sim.device_func
def shifted(x):
    print("in shifted:", x)
    return x + 1


def say(item, a, b, n, flag):
    i = item.get_id(0)
    print(HEADING, i, n, i == 1, flag, a[i], sep=", ")
    print("no", "gap", i, sep="", end="!\n")
    print(b[i], np.uint8(200), np.uint64(2**62), -(2**62), sep=None, end=None)
    print()
    print("half", b[i] * 0.5, 1e-7, math.inf, "%d {} \N{GREEK SMALL LETTER ALPHA}")
    b[i] = shifted(a[i])


def lines(capfd):
    ctypes.CDLL(None).fflush(None)  # the driver writes through C's buffer
    return sorted(capfd.readouterr().out.splitlines())


@pytest.mark.parametrize("options", [{}, {"inline": "never"}, {"debug": True}], ids=str)
def test_print_writes_what_the_simulator_writes(capfd, options):
    """Integers, bools, texts, floats of few digits; `sep` and `end`; device functions and constants of the module."""
    a, b = np.array([3, -4], dtype=np.int16), np.array([0.5, 2.5], dtype=np.float32)
    kapi_sim.call_kernel(kapi_sim.kernel(say), kapi_sim.Range(2), a, b.copy(), 7, True)
    expected = lines(capfd)
    kernel = kapi_runtime.kernel(say, **options)
    kapi_runtime.call_kernel(kernel, kapi_runtime.Range(2), dpnp.asarray(a), dpnp.asarray(b), 7, True)
    assert lines(capfd) == expected
    assert "100% of, 1, 7, True, True, -4" in expected


def say_instructions(item, a):
    print("noinline addrspacecast ptr addrspace(3) = frem float a, b", a[0])
    print(' c"half" @llvm.is.constant(i64 %x) \\22, !0 = {}', a[0])


@pytest.mark.parametrize("put", [np.copy, dpnp.asarray], ids=["numpy", "dpnp"])
def test_texts_may_be_instructions_of_the_compiler(capfd, put):
    """The compiler's passes over its text leave the kernel's texts as they are."""
    kapi_runtime.call_kernel(kapi_runtime.kernel(say_instructions), kapi_runtime.Range(1), put(np.ones(1)))
    assert lines(capfd) == [
        ' c"half" @llvm.is.constant(i64 %x) \\22, !0 = {} 1.0',
        "noinline addrspacecast ptr addrspace(3) = frem float a, b 1.0",
    ]


def say_floats(item, c):
    for i in range(c.shape[0]):
        print(i, c[i], -c[i])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("put", [np.copy, dpnp.asarray], ids=["numpy", "dpnp"])
def test_floats_of_few_digits_look_as_in_python(capfd, dtype, put):
    """Whole numbers have a point, and not-a-number no sign."""
    c = np.array([0, 1, 2.5, 1000, -512, 0.125, math.inf, math.nan, 2.0**-13, 40_000], dtype)
    kapi_runtime.call_kernel(kapi_runtime.kernel(say_floats), kapi_runtime.Range(1), put(c))
    texts = [str(float(f"{x:.6g}")) for x in c.tolist()]
    negated = [str(float(f"{-x:.6g}")) for x in c.tolist()]
    assert lines(capfd) == [f"{i} {x} {y}" for i, (x, y) in enumerate(zip(texts, negated, strict=True))]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("print(a)", "print-value"),
        ("print((1, 2))", "print-value"),
        ("print(*a)", "print-call"),
        ("print(1, file=None)", "print-call"),
        ("print(1, flush=True)", "print-call"),
        ("print(1, sep=1)", "print-call"),
        ("print(f'{a[0]:.3f}')", "print-format"),
    ],
)
def test_print_refuses_what_the_device_cannot_write(source, code):
    """With the line."""
    namespace = {}
    exec(f"def body(item, a):\n    {source}\n", namespace)
    kernel = kapi_runtime.kernel(namespace["body"])
    with raises(kapi_runtime.KernelCompilationError, code, line=2):
        kapi_runtime.call_kernel(kernel, kapi_runtime.Range(1), dpnp.zeros(1, dtype=np.float32))
