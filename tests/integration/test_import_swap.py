"""One import line is the difference between simulator and device, in every example.

Over NumPy arrays, the device is the CPU. On a SYCL device, the example makes its arrays with dpnp as well. That each
example runs as it stands, the sessions of the packages prove.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import dpnp
import numpy as np
import pytest

import kapi_runtime
import kapi_sim
from kapi_sim.language import COMMON_NAMES

# dpnp 0.20 does it in `int(array)`; NumPy 2.5, which Python 3.12 and later get, tells of it.
OF_DPNP = ["-W", "ignore:Setting the shape on a NumPy array:DeprecationWarning"]

ROOT = Path(__file__).parents[2]
IMPORT = "import {} as kapi\n"
USED = re.compile(r"\bkapi\.([A-Za-z]\w*)")

# What an example prints in both worlds, up to the point where only the simulator has more to say.
OUTPUTS = {
    "kapi-sim/race": "right, checked in four orders: [3. 2. 1. 0. 7. 6. 5. 4.]",
    "kapi-sim/vector_add": "c[0] = 1.0, c[-1] = 2.0, right everywhere: True",
    "kapi-runtime/vector_add": "added 10007 float32 pairs: equal to NumPy's",
}


def examples(module: str) -> list[Path]:
    """The example scripts that import kapi from `module`, and use of it only what both worlds have."""
    files = [*sorted(ROOT.glob("packages/*/examples/*.py")), *sorted(ROOT.glob("examples/*.py"))]
    texts = {path: path.read_text("utf-8") for path in files}
    return [
        path
        for path, text in texts.items()
        if IMPORT.format(module) in text.splitlines(keepends=True) and set(USED.findall(text)) <= set(COMMON_NAMES)
    ]


def name(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return f"{parts[1] if parts[0] == 'packages' else parts[0]}/{path.stem}"


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The ended process of a command."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def output(script: Path) -> str:
    """Output of a script; this process has set the driver's path for its children."""
    command = [sys.executable, "-W", "error", *OF_DPNP, "-W", "ignore::UserWarning", str(script)]
    result = run(command, script.parent)
    if result.returncode < 0 and "software.intel.com" in result.stderr:
        result = run(command, script.parent)  # Intel's driver crashes in one of hundreds of processes
    assert result.returncode == 0, result.stderr
    return result.stdout


def swapped(example: Path, folder: Path, exchanges: dict[str, str]) -> Path:
    text = example.read_text("utf-8")
    for before, after in exchanges.items():
        assert text.count(before) <= 1, f"{example} must have `{before.strip()}` once"
        text = text.replace(before, after)
    script = folder / example.name
    script.write_text(text, "utf-8")
    return script


def test_examples_of_both_worlds_are_found():
    found = {name(path) for path in examples("kapi_sim") + examples("kapi_runtime")}
    assert found >= {*OUTPUTS, "examples/digits_kernels"}


@pytest.mark.parametrize("example", examples("kapi_sim"), ids=name)
def test_simulator_example_runs_on_the_cpu_with_one_line_changed(example, tmp_path):
    script = swapped(example, tmp_path, {IMPORT.format("kapi_sim"): IMPORT.format("kapi_runtime")})
    assert OUTPUTS.get(name(example), "") in output(script)


def test_simulator_example_runs_on_a_sycl_device(tmp_path):
    (example,) = (each for each in examples("kapi_sim") if name(each) == "kapi-sim/vector_add")
    own, arrays = (
        {IMPORT.format("kapi_sim"): IMPORT.format("kapi_runtime")},
        {"import numpy as np\n": "import dpnp as np\n"},
    )
    shown = OUTPUTS[name(example)]
    assert shown in output(example)
    assert shown in output(swapped(example, tmp_path, own | arrays))


@pytest.mark.parametrize("example", examples("kapi_runtime"), ids=name)
def test_device_example_runs_in_the_simulator_with_one_line_changed(example, tmp_path):
    script = swapped(example, tmp_path, {IMPORT.format("kapi_runtime"): IMPORT.format("kapi_sim")})
    assert OUTPUTS.get(name(example), "") in output(script)


DISTANCE = """
import math

import kapi_sim as kapi


@kapi.kernel
def pairwise_distance(item: kapi.Item, data, distance):
    i = item.get_id(0); j = item.get_id(1)
    d = data.dtype.type(0.0)
    for k in range(data.shape[1]):
        t = data[i, k] - data[j, k]
        d += t * t
    distance[i, j] = math.sqrt(d)      # last dimension fastest: neighbours write neighbours


def compute(n, data, distance):
    kapi.call_kernel(pairwise_distance, kapi.Range(n, n), data, distance)
"""


@pytest.fixture(params=["float32", "float64"])
def points(request):
    return np.random.default_rng(5).integers(-20, 20, (13, 3)).astype(request.param)


def distances(module: str, folder: Path, data, distance):
    """The distances by the kernel above, with its import line changed to `module`."""
    script = folder / f"distance_with_{module}.py"
    script.write_text(DISTANCE.replace("kapi_sim as", f"{module} as"), "utf-8")
    names: dict[str, object] = {"__name__": script.stem}
    exec(compile(script.read_text("utf-8"), str(script), "exec"), names)
    assert names["kapi"] is sys.modules[module]
    names["compute"](len(data), data, distance)
    return distance


def test_distances_of_both_worlds_are_equal(points, tmp_path):
    shape = (len(points), len(points))
    simulated = distances("kapi_sim", tmp_path, points, np.zeros(shape, points.dtype))
    on_device = distances("kapi_runtime", tmp_path, dpnp.asarray(points), dpnp.zeros(shape, dtype=points.dtype))
    expected = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    np.testing.assert_array_equal(simulated, expected)
    np.testing.assert_array_max_ulp(on_device.asnumpy(), expected, maxulp=3)


def test_distances_in_the_simulator_take_arrays_of_a_device(points, tmp_path):
    shape = (len(points), len(points))
    on_device = distances("kapi_sim", tmp_path, dpnp.asarray(points), dpnp.zeros(shape, dtype=points.dtype))
    expected = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    np.testing.assert_array_equal(on_device.asnumpy(), expected)


def test_exported_kernel_language_is_the_same_in_both_worlds():
    from kapi_sim.language import COMMON_NAMES

    assert set(COMMON_NAMES) <= set(kapi_sim.__all__) & set(kapi_runtime.__all__)
