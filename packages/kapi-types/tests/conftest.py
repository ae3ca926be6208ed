from __future__ import annotations

import ctypes
import importlib.util
import pickle

import numpy as np
import pytest

import kapi_types
from kapi_types._numba_compat import FunctionPass, register_pass, target_registry
from kapi_types.kernel_typing import TARGET_NAME, KernelCompiler, KernelTypingContext, kernel_flags

collect_ignore = ["third_party"]  # a package of its own, tested as it is installed


class UsmArray:
    """Stands in for a USM array: the protocol over NumPy memory, and the USM kind if there shall be one."""

    def __init__(self, array, queue="a queue", usm_type=None):
        if usm_type:
            self.usm_type = usm_type
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        first = array.__array_interface__["data"][0]
        offset, misaligned = divmod(first - base.__array_interface__["data"][0], array.itemsize)
        assert not misaligned
        is_plain = array.flags.c_contiguous and offset == 0
        self.array = array
        self.__sycl_usm_array_interface__ = {
            "data": (base.__array_interface__["data"][0], not array.flags.writeable),
            "shape": array.shape,
            # As dpctl's arrays do: no strides where the shape implies them.
            "strides": None if is_plain else tuple(stride // array.itemsize for stride in array.strides),
            "offset": offset,
            "typestr": array.dtype.str,
            "version": 1,
            "syclobj": queue,
        }


@pytest.fixture
def usm_array():
    """Wrap a NumPy array in the USM array protocol."""
    return UsmArray


class Sycl:
    """Stands in for a queue or event: hands out a capsule, counts waits, and is equal to its equals."""

    NAMES = (b"SyclQueueRef", b"SyclEventRef", b"SyclDeviceRef")
    new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )

    def __init__(self, number=0):
        self.number = number
        self.waits = 0

    def _get_capsule(self):
        return self.new_capsule(1, self.NAME, None)

    def __eq__(self, other):
        return self.number == other.number

    __hash__ = None

    def wait(self):
        self.waits += 1


@pytest.fixture(params=Sycl.NAMES, ids=lambda name: name.decode())
def any_sycl_class(request):
    """A new class of queues, of events, and of devices."""
    return type("Double", (Sycl,), {"NAME": request.param})


@pytest.fixture
def queue_class():
    """A new class of queues."""
    return type("Queue", (Sycl,), {"NAME": b"SyclQueueRef"})


@pytest.fixture
def event_class():
    """A new class of events."""
    return type("Event", (Sycl,), {"NAME": b"SyclEventRef"})


@pytest.fixture
def registered():
    """Numba knows USM arrays, whatever tests before have done, and compiles their functions for the host."""
    # In an environment that holds all of kapi, functions would go to a device, which the doubles here have not. Numba
    # imports these hooks at its first compile, which may be after this.
    offload = importlib.import_module("_kapi_numba_hooks") if importlib.util.find_spec("_kapi_numba_hooks") else None
    if offload:
        offload.remove()
    kapi_types.register()
    yield
    kapi_types.register()
    if offload:
        offload.install()


@pytest.fixture
def program_for_the_host(tmp_path):
    """Write a program to a file, and return code that runs it in a process whose functions go to no device."""

    def write(program):
        script = tmp_path / "program.py"
        script.write_text(program)
        return (
            "import importlib.util, runpy\n"
            "if importlib.util.find_spec('_kapi_numba_hooks'):\n"
            "    __import__('_kapi_numba_hooks').remove()\n"
            f"runpy.run_path({str(script)!r}, run_name='__main__')"
        )

    return write


@register_pass(mutates_CFG=False, analysis_only=True)
class _StopHere(FunctionPass):
    """Stands in for a back end's lowering: what was inferred is the result."""

    _name = "kapi_test_stop_here"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        state.cr = Inferred(state)
        return False


class Inferred:
    """The types that inference found: of what the function returns, and of each variable, all its definitions."""

    def __init__(self, state):
        self.returned = state.return_type
        self.variables = {}
        for name, type_ in state.typemap.items():
            if name.isidentifier() or name.split(".")[0].isidentifier():
                self.variables.setdefault(name.split(".")[0], set()).add(type_)

    def __getitem__(self, name):
        """The one type that all definitions of the variable have."""
        (type_,) = self.variables[name]
        return type_


class _NoTargetContext:
    """The part of a back end that Numba's compiler uses before any of its passes run."""

    target = target_registry[TARGET_NAME]
    call_conv = None

    def refresh(self):
        pass

    def subtarget(self, **settings):
        return self


class FrontEnd(KernelCompiler):
    def add_lowering(self, passes):
        passes.add_pass(_StopHere, "nothing more")


@pytest.fixture(scope="session")
def typing_context():
    return KernelTypingContext()


@pytest.fixture(scope="session")
def infer(typing_context):
    """Run the front end alone; with `returns=types.none` the function is a kernel, else a device function."""

    def run(function, *args, returns=None):
        def compile_(callee, callee_args, callee_returns=None):
            compiler = FrontEnd(
                typing_context, _NoTargetContext(), None, callee_args, callee_returns, kernel_flags(), {}
            )
            return compiler.compile_extra(callee)

        with typing_context.compiling(lambda callee, callee_args: compile_(callee, callee_args).returned):
            return compile_(function, args, returns)

    return run


@pytest.fixture
def pickled():
    """A copy that went through pickle."""
    return lambda value: pickle.loads(pickle.dumps(value))
