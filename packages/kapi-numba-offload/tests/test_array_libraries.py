"""Array libraries: which one a value or a queue is of, without importing the others."""

import subprocess
import sys
from types import ModuleType

import dpnp
import numba
import numpy as np
import pytest

import _kapi_numba_hooks
from kapi_numba_offload.analysis.numpy_functions import numpy_name
from kapi_numba_offload.libraries import installed
from kapi_numba_offload.libraries.arrays import is_device_array
from kapi_numba_offload.libraries.entry import ENTRIES
from kapi_numba_offload.libraries.installed import imported_libraries, library_named, library_of, library_of_queue
from kapi_sim.errors import ExecutionPlacementError
from kapi_sim.testing.reports import raises


def test_arrays_and_queues_have_a_library():
    array = dpnp.ones(3)
    assert library_of(array) is library_of_queue(array.sycl_queue) is library_named("dpnp")
    assert is_device_array(array)


@pytest.mark.parametrize("value", [np.ones(3), 1, 2.5, "text", None, (dpnp.ones(2),), dpnp, np.float32(1)])
def test_other_values_have_none(value):
    assert library_of(value) is None


def test_a_class_of_that_name_from_elsewhere_is_none():
    class dpnp_array:
        pass

    assert library_of(dpnp_array()) is None


def test_functions_are_known_by_numpy_s_names():
    assert numpy_name(np.sqrt) == numpy_name(dpnp.sqrt) == "sqrt"
    assert numpy_name(dpnp.linalg.norm) == "linalg.norm"
    assert numpy_name(len) is None


def test_only_libraries_that_the_program_has_imported_are_asked():
    assert [each.name for each in imported_libraries()] == ["dpnp"]


def test_a_library_without_its_platform_is_named_with_what_installs_it(monkeypatch):
    cupy = type("ndarray", (), {"__module__": "cupy"})
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(installed, "is_installed", lambda name: False)
    with raises(ExecutionPlacementError, "platform-absent"):
        library_of(cupy())


def test_the_package_needs_no_array_library(tmp_path):
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dpnp", "dpctl", "cupy", "torch"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import numba, numpy as np
import kapi_numba_offload
from kapi_numba_offload.frontend import entry
import kapi_runtime as kapi

@kapi.kernel
def double(item: kapi.Item, a):
    a[item.get_id(0)] *= 2

@numba.njit
def launches(a):
    double[kapi.Range(4)](a)
    return np.zeros(2)

a = np.arange(4.0)
print(numba.njit(lambda a: a.sum() + 1)(a), launches(a), a)
"""
    (tmp_path / "program.py").write_text(program, "utf-8")
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "7.0 [0. 0.] [0. 2. 4. 6.]", done.stderr


def test_a_function_without_arrays_makes_those_of_the_library_that_is_imported():
    @numba.njit
    def made(n):
        return dpnp.zeros(n) + np.ones(n)

    found = made(3)
    assert type(found) is dpnp.ndarray
    assert found.asnumpy().tolist() == [1, 1, 1]


def test_a_library_without_its_platform_does_not_disturb_another(monkeypatch):
    """A program may import CuPy for other reasons."""
    monkeypatch.setitem(sys.modules, "cupy", ModuleType("cupy"))
    monkeypatch.setattr(installed, "is_installed", lambda name: name == "sycl")
    assert [each.name for each in imported_libraries()] == ["dpnp"]
    assert numpy_name(dpnp.sqrt) == "sqrt"


def test_the_hooks_know_the_same_classes():
    assert {each.array_class for each in ENTRIES} == _kapi_numba_hooks._ARRAY_CLASSES
    assert {each.name for each in ENTRIES if not each.is_numpy} < set(_kapi_numba_hooks._LIBRARIES)
