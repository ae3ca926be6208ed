"""Python's exceptions for operands that an operation does not take are errors of kapi's, with a code."""

from __future__ import annotations

import linecache
import math

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises

ONES = {
    "(1, 2, 3)[i]": (kapi.OutOfBoundsError, "index-out-of-bounds"),
    "range(3)[i]": (kapi.OutOfBoundsError, "index-out-of-bounds"),
    "2 ** -i": (kapi.OperandError, "negative-exponent"),
    "1 << (i - 3)": (kapi.OperandError, "negative-shift"),
    "10.0 ** (i * 100)": (kapi.OperandError, "float-out-of-range"),
    "math.factorial(i - 3)": (kapi.OperandError, "operand-value"),
    "1 / (i - 3)": (kapi.DivisionByZeroError, "division-by-zero"),
    "1.5 % (i - 3.0)": (kapi.DivisionByZeroError, "division-by-zero"),
    "0.0 ** -i": (kapi.DivisionByZeroError, "division-by-zero"),
    "int(a[i]) // (i - 3)": (kapi.DivisionByZeroError, "division-by-zero"),
    "np.clip(a[i], None, 1)": (kapi.KernelCompilationError, "call-arguments"),
    "min(i, None)": (kapi.KernelCompilationError, "call-arguments"),
    "+(a[i] > 0)": (kapi.KernelCompilationError, "operator-operands"),
    "1 + None": (kapi.KernelCompilationError, "operator-operands"),
    "a[i] << 1": (kapi.KernelCompilationError, "operator-operands"),
    "(1, 2) < i": (kapi.KernelCompilationError, "operator-operands"),
    "i in None": (kapi.KernelCompilationError, "in-array"),
    "None.real": (kapi.KernelCompilationError, "attribute-unknown"),
}


def written(statement):
    source = f"def function(item, a):\n    i = item.get_id(0)\n    {statement}\n"
    filename = f"written_{len(linecache.cache)}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names = {"math": math, "np": np}
    exec(compile(source, filename, "exec"), names)
    return kapi.kernel(names["function"])


@pytest.mark.parametrize("expression", ONES)
def test_operations_have_codes(expression):
    error, code = ONES[expression]
    with raises(error, code, line=f"a[i] = {expression}"):
        kapi.call_kernel(written(f"a[i] = {expression}"), kapi.Range(8), np.ones(8))


def test_what_a_kernel_raises_itself_stays_as_it_is():
    for statement, error in (("raise ValueError(i)", ValueError), ("assert i > 3", AssertionError)):
        with pytest.raises(error) as caught:
            kapi.call_kernel(written(statement), kapi.Range(8), np.ones(8))
        assert type(caught.value) is error
