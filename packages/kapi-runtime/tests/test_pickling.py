from __future__ import annotations

import importlib
import pickle
import subprocess
import sys

import dpnp

import kapi_runtime as kapi

FACTOR = 3


@kapi.device_func
def scaled(x):
    return x * FACTOR


@kapi.kernel
def scale(item: kapi.Item, values):
    i = item.get_id(0)
    values[i] = scaled(values[i])


def made_inside(offset):
    @kapi.kernel(fastmath=True)
    def add(item: kapi.Item, values):
        i = item.get_id(0)
        values[i] = scaled(values[i]) + offset

    return add


def result_of(kernel):
    values = dpnp.arange(5, dtype="int64")
    kernel[5](values)
    return values.asnumpy().tolist()


def test_kernel_of_a_module_travels_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "some_kernels.py").write_text(
        "import kapi_runtime as kapi\n"
        "@kapi.kernel\ndef negate(item: kapi.Item, values):\n    i = item.get_id(0)\n    values[i] = -values[i]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    negate = importlib.import_module("some_kernels").negate

    pickled = pickle.dumps(negate)
    assert pickle.loads(pickled) is negate
    assert len(pickled) < 200


def test_kernel_made_inside_of_a_function_travels_with_its_code():
    kernel = made_inside(10)
    assert result_of(kernel) == [10, 13, 16, 19, 22]
    again = pickle.loads(pickle.dumps(kernel))
    assert again is not kernel
    assert again.options == kernel.options
    assert again.statistics.modules == 0, "nothing that was compiled travels"
    assert result_of(again) == [10, 13, 16, 19, 22]


LOADS = """
import pickle, sys
import dpnp, kapi_runtime
kernel = pickle.load(sys.stdin.buffer)
values = dpnp.arange(5, dtype="int64")
kernel[5](values)
print(values.asnumpy().tolist())
"""


def test_kernel_runs_in_a_process_that_knows_nothing_of_it():
    done = subprocess.run(
        [sys.executable, "-c", LOADS], input=pickle.dumps(made_inside(1)), capture_output=True, check=False, timeout=300
    )
    assert done.stdout.decode().strip() == "[1, 4, 7, 10, 13]", done.stderr.decode()


MAIN = """
import multiprocessing, sys
import dpnp, kapi_runtime as kapi

@kapi.kernel
def double(item: kapi.Item, values):
    i = item.get_id(0)
    values[i] = values[i] * 2

def run(kernel):
    values = dpnp.arange(4)
    kernel[4](values)
    return values.asnumpy().tolist()

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(run, (double,)), pool.apply(run, (kapi.load_opencl(
            "kernel void one(global long *x) { x[get_global_id(0)] = 1; }", "one", {"x": "int64[:]"}),)))
"""


def test_kernel_of_the_program_itself_goes_to_a_process_pool(run_python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(MAIN)
    done = run_python("", str(program))
    assert done.stdout.strip() == "[0, 2, 4, 6] [1, 1, 1, 1]", done.stderr
