"""kapi-runtime without any platform: it can be imported, and whatever needs a device says what to install.

The session `without_platform` runs these where only the CPU's is installed; the libraries of all are hidden.
"""

from __future__ import annotations

import ast

import pytest

HIDDEN = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('cuda', 'dpctl', 'dpnp', 'kapi_cpu', 'kapi_ptx', 'kapi_spirv'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)

sys.meta_path.insert(0, Hidden())
import numpy as np
import kapi_runtime as kapi

def message(function, *arguments):
    try:
        function(*arguments)
    except kapi.KapiError as error:
        return f'{type(error).__name__}: {error}, code {error.code}'

@kapi.kernel
def double(item: kapi.Item, a):
    a[item.get_id(0)] *= 2
"""
ANY = "pip install kapi-cpu"


@pytest.fixture
def run(run_python):
    """Run lines where no platform is installed, and return what they print."""

    def run_lines(lines: str) -> str:
        done = run_python(HIDDEN + lines)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_lines


def test_import_and_kernels_need_no_platform(run):
    assert run("print(double, kapi.Range(4), kapi.compat.is_available(), len(kapi.devices))").split() == [
        "<kernel",
        "double>",
        "Range(4)",
        "False",
        "0",
    ]


def test_every_name_is_there_without_a_platform(run):
    assert run("print([name for name in kapi.__all__ if not hasattr(kapi, name)])").strip() == "[]"


def test_numba_cuda_s_names_need_no_platform(run):
    lines = "import kapi_runtime.compat as cuda\nprint(cuda.is_available(), list(cuda.gpus), cuda.event().query())"
    assert run(lines).split() == ["False", "[]", "True"]


def test_import_asks_no_platform_s_library(run_python):
    done = run_python("import sys, kapi_runtime\nprint([n for n in ('cuda', 'dpctl', 'dpnp') if n in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


CALLS = (
    "kapi.devices",
    "lambda: kapi.devices.current",
    "lambda: kapi.devices[0]",
    "lambda: double[4](np.ones(4))",
    "kapi.default_queue",
    "lambda: kapi.device_context('cpu').__enter__()",
    "lambda: kapi.memory.device_array(4)",
)


def test_what_needs_a_device_says_what_to_install(run):
    messages = run("\n".join(f"print(repr(message({call})))" for call in CALLS)).splitlines()
    for call, written in zip(CALLS, messages, strict=True):
        said = ast.literal_eval(written)
        assert said.startswith("DeviceNotFoundError: a platform must be installed"), call
        assert ANY in said, call
        assert said.split()[-1] == "platform-absent", call


THEIRS = (
    ("__cuda_array_interface__ = {}", "CUDA", "cuda"),
    ("__sycl_usm_array_interface__ = {}", "SYCL", "sycl"),
    ("__dlpack_device__ = lambda self: (2, 0)", "CUDA", "cuda"),
    ("__dlpack_device__ = lambda self: (14, 0)", "SYCL", "sycl"),
)


def test_array_of_a_missing_platform_is_refused_by_name(run):
    lines = "class Theirs:\n    {}\nprint(repr(message(lambda: double[4](Theirs()))))\n"
    messages = run("".join(lines.format(attributes) for attributes, *_ in THEIRS)).splitlines()
    for (_, title, extra), written in zip(THEIRS, messages, strict=True):
        said = ast.literal_eval(written)
        assert said.startswith(
            "ExecutionPlacementError: argument `a` of kernel `double` must be an array of a platform"
        )
        assert f"got a Theirs of {title}" in said
        assert f'pip install "kapi-runtime[{extra}]"' in said


def test_code_for_a_missing_platform_is_refused(run):
    said = run("print(message(lambda: kapi.load_opencl('kernel void f() {}', 'f', {})))")
    assert "SYCL must be installed for code of kernel `f`" in said
    assert 'pip install "kapi-runtime[sycl]"' in said


def test_command_says_what_to_install(run):
    said = run("from kapi_runtime.__main__ import main\nprint(main([]))")
    assert ANY in said
    assert said.splitlines()[-1] == "1"
