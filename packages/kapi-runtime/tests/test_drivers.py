from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from kapi_runtime.sycl.devices import drivers

LIBRARY = next(
    str(Path(str(file.locate())).resolve().parent / file.name)
    for file in importlib.metadata.files("intel-opencl-rt") or ()
    if file.name == "libintelocl.so"
)
USE_DEVICE = "a = dpnp.arange(10, dtype='f4'); print((a + 1).sum(), a.sycl_queue.sycl_device == kapi.default_device())"


@pytest.fixture
def vendors(tmp_path, monkeypatch):
    """A folder that stands for the system's registered drivers; called with file names and what they hold."""

    def register(**libraries: str) -> str:
        for name, library in libraries.items():
            (tmp_path / f"{name}.icd").write_text(library + "\n")
        monkeypatch.setattr(drivers, "SYSTEM_VENDORS", str(tmp_path))
        return str(tmp_path)

    return register


@pytest.fixture
def no_wheel(monkeypatch):
    """As if no wheel had brought a driver."""
    monkeypatch.setattr(drivers, "_wheel_paths", lambda: iter(["/nowhere/lib/libintelocl.so"]))


@pytest.fixture
def without_usm(tmp_path):
    """A driver library that does not know unified shared memory."""
    library = tmp_path / "libplain.so.1"
    library.write_bytes(b"an OpenCL driver")
    return str(library)


@pytest.mark.parametrize(
    "imports",
    ["import kapi_runtime as kapi, dpnp", "import dpnp; import kapi_runtime as kapi"],
    ids=["kapi first", "dpnp first"],
)
def test_driver_of_the_wheel_is_found_without_a_variable(run_python, imports):
    done = run_python(f"{imports}\n{USE_DEVICE}")
    assert done.stdout.split() == ["55.", "True"], done.stderr


def test_driver_search_says_that_the_wheel_provides_it(run_python):
    done = run_python(
        "import os, kapi_runtime; from kapi_runtime.sycl.devices.drivers import driver_search as s\n"
        "print(s().how, os.environ['OCL_ICD_FILENAMES'] == s().library)"
    )
    assert done.stdout.split() == ["wheel", "True"], done.stderr


def test_driver_is_found_in_a_child_process_too(run_python):
    program = "import kapi_runtime, subprocess, sys\nsubprocess.run([sys.executable, '-c', {!r}], check=True)"
    child = "import kapi_runtime as k; from kapi_runtime.sycl.devices.drivers import driver_search as s; print(s().how)"
    assert run_python(program.format(child)).stdout.split() == ["wheel"]


def test_driver_search_is_turned_off_by_its_switch(run_python):
    done = run_python(
        "import os, kapi_runtime as kapi\n"
        "print(len(kapi.devices), 'OCL_ICD_FILENAMES' in os.environ)\nkapi.select_device('opencl:cpu')",
        KAPI_FIND_DRIVER="0",
        OCL_ICD_VENDORS="/nowhere",
    )
    assert done.stdout.split() == ["1", "False"]
    assert done.returncode == 1
    assert "KAPI_FIND_DRIVER=0 turns the search for a driver off" in done.stderr
    assert "unset KAPI_FIND_DRIVER" in done.stderr


def test_driver_folder_named_by_the_user_wins(run_python, tmp_path):
    (tmp_path / "mine.icd").write_text(LIBRARY)
    done = run_python(
        "import os, kapi_runtime as kapi; from kapi_runtime.sycl.devices.drivers import driver_search as s\n"
        "print(s().how, 'OCL_ICD_FILENAMES' in os.environ, kapi.compat.is_available())",
        OCL_ICD_VENDORS=str(tmp_path),
    )
    assert done.stdout.split() == ["user", "False", "True"], done.stderr


def test_driver_library_named_by_the_user_wins(run_python):
    done = run_python(
        "import os, kapi_runtime as kapi\nprint(os.environ['OCL_ICD_FILENAMES'])\nkapi.select_device('opencl:cpu')",
        OCL_ICD_FILENAMES="/nowhere/libmine.so",
        OCL_ICD_VENDORS="/nowhere",
    )
    assert done.stdout.strip() == "/nowhere/libmine.so"
    assert "OCL_ICD_FILENAMES is set and was left as it is: /nowhere/libmine.so" in done.stderr


def test_driver_folder_with_a_broken_driver_does_not_end_the_process(run_python, tmp_path):
    broken = tmp_path / "libbroken.so"
    broken.write_bytes(b"no library")
    (tmp_path / "a.icd").write_text(str(broken))
    (tmp_path / "b.icd").write_text(LIBRARY)
    done = run_python(f"import dpnp, kapi_runtime as kapi\n{USE_DEVICE}", OCL_ICD_VENDORS=str(tmp_path))
    assert done.stdout.split() == ["55.", "True"], done.stderr


