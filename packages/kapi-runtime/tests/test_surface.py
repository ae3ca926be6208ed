from __future__ import annotations

import inspect
import warnings

import dpnp
import pytest

import kapi_runtime as kapi
import kapi_sim
import kapi_sim.tracing.record
from kapi_sim.language import COMMON_NAMES
from kapi_sim.testing.reports import raises

HOST_API = {
    *("Context", "Device", "DeviceSummary", "Diagnosis", "Event", "EventStatus", "HostEvent", "MemoryInfo", "Queue"),
    *("cache", "close", "compat", "current_context", "default_device", "default_queue", "devices", "doctor"),
    *("external_queue", "queue", "select_device"),
    *("Entry", "Recording", "profiling", "memory", "runtime"),
    *("KernelInformation", "Statistics"),
    *("PrecompiledKernel", "load_opencl", "load_ptx", "load_spirv"),
}
LANGUAGE_CLASSES = {"DeviceFunction", "Graph", "Kernel"}


def test_surface_is_the_common_names_and_the_host_api():
    assert set(kapi.__all__) == set(COMMON_NAMES) | HOST_API | LANGUAGE_CLASSES


@pytest.mark.parametrize("name", sorted(COMMON_NAMES))
def test_common_name_is_there(name):
    assert hasattr(kapi, name)
    assert name in dir(kapi)


def test_vocabulary_is_kapi_sim_s_own():
    own = {"Kernel", "Profile", "debug", "trace", "call_kernel", "call_kernel_async", "kernel", "simulation"}
    own |= {"algorithms", "device_context", "graph"}
    for name in set(COMMON_NAMES) - own:
        assert getattr(kapi, name) is getattr(kapi_sim, name)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'kapi_runtime' has no attribute 'nothing'"):
        _ = kapi.nothing


HOST_MODULES = (
    *("host.contexts", "sycl.devices.device", "sycl.devices.device_summary", "compat", "diagnosis.report"),
    *("sycl.devices.discovery", "sycl.devices.driver_setup", "sycl.queues.events", "sycl.queues.queue", "memory"),
    *("recording.profile", "recording.trace_format", "sycl.programs.build_log", "sycl.devices.drivers"),
)

BROUGHT = """
import importlib, sys
def brought():
    allowed = ("kapi_types", "kapi_types.usm", "kapi_types.usm.queue_waits", "kapi_types.usm.structures")
    return [
        name
        for name in sys.modules
        if name.split(".")[0] in ("numba", "llvmlite", "kapi_spirv", "dpnp")
        or name.split(".")[0] == "kapi_types" and name not in allowed
        or name in ("kapi_runtime.launch.preparation", "kapi_runtime.kernels.kernel")
    ]
for module in sys.argv[1:]:
    importlib.import_module(f"kapi_runtime.{module}")
    if brought():
        print(module, brought())
import kapi_runtime as k
k.compat.is_available(), k.devices(), k.default_queue()
print("devices", brought())
"""


def test_host_api_imports_no_numba_and_no_compiler(run_python):
    done = run_python("", "-c", BROUGHT, *HOST_MODULES)
    assert done.stdout.strip() == "devices []", done.stdout + done.stderr


def test_diagnosis_imports_no_numba(run_python):
    done = run_python(
        "import sys; from kapi_runtime.diagnosis.report import diagnose; diagnose()\n"
        "print([n for n in ('numba', 'llvmlite', 'kapi_spirv') if n in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_import_does_without_the_simulator(run_python):
    done = run_python(
        "import sys, kapi_runtime\n"
        "rooms = ('checks', 'instrument', 'kernels', 'launch', 'memory', 'numbers', 'run', 'settings', 'tracing')\n"
        "print([room for room in rooms if f'kapi_sim.{room}' in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_kernel_side_imports_no_dpnp(run_python):
    done = run_python("import sys, kapi_runtime as k; k.kernel, k.simulation; print('dpnp' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


@kapi.kernel
def fill(item: kapi.Item, target):
    target[item.get_id(0)] = 1.0


def test_simulation_reports_that_nothing_was_checked(monkeypatch):
    from kapi_runtime.kernels import simulator_controls

    monkeypatch.setattr(simulator_controls, "_warned", set())
    with (
        pytest.warns(kapi.SimulatorOnlyWarning, match="`simulation` must be used with kapi_sim to have an effect"),
        kapi.simulation(seed=3) as report,
    ):
        fill[4](dpnp.zeros(4))
    assert str(report) == "fill over Range(4): ran on device, nothing checked"


def test_simulator_control_warns_once(monkeypatch):
    from kapi_runtime.kernels import simulator_controls

    monkeypatch.setattr(simulator_controls, "_warned", {"simulation"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with kapi.simulation() as report:
            pass
    assert str(report) == "ran on device, nothing checked"


def test_profile_is_taken_with_a_warning(monkeypatch):
    from kapi_runtime.kernels import simulator_controls

    monkeypatch.setattr(simulator_controls, "_warned", {"simulation"})
    with pytest.warns(kapi.SimulatorOnlyWarning, match="`Profile`"):
        profile = kapi.Profile(has_fp64=False)
    with kapi.simulation(profile=profile):
        fill[4](dpnp.zeros(4))
    assert not profile.has_fp64


def test_simulation_validates_its_controls():
    with raises(kapi.KernelLaunchError, "simulation-schedules"), kapi.simulation(schedules=0):
        pass


def test_simulation_has_the_simulator_s_controls():
    """Each control of the simulator's is accepted here, with the same default."""
    own, simulators = (inspect.signature(each.simulation).parameters.values() for each in (kapi, kapi_sim))
    assert [(each.name, each.default) for each in own] == [(each.name, each.default) for each in simulators]


def test_trace_has_the_simulator_s_surface_and_says_what_it_is(monkeypatch, tmp_path):
    from kapi_runtime.kernels import simulator_controls
    from kapi_sim.tracing.traces import Trace

    monkeypatch.setattr(simulator_controls, "_warned", {"simulation"})
    said = "fill over Range(4): ran on device, nothing checked"
    with (
        pytest.warns(kapi.SimulatorOnlyWarning, match="`trace`"),
        kapi.simulation() as report,
        kapi.trace(limit=9) as t,
    ):
        fill[4](dpnp.zeros(4))
    assert str(t) == str(report) == said
    assert t.statistics() == t.accesses("read") == []
    for name, part in (("a.html", said), ("a.svg", "ran on device"), ("a.txt", said)):
        t.save(tmp_path / name)
        assert part in (tmp_path / name).read_text("utf-8")
    with raises(kapi.KernelLaunchError, "picture-format"):
        t.save(tmp_path / "a.png")
    surface = {name for name in dir(Trace) if not name.startswith("_")}
    assert surface - {"limit", "start"} <= set(dir(t))


def test_debug_stops_nobody_on_a_device(monkeypatch):
    from kapi_runtime.kernels import simulator_controls

    monkeypatch.setattr(simulator_controls, "_warned", set())
    with pytest.warns(kapi.SimulatorOnlyWarning, match="`debug`"), kapi.debug(item=(3,)) as report:
        fill[4](dpnp.zeros(4))
    assert str(report) == "fill over Range(4): ran on device, nothing checked"
    with raises(kapi.KernelLaunchError, "debug-item"), kapi.debug(item=-1):
        pass
