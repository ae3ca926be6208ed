"""The host's run of kernels' IR, which tells who is wrong where the device and the simulator differ."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kapi_runtime
from kapi_sim.language import KernelOptions
from kapi_sim.testing.conformance import CASES
from kapi_spirv import compile_kernel
from kapi_types import ItemType, UsmArrayType, typeof_argument


def beside(name: str) -> Any:
    """A package of this folder, which is on no path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).parent / name / "__init__.py")
    package = importlib.util.module_from_spec(specification)
    sys.modules[name] = package
    specification.loader.exec_module(package)
    return package


host_jit = beside("host_jit")
LEFT_OUT: Counter[str] = Counter()


class Host:
    """The conformance suite's back end: NumPy arrays, and kernels compiled for the host."""

    def __init__(self, optimised: bool) -> None:
        self._optimised = optimised
        names = {name: getattr(kapi_runtime, name) for name in kapi_runtime.__all__}
        self.kapi = SimpleNamespace(**names | {"call_kernel": self.call_kernel})

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return array.copy()

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        return array

    def call_kernel(self, kernel: Any, space: Any, *arguments: Any) -> None:
        if isinstance(space, kapi_runtime.NdRange):
            raise host_jit.NotOnHost("a kernel over an NdRange has no code for the host")
        extents = tuple(space)
        host_jit.host_kernel(kernel.py_func, extents, arguments, kernel.options, self._optimised)(extents, *arguments)


@pytest.mark.nightly(one_in=20)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_on_the_host(case: Any) -> None:
    """Each case over a Range, by the optimised IR, and by the IR as lowered; the others are counted."""
    for optimised in (True, False):
        try:
            case.run(Host(optimised))
        except host_jit.NotOnHost as why:
            LEFT_OUT[str(why)] += 1
            return


def test_cases_left_out_are_counted(capsys):
    """What has no code for the host; all of it is named in `NOT_COVERED` or needs a launch."""
    of_groups = sum(len(case.space) == 2 for case in CASES)
    LEFT_OUT["a kernel over an NdRange has no code for the host"] = of_groups
    with capsys.disabled():
        print(f"\n{len(CASES) - sum(LEFT_OUT.values())} of {len(CASES)} cases have code for the host; left out:")
        for why, count in LEFT_OUT.most_common():
            print(f"  {count}: {why}")
    assert sum(LEFT_OUT.values()) < len(CASES) * 0.6


def both(kernel: Any, *arguments: Any) -> tuple[Any, Any]:
    """What is in the last argument after the run of the optimised IR, and of the IR as lowered."""
    found = []
    for optimised in (True, False):
        given = [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        extents = given[-1].shape
        host_jit.host_kernel(kernel, extents, given, KernelOptions(), optimised)(extents, *given)
        found.append(given[-1])
    return tuple(found)


def test_fault_of_a_back_end_is_not_in_the_hosts_run():
    """-1 of a condition as a float: LLVM's SPIR-V back end made it 1, in the IR it is right."""

    def kernel(item, values, out):
        i = item.get_id(0)
        out[i] = np.where(values[i] > 0.5, -1, 0)

    values = np.array([0.0, 1.0, 2.0, 0.1])
    for found in both(kernel, values, np.zeros(4, np.float32)):
        np.testing.assert_array_equal(found, [0, -1, -1, 0])


def test_fault_of_lowering_is_in_the_hosts_run():
    """Another operation in the IR gives the host and a device the same wrong number."""

    def kernel(item, values, out):
        i = item.get_id(0)
        out[i] = values[i] + values[0]

    array = UsmArrayType(typeof_argument(np.float64(0)), 1, "C")
    module = compile_kernel(kernel, [ItemType(1), array, array])
    wrong = re.sub(r" fadd ", " fsub ", module.optimized_llvm_ir)
    assert wrong != module.optimized_llvm_ir
    changed = dataclasses.replace(module, optimized_llvm_ir=wrong)
    out = np.zeros(3)
    host_jit.HostKernel(changed)((3,), np.array([1.0, 2.0, 3.0]), out)
    np.testing.assert_array_equal(out, [0, 1, 2])


@pytest.mark.parametrize(("name", "requirement"), [("groups", "NdRange"), ("print", "print")])
def test_what_is_not_covered_is_refused(name, requirement):
    def groups(item, out):
        out[item.get_global_id(0)] = item.get_local_id(0)

    def prints(item, out):
        print(item.get_id(0))

    from kapi_types import NdItemType

    array = UsmArrayType(typeof_argument(np.float64(0)), 1, "C")
    function, item = (groups, NdItemType(1)) if name == "groups" else (prints, ItemType(1))
    with pytest.raises(host_jit.NotOnHost, match=requirement):
        host_jit.HostKernel(compile_kernel(function, [item, array]))
