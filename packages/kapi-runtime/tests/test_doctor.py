from __future__ import annotations

import dpctl

import kapi_runtime as kapi
from kapi_runtime.diagnosis import report as diagnosis
from kapi_runtime.sycl import diagnosis as sycl_diagnosis
from kapi_runtime.sycl.devices import drivers
from kapi_runtime.sycl.native import native_functions
from kapi_runtime.sycl.platform import SyclPlatform


def test_doctor_prints_devices_and_versions_and_finds_nothing_wrong(run_python):
    done = run_python("", "-m", "kapi_runtime")
    assert done.returncode == 0, done.stdout + done.stderr
    for word in (
        "devices",
        "(default)",
        "versions",
        "Python",
        "dpctl",
        "numba",
        "llvmlite",
        "intel-opencl-rt",
        "found by kapi_runtime in the environment's wheels",
        "launches\n  sycl  native\n",
    ):
        assert word in done.stdout
    assert done.stdout.endswith("problems\n  none\n")


def test_doctor_says_why_launches_take_the_slow_path(monkeypatch):
    assert sycl_diagnosis._launches() == "native"
    monkeypatch.setattr(native_functions, "_made", [])
    monkeypatch.setattr(native_functions, "_have_identities", lambda queue: False)
    assert sycl_diagnosis._launches() == (
        "plain, the slow way: copies of an event of SYCL's must begin with the same word, and other events with others"
    )
    monkeypatch.setattr(native_functions, "why_not", lambda: "")
    monkeypatch.setattr(sycl_diagnosis, "ordering_problem", lambda queue: "order")
    monkeypatch.setattr(sycl_diagnosis, "learn", lambda array: False)
    assert "order; dpnp's arrays must be laid out in memory as its headers say, got" in sycl_diagnosis._launches()


def test_doctor_without_a_sycl_device_says_why_with_exit_status_1(run_python):
    done = run_python("", "-m", "kapi_runtime", KAPI_FIND_DRIVER="0", OCL_ICD_VENDORS="/nowhere")
    assert done.returncode == 1
    assert "devices\n  cpu:0: " in done.stdout
    assert "KAPI_FIND_DRIVER=0 turns the search for a driver off" in done.stdout


def test_doctor_with_an_unknown_command_exits_with_2(run_python):
    done = run_python("", "-m", "kapi_runtime", "cure")
    assert done.returncode == 2
    assert "invalid choice: 'cure'" in done.stderr


def test_doctor_reports_a_default_device_without_usm(monkeypatch):
    good = kapi.default_device()

    class Plain:
        name = "Plain CPU"
        filter_string = "opencl:cpu:7"
        has_aspect_usm_device_allocations = has_aspect_usm_shared_allocations = False

    monkeypatch.setattr(dpctl, "select_default_device", Plain)
    (problem,) = sycl_diagnosis._default_problems()
    assert "got Plain CPU (opencl:cpu:7)" in problem
    assert f"device='{good.filter_string}'" in problem


def test_doctor_reports_a_device_that_cannot_allocate(monkeypatch):
    def fail():
        raise MemoryError("none left")

    monkeypatch.setattr(sycl_diagnosis, "default_queue", fail)
    assert sycl_diagnosis._trial() == ["the default device must allocate and copy memory, got MemoryError: none left"]


def test_doctor_names_a_driver_path_with_a_space(monkeypatch):
    """Intel's driver in such a path lists a device that nothing can be done with."""
    search = drivers.DriverSearch("wheel", "/home/a user/lib/libintelocl.so", "found")
    monkeypatch.setattr(drivers, "driver_search", lambda: search)

    def fails():
        raise dpctl.SyclQueueCreationError("no context")

    monkeypatch.setattr(sycl_diagnosis, "default_queue", fails)
    problems = "\n".join(diagnosis.diagnose().problems)
    assert "the driver's path must have no spaces, got '/home/a user/lib/libintelocl.so'" in problems


def test_detect_prints_a_table_and_reports_whether_there_is_a_device(capsys):
    assert kapi.compat.detect() is True
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["device", "name", "kind", "units", "memory", "driver"]
    assert len(rows) == len(kapi.devices)
    assert rows[0].startswith(kapi.devices[0].filter_string)
    assert rows[0].endswith("default")


def test_detect_without_another_device_shows_the_cpu(run_python):
    done = run_python("import kapi_runtime; print(kapi_runtime.compat.detect())", OCL_ICD_VENDORS="/nowhere")
    _, row, last = done.stdout.splitlines()
    assert row.startswith("cpu:0 ")
    assert row.endswith("default")
    assert last == "True"


def test_detect_without_a_device_says_why(capsys, monkeypatch):
    monkeypatch.setattr("kapi_runtime.host.devices.installed.platforms", lambda: [SyclPlatform()])
    monkeypatch.setattr(SyclPlatform, "devices", lambda self: [])
    assert kapi.compat.detect() is False
    assert "a device with unified shared memory must be present, got" in capsys.readouterr().out


def test_doctor_prints_the_diagnosis_and_reports_whether_all_is_well(capsys):
    assert kapi.doctor() is True
    assert capsys.readouterr().out == f"{diagnosis.diagnose()}\n"
