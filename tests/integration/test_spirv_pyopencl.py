"""A compiled module in an OpenCL runtime of its own: loaded through pyopencl, with nothing of kapi's runtime.

pyopencl brings its own loader, which reads OCL_ICD_VENDORS; it is set for a process of its own, since dpctl's loader
reads it too.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

import pytest

PRELUDE = """
import math, sys, warnings
import numpy as np
import pyopencl as cl
from numba import types
from kapi_sim import AddressSpace, group_barrier
from kapi_spirv import compile_kernel
from kapi_types import ItemType, NdItemType, ArrayType

F32 = ArrayType(types.float32, 1, "C")
F32_2D = ArrayType(types.float32, 2, "C")
LOCAL = ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)

device = next(d for p in cl.get_platforms() for d in p.get_devices() if "SPIR-V_1.2" in d.il_version)
context = cl.Context([device])
queue = cl.CommandQueue(context)
warnings.simplefilter("ignore", cl.CompilerWarning)  # the driver says what it vectorised

def load(module):
    # Bytes make pyopencl call clCreateProgramWithIL.
    return cl.Kernel(cl.Program(context, module.code).build(), module.entry_point)

def shared(array):
    copy = cl.svm_empty(context, cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER,
                        array.shape, array.dtype)
    copy[...] = array
    return copy

def described(array):
    return [array.ctypes.data, *array.shape]
"""

PAIRWISE = (
    PRELUDE
    + '''
def pairwise_distance(item, data, distance):
    i = item.get_id(0)
    j = item.get_id(1)
    d = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        t = data[i, k] - data[j, k]
        d += t * t
    distance[i, j] = math.sqrt(d)

SOURCE = """
#pragma OPENCL FP_CONTRACT OFF
__kernel void pairwise(__global const float* data, __global float* distance, long n, long columns) {
    long j = get_global_id(0), i = get_global_id(1);
    float d = 0.0f;
    for (long k = 0; k < columns; ++k) {
        float t = data[i * columns + k] - data[j * columns + k];
        d += t * t;
    }
    distance[i * n + j] = sqrt(d);
}
"""
n, columns = 61, 17
module = compile_kernel(pairwise_distance, [ItemType(2), F32_2D, F32_2D])
data = shared(np.random.default_rng(0).standard_normal((n, columns)).astype(np.float32))
ours, theirs = shared(np.full((n, n), -1, np.float32)), shared(np.full((n, n), -2, np.float32))
kernel = load(module)
assert kernel.num_args == 1
kernel.set_arg(0, module.layout.pack([n, n, *described(data), *described(ours)]))
cl.enqueue_nd_range_kernel(queue, kernel, (64, 64), (16, 4)).wait()  # rounded up: what is outside does nothing

reference = cl.Kernel(cl.Program(context, SOURCE).build(), "pairwise")
reference.set_args(cl.SVM(data), cl.SVM(theirs), np.int64(n), np.int64(columns))
cl.enqueue_nd_range_kernel(queue, reference, (n, n), None).wait()
np.testing.assert_array_equal(ours, theirs)
np.testing.assert_allclose(ours, np.sqrt(((data[:, None] - data[None]) ** 2).sum(-1)), rtol=2e-6)
'''
)

LOCAL_MEMORY = (
    PRELUDE
    + '''
def rotate(item, a, out, tile, by):
    group = item.get_group()
    i = item.get_local_id(0)
    n = item.get_local_range(0)
    tile[i] = a[item.get_global_id(0)]
    group_barrier(group)
    out[item.get_global_id(0)] = tile[(i + by) % n]

SOURCE = """
__kernel void rotate_(__global const float* a, __global float* out, __local float* tile, long by) {
    long i = get_local_id(0), n = get_local_size(0);
    tile[i] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[(i + by) % n];
}
"""
n, group, by = 256, 32, 5
module = compile_kernel(rotate, [NdItemType(1), F32, F32, LOCAL, types.int64])
a = shared(np.arange(n, dtype=np.float32))
ours, theirs = shared(np.zeros(n, np.float32)), shared(np.ones(n, np.float32))
kernel = load(module)
assert kernel.num_args == 2
kernel.set_arg(0, module.layout.pack([*described(a), *described(ours), group, by]))
kernel.set_arg(1, cl.LocalMemory(4 * group))
cl.enqueue_nd_range_kernel(queue, kernel, (n,), (group,)).wait()

reference = cl.Kernel(cl.Program(context, SOURCE).build(), "rotate_")
reference.set_args(cl.SVM(a), cl.SVM(theirs), cl.LocalMemory(4 * group), np.int64(by))
cl.enqueue_nd_range_kernel(queue, reference, (n,), (group,)).wait()
np.testing.assert_array_equal(ours, theirs)
np.testing.assert_array_equal(ours, np.roll(np.arange(n).reshape(-1, group), -by, 1).ravel())
'''
)

CHECKED = (
    PRELUDE
    + """
