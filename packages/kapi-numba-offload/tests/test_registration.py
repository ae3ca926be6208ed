"""Registration with Numba: by itself, cheap, repeatable and removable."""

import subprocess
import sys

import numba
import pytest

import _kapi_numba_hooks
import kapi_numba_offload
import kapi_runtime
import kapi_types
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises

# dpnp 0.20 does it in `int(array)`; NumPy 2.5, which Python 3.12 and later get, tells of it.
OF_DPNP = ["-W", "ignore:Setting the shape on a NumPy array:DeprecationWarning"]


def run(code):
    return subprocess.run(
        [sys.executable, "-W", "error", *OF_DPNP, "-c", code], capture_output=True, text=True, check=False
    )


def test_registration_happens_by_installation():
    """Plain njit offloads in a program that imports nothing of kapi but the runtime."""
    done = run("import kapi_runtime, dpnp, numba\nprint(numba.njit(lambda a, b: a + b)(dpnp.ones(2), dpnp.ones(2)))")
    assert (done.stdout.strip(), done.returncode) == ("[2. 2.]", 0), done.stderr


def test_registration_imports_nothing_of_kapi():
    """A program without USM arrays pays for no import of kapi's packages or device libraries."""
    done = run(
        "import sys, numba\n"
        "numba.njit(lambda a: a + 1)(1)\n"
        "import _kapi_numba_hooks; assert _kapi_numba_hooks.is_installed()\n"
        "print([name for name in sys.modules if name.split('.')[0] in\n"
        "       ('kapi_sim', 'kapi_types', 'kapi_runtime', 'kapi_numba_offload', 'dpctl', 'dpnp')])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_removal_before_the_first_compile_holds():
    """Numba's own start does not undo the program's choice: functions are compiled for the host."""
    done = run(
        "import kapi_numba_offload, dpnp, numba\n"
        "kapi_numba_offload.unregister()\n"
        "import _kapi_numba_hooks; _kapi_numba_hooks.init()\n"
        "array = dpnp.ones(3, usm_type='shared')\n"
        "print(numba.njit(lambda array: (array.usm_type, array[0]))(array), kapi_numba_offload.is_registered())"
    )
    assert (done.stdout.strip(), done.returncode) == ("('shared', 1.0) False", 0), done.stderr


def test_registration_is_idempotent_and_removable():
    """Twice is once, and removing it leaves what kapi-types does; removing that too leaves Numba as it was."""
    import dpnp

    try:
        kapi_numba_offload.register()
        kapi_numba_offload.register()
        assert kapi_numba_offload.is_registered()
        kapi_numba_offload.unregister()
        assert not kapi_numba_offload.is_registered()
        with raises(KernelCompilationError, "host-memory-access"):
            numba.njit(lambda a: a[0])(dpnp.ones(2))
        kapi_types.unregister()
        with pytest.raises(numba.TypingError, match="Cannot determine Numba type"):
            numba.njit(lambda a: a[0])(dpnp.ones(2))
    finally:
        kapi_numba_offload.register()


@pytest.mark.parametrize("decorate", [numba.njit, kapi_numba_offload.dpjit], ids=["njit", "dpjit"])
def test_functions_that_make_their_arrays_are_offloaded(decorate):
    """No argument is a USM array: the function speaks of dpnp, by a global or a closure."""
    import dpctl
    import dpnp

    @decorate
    def ramp(count, queue):
        found = dpnp.full(count, 2, dtype=dpnp.float32, usm_type="host", sycl_queue=queue)
        return found + dpnp.arange(count, dtype=dpnp.float32, usm_type="host", sycl_queue=queue)

    queue = dpctl.SyclQueue()
    result = ramp(3, queue)
    assert (result.usm_type, result.sycl_queue, result.dtype) == ("host", queue, "float32")
    assert result.asnumpy().tolist() == [2.0, 3.0, 4.0]


def test_functions_that_launch_kernels_need_no_array_argument():
    """Index spaces are made in them as outside."""

    @kapi_numba_offload.dpjit
    def space(extents):
        index_space = kapi_runtime.Range(*extents)
        return kapi_runtime.NdRange(index_space, index_space)

    assert space((4, 2)) == kapi_runtime.NdRange((4, 2), (4, 2))


@kapi_runtime.kernel
def _plus_one(item, a):
    a[item.get_id(0)] += 1


def test_functions_launch_kernels():
    """Over a space that they are given, and over one that they make."""
    import dpctl
    import dpnp

    @kapi_numba_offload.dpjit
    def launches_it(a, space):
        kapi_runtime.call_kernel(_plus_one, space, a)
        kapi_runtime.call_kernel(_plus_one, kapi_runtime.Range(a.size), a)
        return a, dpctl.SyclEvent()

    found, event = launches_it(dpnp.zeros(4), kapi_runtime.Range(4))
    assert found.asnumpy().tolist() == [2.0] * 4
    assert type(event) is dpctl.SyclEvent


def test_numba_version_is_in_the_supported_range():
    """The internals in use are those of the installed Numba."""
    lowest, highest = (
        tuple(int(part) for part in bound.strip("<>=").split(".")) for bound in _kapi_numba_hooks.SUPPORTED_NUMBA
    )
    installed = tuple(int(part) for part in numba.__version__.split(".")[:2])
    assert lowest <= installed < highest


def test_each_patch_of_numba_can_be_undone():
    """The list has all that is replaced, and `undo` restores Numba's own."""
    assert [f"{each.owner.__name__}.{each.attribute}" for each in _kapi_numba_hooks.PATCHES] == [
        "Compiler.define_pipelines",
        "Dispatcher.offload_diagnostics",
        "CPUDispatcher.__call__",
        "CPUDispatcher._compile_for_args",
        "Dispatcher._search_new_conversions",
        "DUFunc.__call__",
        "GUFunc.__call__",
    ]
    kapi_numba_offload.unregister()
    try:
        assert not any(each.is_applied for each in _kapi_numba_hooks.PATCHES)
    finally:
        kapi_numba_offload.register()
    assert [each.is_applied for each in _kapi_numba_hooks.PATCHES] == [True, True, False, True, True, True, True]
