from __future__ import annotations

import dpctl

import kapi_runtime as kapi
from kapi_runtime import _drivers, doctor


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
    ):
        assert word in done.stdout
    assert done.stdout.endswith("problems\n  none\n")


def test_doctor_without_a_device_says_why_with_exit_status_1(run_python):
    done = run_python("", "-m", "kapi_runtime", KAPI_FIND_DRIVER="0", OCL_ICD_VENDORS="/nowhere")
    assert done.returncode == 1
    assert "devices\n  none" in done.stdout
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
    (problem,) = doctor._default_problems()
    assert "got Plain CPU (opencl:cpu:7)" in problem
    assert f"device='{good.filter_string}'" in problem


def test_doctor_reports_a_device_that_cannot_allocate(monkeypatch):
    def fail():
        raise MemoryError("none left")

    monkeypatch.setattr(doctor, "default_queue", fail)
    assert doctor._trial() == ["the default device must allocate and copy memory, got MemoryError: none left"]


def test_doctor_names_a_driver_path_with_a_space(monkeypatch):
    """Intel's driver in such a path lists a device that nothing can be done with."""
    search = _drivers.DriverSearch("wheel", "/home/a user/lib/libintelocl.so", "found")
    monkeypatch.setattr(_drivers, "driver_search", lambda: search)

    def fails():
        raise dpctl.SyclQueueCreationError("no context")

    monkeypatch.setattr(doctor, "default_queue", fails)
    problems = "\n".join(doctor.diagnose().problems)
    assert "the driver's path must have no spaces, got '/home/a user/lib/libintelocl.so'" in problems
