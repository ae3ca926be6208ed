"""The package: what it exports, and what importing it does not."""

import subprocess
import sys

import pytest

import kapi_cpu
from kapi_cpu import CpuTarget, compile_kernel
from kapi_sim.errors import KernelCompilationError


def test_importing_it_brings_no_compiler():
    code = "import sys, kapi_cpu; print([name for name in ('numba', 'llvmlite') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exported_names_are_there():
    assert [name for name in kapi_cpu.__all__ if not hasattr(kapi_cpu, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        kapi_cpu.nothing  # noqa: B018


def test_target_must_be_one():
    with pytest.raises(TypeError, match="target must be a CpuTarget, got 'avx2'"):
        compile_kernel(lambda item: None, "item1", target="avx2")


def test_problems_name_their_lines():
    def kernel(item, x):
        x[item.get_id(0)] = open("file")

    with pytest.raises(KernelCompilationError, match=r"test_package\.py:\d+"):
        compile_kernel(kernel, "item1, float32[:]")


@pytest.mark.parametrize(
    ("features", "bits"), [("+sse2", 128), ("+avx,+avx2", 256), ("+avx2,+avx512f", 512), ("+neon", 128)]
)
def test_features_say_how_wide_vectors_are(features, bits):
    assert CpuTarget("x86_64-unknown-linux-gnu", "e", "generic", features).vector_bits == bits
