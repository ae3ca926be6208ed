"""What drivers do wrong and kapi works around, fed to them as it is: a test that fails here means one is mended.

Each case is OpenCL C, given to the driver by pyopencl in a process of its own, with nothing of kapi in between.
"""

import subprocess
import sys
import textwrap

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi

PRELUDE = textwrap.dedent(
    """
    import os, tempfile
    from kapi_runtime import _drivers
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "driver.icd"), "w") as file:
        file.write(_drivers.driver_search().library)
    os.environ["OCL_ICD_VENDORS"] = folder
    os.environ["PYOPENCL_NO_CACHE"] = "1"
    import numpy as np
    import pyopencl as cl
    device = [each for platform in cl.get_platforms() for each in platform.get_devices()][0]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    def run(body, items):
        source = "kernel void k(global float* o, const long n) { const long i = get_global_id(0); %s }" % body
        program = cl.Program(context, source).build()
        result = np.zeros(items, np.float32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, result.nbytes)
        program.k(queue, (items,), None, buffer, np.int64(64))
        cl.enqueue_copy(queue, result, buffer)
        return result
    """
)


def in_opencl_c(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, check=False)


def test_driver_crashes_on_a_loop_that_swaps_variables():
    """`a, b = b, a + b`: while this crashes, `kapi_spirv.emission._recurrences.break_recurrences` is needed."""
    swap = "long a = 0, b = 1; for (long k = 0; k < i; k++) { const long t = a + b; a = b; b = t; } o[i] = a;"
    done = in_opencl_c(f"print(run({swap!r}, 10))")
    assert done.returncode < 0, f"the driver is mended: {done.stdout}; break_recurrences can go"


def test_driver_reassociates_sums_in_single_work_items():
    """A lone work-item sums in another order than one of sixteen: kapi cannot mend this, and FINDINGS.md says so."""
    total = "float s = 0; for (long k = 0; k < n; k++) s += k == 0 ? 0.1f : 0.1f + (float)(k & 1) * 1e-3f; o[i] = s;"
    done = in_opencl_c(f"print(float(run({total!r}, 16)[0]) == float(run({total!r}, 1)[0]))")
    assert done.stdout == "False\n", f"the driver is mended: FINDINGS.md can say so {done.stderr}"


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_kernel_that_swaps_variables_runs(dtype):
    """The loop that crashes the driver as it is, in a kernel."""

    @kapi.kernel
    def fibonacci(item: kapi.Item, out):
        i = item.get_id(0)
        a, b = out.dtype.type(0), out.dtype.type(1)
        for _ in range(i):
            a, b = b, a + b
        out[i] = a

    out = dpnp.zeros(20, dtype=dtype)
    kapi.call_kernel(fibonacci, kapi.Range(20), out)
    expected = [0, 1]
    while len(expected) < 20:
        expected.append(expected[-2] + expected[-1])
    np.testing.assert_array_equal(out.asnumpy(), np.array(expected, dtype))
