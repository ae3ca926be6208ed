"""Registration with Numba: cheap, by itself where the package is installed, repeatable, removable."""

from __future__ import annotations

import subprocess
import sys

import numba
import numpy as np
import pytest

import kapi_types
from kapi_types import _numba_compat

pytestmark = pytest.mark.usefixtures("registered")


def run(code):
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_registration_is_idempotent_and_removable(usm_array):
    """Twice is once, and removing it leaves Numba as it was."""
    array = usm_array(np.zeros(3))
    kapi_types.register()
    kapi_types.register()
    assert kapi_types.is_registered()
    assert numba.typeof(array) == kapi_types.typeof_usm_array(array)
    kapi_types.unregister()
    kapi_types.unregister()
    assert not kapi_types.is_registered()
    with pytest.raises(ValueError, match="Cannot determine Numba type"):
        numba.typeof(array)
    with pytest.raises(numba.TypingError, match="Cannot determine Numba type"):
        numba.njit(lambda array: array.ndim)(array)


def test_registration_leaves_other_values_to_those_who_knew_them():
    """Registrations of another package hold, before and after."""
    before, after = type("Before", (), {}), type("After", (), {})
    kapi_types.unregister()
    original = _numba_compat.typeof_impl.dispatch(object)
    try:
        _numba_compat.typeof_impl.register(object)(
            lambda value, context: numba.int8 if type(value) is before else original(value, context)
        )
        kapi_types.register()
        _numba_compat.typeof_impl.register(after)(lambda value, context: numba.int16)
        assert numba.typeof(before()) == numba.int8
        assert numba.typeof(after()) == numba.int16
        assert numba.typeof(1.0) == numba.float64
        with pytest.raises(ValueError, match="Cannot determine Numba type"):
            numba.typeof(object())
    finally:
        kapi_types.unregister()
        _numba_compat.typeof_impl.register(object)(original)


def test_registration_by_the_entry_point_is_cheap():
    """Numba's entry point in every njit program costs little, imports nothing of kapi, does not warn."""
    calls, loaded = run(
        "import sys, numba\n"
        "calls = 0\n"
        "def count(frame, event, argument):\n"
        "    global calls\n"
        "    calls += event in ('call', 'c_call')\n"
        "sys.setprofile(count)\n"
        "import _kapi_types_hooks; _kapi_types_hooks.init()\n"
        "sys.setprofile(None)\n"
        "numba.njit(lambda a: a + 1)(1)\n"
        "tops = {'kapi_sim', 'kapi_types', 'kapi_runtime', 'kapi_numba_offload', 'dpctl', 'dpnp'}\n"
        "print(calls, sorted(tops & set(sys.modules)))"
    ).split(" ", 1)
    assert int(calls) < 5000  # some 1000; Numba's own import makes a million
    assert loaded == "[]"


def test_removal_before_the_first_compile_holds():
    """Numba's own start does not undo the program's choice."""
    assert (
        run(
            "import kapi_types, numba\n"
            "kapi_types.unregister()\n"
            "import _kapi_types_hooks; _kapi_types_hooks.init()\n"
            "removed = kapi_types.is_registered()\n"
            "kapi_types.register()\n"
            "print(removed, kapi_types.is_registered())"
        )
        == "False True"
    )


USE = """
import numba, numpy as np, sys

class Array:
    usm_type = "shared"

    def __init__(self, array):
        self.array = array

    @property
    def __sycl_usm_array_interface__(self):
        address = self.array.__array_interface__["data"][0]
        return {"data": (address, False), "shape": (3,), "typestr": "<f8", "version": 1, "syclobj": None}

@numba.njit(cache=True)
def total(array):
    result = 0.0
    for x in array:
        result += x
    return result, array.sycl_queue, array

if __name__ == "__main__":
    array = Array(np.arange(3.0))
    result = total(array)
    print(result[0], result[1], result[2] is array, sum(total.stats.cache_hits.values()))
"""


def test_installed_package_is_registered_by_itself(program_for_the_host):
    """A program that never heard of kapi passes USM arrays, and its compiled code is found by the next process."""
    code = program_for_the_host(USE)
    assert [run(code), run(code)] == ["3.0 None True 0", "3.0 None True 1"]