from kapi_sim.language import KernelOptions
from kapi_spirv import FAILURE_RECORD_SIZE, FailureRecord

def shift(item, a, out, by):
    i = item.get_id(0)
    out[i] = a[i + by]

n = 64
options = KernelOptions(boundscheck=True, work_group_size=None, sub_group_size=16, fastmath=True)
module = compile_kernel(shift, [ItemType(1), F32, F32, types.int64], options=options)
kernel = load(module)
a, out = shared(np.arange(n, dtype=np.float32)), shared(np.zeros(n, np.float32))
for by, expected in ((0, None), (n - 3, [n, 0, n])):
    record = shared(np.zeros(FAILURE_RECORD_SIZE // 8, np.int64))
    kernel.set_arg(0, module.layout.pack([n, *described(a), *described(out), by, record.ctypes.data]))
    cl.enqueue_nd_range_kernel(queue, kernel, (n,), (16,)).wait()
    met = FailureRecord.read(record.tobytes())
    if expected is None:
        assert met is None
        np.testing.assert_array_equal(out, a)
    else:
        failure = module.failures[met.number]
        assert (failure.error, failure.args) == ("OutOfBoundsError", ("a",))
        assert met.details == (met.global_id[0] + by, 0, n)
        assert 3 <= met.global_id[0] < n
"""
)

LINKED = (
    PRELUDE
    + '''
from kapi_spirv import compile_spirv

def smooth(x, low, high):
    t = (x - low) / (high - low)
    if t < 0:
        t *= 0
    if t > 1:
        t = t * 0 + 1
    return t * t * (3 - 2 * t)

SOURCE = """
float smooth(float x, float low, float high);
__kernel void steps(__global float* a) { size_t i = get_global_id(0); a[i] = smooth(a[i], 1.0f, 3.0f); }
"""
code, return_type = compile_spirv(smooth, [types.float32] * 3, device_function=True)
assert return_type == types.float32
warnings.simplefilter("ignore", UserWarning)  # pyopencl's cache is not wanted here
program = cl.link_program(context, [cl.Program(context, code).compile(), cl.Program(context, SOURCE).compile()])
a = shared(np.linspace(0, 4, 33, dtype=np.float32))
t = np.clip((np.asarray(a) - 1) / 2, 0, 1)
kernel = cl.Kernel(program, "steps")
kernel.set_args(cl.SVM(a))
cl.enqueue_nd_range_kernel(queue, kernel, a.shape, None).wait()
np.testing.assert_allclose(a, t * t * (3 - 2 * t), rtol=1e-6)
'''
)

POSTLUDE = """
present = sorted({"dpctl", "dpnp", "kapi_runtime"} & set(sys.modules))
assert present == [], present
print("equal on", device.name)
"""


def driver():
    """The OpenCL CPU driver's library, as its wheel installed it."""
    (library,) = [
        file.locate()
        for file in importlib.metadata.files("intel-opencl-rt")
        if file.name.startswith("libintelocl.so") or file.name == "intelocl64.dll"
    ][:1]
    return os.path.realpath(library)


@pytest.mark.parametrize(
    "program",
    [PAIRWISE, LOCAL_MEMORY, CHECKED, LINKED],
    ids=["pairwise-distance", "local-memory", "index-checks", "linked-to-opencl-c"],
)
def test_module_runs_in_another_runtime(tmp_path, program):
    """With the packed argument as plain bytes, results are those of OpenCL C; failures are recorded, functions link."""
    path = tmp_path / "program.py"
    path.write_text(program + POSTLUDE)
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        env=os.environ | {"OCL_ICD_VENDORS": driver(), "PYOPENCL_NO_CACHE": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("equal on ")
