"""The machine code for Windows does what that for Linux does: here it is called with Windows' calling convention.

Each C function that it calls, and each entry point, stands behind a function that changes the convention.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter

import dpnp
import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

import kapi_runtime as kapi
from kapi_runtime.native import loading
from kapi_runtime.sycl.native import native_functions
from kapi_runtime.sycl.native.structures import HANDED_OVER, LAST
from kapi_runtime.sycl.queues.launch_chain import chain_of

WORD = ir.IntType(64)
_KEPT = []


def _kind(signature):
    """LLVM's type of a C function that native functions declare."""
    of = {"int64": WORD, "int32": ir.IntType(32), "uint8": ir.IntType(8), "float64": ir.DoubleType()}
    return ir.FunctionType(of[str(signature.return_type)], [of[str(each)] for each in signature.args])


def _bridges(wanted):
    """The addresses of functions that call others: by name, the other's address, the type, and both conventions."""
    module = ir.Module()
    for name, (address, kind, own, its) in wanted.items():
        function = ir.Function(module, kind, f"bridge_{name}")
        function.calling_convention = own
        builder = ir.IRBuilder(function.append_basic_block())
        other = builder.inttoptr(ir.Constant(WORD, address), kind.as_pointer())
        builder.ret(builder.call(other, list(function.args), cconv=its))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(str(module)), machine)
    engine.finalize_object()
    _KEPT.append(engine)
    return {name: engine.get_function_address(f"bridge_{name}") for name in wanted}


@pytest.fixture
def calls(monkeypatch):
    """Launches go by the code for Windows; counts the calls of each of its functions."""
    from kapi_runtime.native.language import c_functions

    importlib.import_module(native_functions._MODULE)  # declares what it calls
    file = loading.file_of(native_functions._MODULE)
    called = _bridges(
        {
            name: (native_functions._address_of_function(name), _kind(c_functions[name]), "win64cc", "ccc")
            for name in json.loads(file)["calls"]
        }
    )
    counts = Counter()
    builtin = loading._builtin

    def counted(name, slot, table):
        entry = ir.FunctionType(WORD, [WORD] * 3)
        function = builtin(name, _bridges({name: (slot, entry, "ccc", "win64cc")})[name], table)

        def call(*given):
            counts[name] += 1
            return function(*given)

        return call

    swapped = file.replace(b'"linux"', b'"other"').replace(b'"win32"', b'"linux"')
    monkeypatch.setattr(loading, "file_of", lambda module: swapped)
    monkeypatch.setattr(loading, "_builtin", counted)
    monkeypatch.setattr(native_functions, "_address_of_function", called.__getitem__)
    monkeypatch.setattr(native_functions, "_made", [])
    assert native_functions.native_functions() is not None, native_functions.why_not()
    return counts


@kapi.kernel
def scale(item: kapi.Item, target, source, factor, offset, flag, byte):
    i = item.get_id(0)
    if flag:
        target[i] = source[i] * factor + offset + byte


@kapi.kernel
def reverse(nd_item: kapi.NdItem, a, scratch):
    i, k = nd_item.get_global_id(0), nd_item.get_local_id(0)
    scratch[k] = a[i]
    kapi.group_barrier(nd_item.get_group())
    a[i] = scratch[4 - k]


def test_code_for_windows_launches_as_that_for_linux(calls):
    source, kernel = dpnp.arange(10.0), kapi.kernel(scale.py_func)
    for given, into in ((source, dpnp.zeros(10)), (source[::-1], dpnp.zeros(20)[::2])):
        for factor in (0.5, -3.0, 1e300, 7.0):
            kapi.call_kernel(kernel, kapi.Range(10), into, given, factor, 2**62, True, np.int8(-7))
            expected = given.asnumpy() * factor + 2**62 + np.int8(-7)
            np.testing.assert_array_equal(into.asnumpy(), expected)
    bound = kernel.bind(kapi.Range(10), into, source, 2.0, 1, True, np.int8(1))
    for _ in range(2):
        bound()[0].wait()
        np.testing.assert_array_equal(into.asnumpy(), np.arange(10.0) * 2 + 2)
    chain = chain_of(source.sycl_queue)
    assert chain[LAST] is not chain[HANDED_OVER]
    native_functions.native_functions().hand_over(chain)
    assert chain[LAST] is chain[HANDED_OVER]
    both = kapi.kernel(reverse.py_func)
    for expected in ([4, 3, 2, 1, 0, 9, 8, 7, 6, 5], list(range(10))):
        kapi.call_kernel(both, kapi.NdRange(10, 5), source, kapi.LocalAccessor(5, "float64"))
        assert source.asnumpy().tolist() == expected
    with pytest.raises(kapi.KernelLaunchError, match="must not overlap"):
        kapi.call_kernel(kernel, kapi.Range(5), source[:5], source[1:6], 1.0, 0, True, np.int8(0))
    assert set(calls) == {"hand_over", "launch", "pack", "send"}