def test_driver_search_says_when_a_device_was_queried_before(run_python):
    done = run_python(
        "import dpctl; dpctl.get_devices()\n"
        "import os; os.environ.pop('OCL_ICD_VENDORS')\nimport kapi_runtime as kapi; kapi.default_device()",
        OCL_ICD_VENDORS="/nowhere",
    )
    assert "asked for devices before it imported kapi_runtime" in done.stderr


def test_import_after_arrays_were_asked_for_says_so(run_python):
    """dpnp's own error has come before, and says nothing of a driver."""
    program = (
        "import dpctl, dpnp\ntry:\n    dpnp.ones(4)\nexcept dpctl.SyclDeviceCreationError as error:\n    print(error)\n"
        "import kapi_runtime"
    )
    done = run_python(program)
    assert "Default device is unavailable" in done.stdout
    assert "KapiWarning: no CPU device is visible: this process asked for devices before" in done.stderr


def test_selector_that_leaves_all_out_is_explained(run_python):
    done = run_python("import kapi_runtime as k; k.select_device('opencl:cpu')", ONEAPI_DEVICE_SELECTOR="opencl:cpu")
    assert "ONEAPI_DEVICE_SELECTOR is set to 'opencl:cpu' and may leave every device out" in done.stderr
    assert "'*:cpu'" in done.stderr


def test_message_without_any_driver_says_where_was_looked_and_what_to_install(run_python):
    done = run_python(
        "import importlib.metadata as m, sys; m.files = lambda name: None; sys.prefix = '/nowhere'\n"
        "import kapi_runtime as kapi; kapi.select_device('opencl:cpu')"
    )
    assert "DeviceNotFoundError: device must be the filter string of a device" in done.stderr
    assert "a device with unified shared memory must be present, got none" in done.stderr
    assert "looked in /etc/OpenCL/vendors/*.icd" in done.stderr
    assert "looked in /nowhere/lib/libintelocl.so" in done.stderr
    assert 'pip install "kapi-runtime[opencl-cpu]"' in done.stderr


def test_system_driver_is_not_listed_a_second_time(vendors):
    vendors(intel=LIBRARY)
    found = drivers.search({})
    assert (found.how, found.library, found.changed) == ("system", LIBRARY, ())


def test_system_driver_comes_before_one_without_usm(vendors, without_usm):
    vendors(a_plain=without_usm, b_intel=LIBRARY)
    found = drivers.search({})
    assert (found.how, found.changed) == ("system", (("OCL_ICD_FILENAMES", LIBRARY),))
    assert found.without_usm == (without_usm,)


def test_system_driver_that_is_not_there_does_not_count(vendors):
    vendors(intel="/nowhere/libintelocl.so")
    assert drivers.search({}).how == "wheel"


def test_driver_without_usm_alone_is_hidden_from_sycl(vendors, without_usm, no_wheel):
    vendors(plain=without_usm)
    found = drivers.search({})
    assert (found.how, found.changed) == ("none", (("ONEAPI_DEVICE_SELECTOR", "level_zero:*"),))


def test_driver_without_usm_stays_if_the_user_selects_devices(vendors, without_usm, no_wheel):
    vendors(plain=without_usm)
    assert drivers.search({"ONEAPI_DEVICE_SELECTOR": "opencl:*"}).changed == ()


def test_driver_with_usm_next_to_one_without_is_not_hidden(vendors, without_usm, no_wheel, tmp_path):
    other = tmp_path / "libgpu.so"
    other.write_bytes(b"..cl_intel_unified_shared_memory..")
    vendors(plain=without_usm, gpu=str(other))
    assert drivers.search({}).changed == ()


def test_driver_whose_plug_ins_know_usm_is_not_hidden(vendors, no_wheel, tmp_path):
    (tmp_path / "libmany.so.2").write_bytes(b"the core")
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "libmany-cpu.so").write_bytes(b"cl_intel_unified_shared_memory")
    vendors(many=str(tmp_path / "libmany.so.2"))
    assert drivers.search({}).without_usm == ()


def test_search_reads_no_device(run_python):
    done = run_python("import sys, kapi_runtime; print([n for n in ('dpctl', 'dpnp', 'numba') if n in sys.modules])")
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("flags", "before", "after"),
    [
        (["avx512f", "avx512_fp16"], {}, {"CL_CONFIG_CPU_TARGET_ARCH": "skx"}),
        (["avx512f", "avx512_fp16"], {"CL_CONFIG_CPU_TARGET_ARCH": "corei7"}, {"CL_CONFIG_CPU_TARGET_ARCH": "corei7"}),
        (["avx512f"], {}, {}),
    ],
    ids=["float16", "named", "without"],
)
def test_driver_compiles_for_no_processor_with_float16_instructions(flags, before, after):
    environment = dict(before)
    drivers._avoid_float16_instructions(environment, flags)
    assert environment == after
