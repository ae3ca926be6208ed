"""Kernels in other processes, without cloudpickle: kapi-sim does not need it."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kapi_sim as kapi


@kapi.device_func
def doubled(x):
    return 2 * x


@kapi.kernel
def double(item: kapi.Item, a):
    a[item.get_id(0)] = doubled(a[item.get_id(0)])


@pytest.mark.parametrize("each", [double, doubled], ids=["kernel", "device function"])
def test_names_of_modules_travel_as_names(each):
    pickled = pickle.dumps(each)
    assert pickle.loads(pickled) is each
    assert len(pickled) < 200


def test_local_kernel_needs_cloudpickle(monkeypatch):
    @kapi.kernel
    def local(item: kapi.Item, a):
        a[item.get_id(0)] = 1

    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pickle.PicklingError, match="must be a global of its module to be pickled, unless cloudpickle"):
        pickle.dumps(local)


def test_kernel_of_a_program_reaches_the_processes_that_it_spawns(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing, sys
            import numpy as np
            import kapi_sim as kapi

            sys.modules["cloudpickle"] = None

            @kapi.kernel
            def count(item: kapi.Item, a):
                a[item.get_id(0)] = 1 + item.get_id(0)

            def run(kernel):
                a = np.zeros(3)
                kapi.call_kernel(kernel, kapi.Range(3), a)
                return a.tolist()

            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.map(run, [count]))
            """
        ),
        "utf-8",
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, check=False)
    assert done.stdout == "[[1.0, 2.0, 3.0]]\n", done.stderr


def test_kernel_runs_after_a_journey():
    a = np.arange(3.0)
    kapi.call_kernel(pickle.loads(pickle.dumps(double)), kapi.Range(3), a)
    assert a.tolist() == [0, 2, 4]
