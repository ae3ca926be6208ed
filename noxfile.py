"""The sessions that build, check and test this repository; ``python3 noxfile.py -l`` lists them.

Nothing has to be installed first: run as a script, this file makes a private environment for nox and uv (see
``tools/bootstrap.py``). Every session tests wheels, never the source tree.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # for `tools`, however nox loads this file

from tools import bootstrap

if __name__ == "__main__":
    sys.exit(bootstrap.main(Path(__file__).resolve(), sys.argv[1:]))

import nox
from nox.command import CommandFailed
from tools import browsers, environments, interpreters, lanes
from tools import instruction_sets as sets_of_instructions
from tools.packages import DISTRIBUTIONS

nox.needs_version = ">=2026.10"
nox.options.default_venv_backend = "uv"  # only uv has exact installs and lowest versions
nox.options.reuse_venv = "yes"  # `--exact` installs keep what is reused true to its declaration
nox.options.sessions = ["tests"]
nox.options.envdir = str(environments.folder(ROOT))
os.environ.setdefault("UV_PYTHON_DOWNLOADS", "never")  # the Python that runs nox is the one tested
# Container images tell Python to keep no bytecode; each of the hundreds of processes that tests start would then
# compile all modules anew, which takes longer than most tests. It is kept beside the environments, not in the tree.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(environments.folder(ROOT).parent / "bytecode"))

SOURCES = [f"packages/{dist}/src" for dist in DISTRIBUTIONS]
EACH_PACKAGE = [nox.param(dist, id=dist) for dist in DISTRIBUTIONS]
TEST_GROUPS = [part for dist in DISTRIBUTIONS for part in ("--group", f"packages/{dist}/pyproject.toml:test")]
# The tests that NumPy's, Numba's, dpctl's and dpnp's versions have a bearing on.
DECIDED_BY_VERSIONS = {
    "kapi-sim": ["test_conformance.py", "test_numbers.py"],
    "kapi-types": ["test_promotion.py", "test_inference.py"],
    "kapi-lowering": ["test_package.py", "test_host_target.py"],
    "kapi-spirv": ["test_golden_ir.py"],
    "kapi-cpu": ["test_control_flow.py", "test_barriers.py"],
    "kapi-ptx": ["test_compile.py"],
    "kapi-runtime": ["test_cpu_conformance.py", "test_conformance.py", "test_placement.py"],
    "kapi-numba-offload": ["test_array_expression.py"],
}
# What needs the extra `cuda` of kapi-runtime: its own session has it, in an environment without dpctl.
# pytest takes a pattern that does not begin with a slash as one of the folder that it is started in.
OF_CUDA = (
    "--ignore-glob=/*/kapi_runtime/cuda/*",
    "--ignore-glob=/*/kapi-runtime/tests/test_cuda_*",
    "--ignore-glob=/*/kapi-numba-offload/tests/test_cupy_*",
    "--ignore-glob=/*/kapi_numba_offload/libraries/cupy.py",  # CuPy imports with NVIDIA's driver alone
)
# Tests of offload that run over what stands in for CuPy's arrays; over CuPy's own, `gpu` runs all.
OVER_CUPY = (
    "cupy_arrays", "array_expression", "statements", "loop_rows", "reductions", "device_context", "python_numbers",
)  # fmt: skip
WHEELS = ROOT / ".nox" / "wheels"
# Seconds of processor time for each session of `tests`, some more than it took. Being over is reported and fails
# nothing: time is the machine's as well, and a slow one is not at fault.
BUDGETS = {
    "lint": 10,
    "imports": 30,
    "house": 80,
    "types": 45,
    "integration": 740,
    "isolated(kapi-numba-offload)": 1100,
    "isolated(kapi-runtime)": 570,
    "isolated(kapi-spirv)": 150,
    "isolated(kapi-cpu)": 200,
    "isolated(kapi-ptx)": 135,
    "isolated(kapi-lowering)": 50,
    "isolated(kapi-types)": 70,
    "isolated(kapi-sim)": 200,
    "instruction_sets": 120,
    "docs": 230,
    "without_dpnp": 30,
    "without_platform": 35,
    "with_cuda": 140,
    "build": 40,
    "brief on 3.11": 80,
    "brief on 3.12": 80,
    "brief on 3.13": 80,
}
# Seconds after which a session of `tests` is ended: twice what the longest takes.
LIMIT = 40 * 60
# Tests that compile the same functions anew for many dtypes, shapes and numbers of lanes: by day one in so many of
# their parameters, at night all. Of the CPU's, the session of kapi-runtime runs the conformance suite in full.
SAMPLED_BY_DAY = {"kapi-numba-offload": "6", "kapi-cpu": "3"}
# What the nightly session is made of, by pytest's arguments; "packages" and "integration" hold all that no other does.
ALONE = {
    "random-kernels": ["tests/integration/test_random_kernels.py"],
    "random-functions": ["tests/integration/test_random_functions.py", "tests/integration/test_threaded_calls.py"],
    "compositions": ["tests/integration/test_compositions.py"],
    "differential": ["tests/integration/test_simulator_against_device.py"],
    "numbers": [
        f"tests/integration/test_{name}.py"
        for name in (
            *("numbers_device", "float_to_integer", "ends_of_ranges", "group_shapes"),
            "hoisted_loads",
        )
    ],
    # Apart from each other and from the rest, for each kernel stays in the driver's memory until a process ends.
    "conditions": [f"tests/integration/test_{name}.py" for name in ("conditions_in_loops", "id_comparisons")],
    "loops": [f"tests/integration/test_{name}.py" for name in ("loops_in_branches", "nested_loops", "shared_loops")],
    "oracles": [f"packages/kapi-sim/tests/test_{name}.py" for name in ("order_oracle", "race_oracle", "random_loops")],
    "isolated-stress": ["packages/kapi-runtime/tests/test_life_cycle.py"],
    **{dist: [f"packages/{dist}/tests"] for dist in SAMPLED_BY_DAY},
    "mutants": ["packages/kapi-spirv/tests/test_mutants.py"],
}
# What runs on the CPU platform, over NumPy's arrays, runs on SYCL's devices too, over dpnp's: by day a sample of it.
ON_BOTH_PLATFORMS = ("compositions", "random-kernels", "differential", "numbers")
SYCL = {"KAPI_ARRAYS": "dpnp"}
# `tests` has a sample of the second and the last.
OTHER_ENVIRONMENTS = ("install-lines", "instruction-sets", "minimums", "pythons")
REST = {"packages": [f"packages/{dist}/tests" for dist in DISTRIBUTIONS], "integration": ["tests/integration"]}
AT_NIGHT = (*ALONE, *OTHER_ENVIRONMENTS, *REST)
LONGEST_AT_NIGHT = ("compositions", "random-functions", "instruction-sets", "random-kernels")
BUILT = "KAPI_BUILT_WHEELS"  # tells a session run by another which constraints file that one has written


# ----------------------------------------------------------------------------------------- the jobs of a user


@nox.session
def demo(session: nox.Session) -> None:
    """The main job: digits compared and classified, simulated and compiled; a table, a picture."""
    install(session, "--group", "demo")
    session.run("python", "examples/digits.py", *session.posargs)


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Everything that must hold: all below but pythons, nightly, night, those on request; quick first."""
    quick = ["lint", "imports", "house", "types"]
    # The longest first, so that no lane is left alone with one at the end.
    latest = [f"isolated({dist})" for dist in DISTRIBUTIONS]
    alone = ["docs", "without_dpnp", "without_platform", "with_cuda", "build"]
    names = [*quick, "integration", "instruction_sets", *reversed(latest), *alone]
    commands = {name: nox_command(name) for name in names} | on_other_interpreters(session)
    run_sessions(session, commands, limit=LIMIT)


@nox.session(venv_backend="none")
def pythons(session: nox.Session) -> None:
    """Each package's isolated tests and the integration tests, on every supported Python of the machine."""
    names = [*(f"isolated({dist})" for dist in reversed(DISTRIBUTIONS)), "integration"]
    commands = {
        f"{name} on {version}": nox_command(name, version, path)
        for version, path in found_interpreters(session).items()
        for name in names
    }
    run_sessions(session, commands)


# -------------------------------------------------------------------------------------- checks of the sources


@nox.session
def lint(session: nox.Session) -> None:
    """Style of code and docstrings, and Numba internals kept to _numba_compat (ruff; mends with -- --fix)."""
    session.install("--exact", "--group", "lint")
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", *([] if "--fix" in session.posargs else ["--check"]))


@nox.session
def imports(session: nox.Session) -> None:
    """Layers among and inside the packages, and what each may not import (import-linter)."""
    session.install("--exact", "--group", "imports")
    cache = ROOT / ".nox" / "import-linter-cache"
    session.run("lint-imports", "--cache-dir", str(cache), env={"PYTHONPATH": os.pathsep.join(SOURCES)})


@nox.session
def house(session: nox.Session) -> None:
    """The repository's own rules: declared dependencies, versions, files, texts, and these sessions."""
    session.install("--exact", "--group", "house")
    session.run("pytest", "tests/house", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    """Type checks of all sources and tools (mypy, strict)."""
    session.install("--exact", "--group", "types")
    session.run("mypy", *session.posargs)


# ---------------------------------------------------------------------------------------- tests of the wheels


@nox.session
def build(session: nox.Session) -> None:
    """Source archives, and wheels from them, into dist/; their contents; kapi-sim alone needs only NumPy."""
    build_archives(session)
    install(session, "kapi-sim")
    session.run("python", "-m", "tools.isolation", "kapi-sim", "--exactly", "kapi-sim", "numpy")
    run_examples(session, "kapi-sim")


@nox.session
@nox.parametrize("dist", EACH_PACKAGE)
def isolated(session: nox.Session, dist: str) -> None:
    """One package's wheel, its declared dependencies and test group: tests, docstrings, examples."""
    install(session, dist, "--group", f"packages/{dist}/pyproject.toml:test")
    run_package(session, dist)


@nox.session
def without_dpnp(session: nox.Session) -> None:
    """kapi-runtime[opencl-cpu] alone: kernels over arrays of its own and of others by DLPack, without dpnp."""
    install(session, "--group", "without-dpnp")
    session.run("python", "-m", "tools.isolation", "kapi-runtime", "--without", "dpnp")
    run_tests(session, ROOT / "packages" / "kapi-runtime" / "tests" / "test_without_dpnp.py", *session.posargs)


@nox.session
def without_platform(session: nox.Session) -> None:
    """kapi-runtime without extras: kernels over NumPy arrays on the CPU, and what other devices need is named."""
    install(session, "--group", "without-platform")
    session.run(
        "python", "-m", "tools.isolation", "kapi-runtime", "--without", "dpctl", "dpnp", "kapi_spirv", "kapi_ptx"
    )
    folder = ROOT / "packages" / "kapi-runtime" / "tests"
    suites = [folder / f"test_cpu_{name}.py" for name in ("arrays", "queues", "host")]
    run_tests(session, folder / "test_without_platform.py", *suites, *session.posargs)


@nox.session
def with_cuda(session: nox.Session) -> None:
    """kapi-runtime[cuda] and offload, no dpctl: what hosts do for NVIDIA GPUs, by doubles of the driver and of CuPy."""
    install(session, "--group", "with-cuda")
    session.run("python", "-m", "tools.isolation", "kapi-numba-offload", "--without", "dpctl", "dpnp", "kapi_spirv")
    folder = ROOT / "packages" / "kapi-runtime" / "tests"
    run_tests(session, *sorted(folder.glob("test_cuda_*.py")), *session.posargs)
    run_tests(session, "--doctest-modules", "--pyargs", "kapi_runtime.cuda", *session.posargs)
    folder = ROOT / "packages" / "kapi-numba-offload" / "tests"
    files = [folder / f"test_{name}.py" for name in OVER_CUPY]
    run_tests(session, *files, *session.posargs, env={"KAPI_ARRAYS": "cupy", "KAPI_ONE_IN": "10"})


@nox.session
def integration(session: nox.Session) -> None:
    """The tests that need the full stack: all wheels, a device driver, dpnp, reference tools."""
    install(session, "--group", "integration")
    folder = ROOT / "tests" / "integration"
    if session.posargs:
        run_tests(session, folder, *session.posargs)
        return
    # What the driver alone is asked, and a sample of "differential" on SYCL, are parts of `instruction_sets`.
    run_tests(session, folder, "-k", "not test_driver_is_asked")
    files = [ROOT / path for part in ON_BOTH_PLATFORMS if part != "differential" for path in ALONE[part]]
    run_tests(session, *files, env=SYCL | {"KAPI_ONE_IN": "12", "KAPI_RANDOM_KERNELS": "10"})


@nox.session
def brief(session: nox.Session) -> None:
    """Part of `tests` for each further Python: a sample of conformance, programs of READMEs, 20 random kernels.

    On the CPU platform: what a Python has of its own is its bytecode, which no device sees.
    """
    install(session, "--group", "integration")
    suites = [
        ROOT / "packages" / "kapi-sim" / "tests" / "test_conformance.py",
        ROOT / "packages" / "kapi-runtime" / "tests" / "test_cpu_conformance.py",
    ]
    others = [
        ROOT / "tests" / "pages" / "test_code_blocks.py",
        ROOT / "tests" / "integration" / "test_random_kernels.py",
        ROOT / "packages" / "kapi-types" / "tests" / "test_shared_exits.py",  # of what each compiler of CPython writes
    ]
    one_in = os.environ.get("KAPI_ONE_IN", "8")
    named = "test_conformance[ or test_conformance_on_the_cpu["
    run_tests(session, *suites, "-k", named, *session.posargs, env={"KAPI_ONE_IN": one_in})
    named = "test_code_blocks_run and README or test_random_kernels_agree or test_shared_exits"
    run_tests(session, *others, "-k", named, *session.posargs, env={"KAPI_ONE_IN": "1", "KAPI_RANDOM_KERNELS": "20"})


@nox.session
def instruction_sets(session: nox.Session) -> None:
    """A sample of what runs on Intel's device, under each instruction set of its driver; the driver's faults."""
    install(session, "--group", "integration")
    under_each_instruction_set(session, {"KAPI_ONE_IN": "12"})


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, built strictly from nothing, and every code block of its pages and the READMEs."""
    install(session, "--group", "docs")
    for made in ("docs/_build", "docs/gallery"):  # sphinx-gallery keeps the page of an example that did not change
        shutil.rmtree(made, ignore_errors=True)
    session.run("sphinx-build", "--nitpicky", "--fail-on-warning", "--keep-going", "docs", "docs/_build/html")
    run_tests(session, ROOT / "tests" / "pages")
    session.run("python", "tools/code_blocks.py")


# ------------------------------------------------------------------------------------------------- on request


@nox.session
def browser(session: nox.Session) -> None:
    """The pages that traces make, in a real browser, light and dark (KAPI_BROWSER names another Chromium)."""
    path = browsers.find()
    if path is None:
        session.error(browsers.HOW_TO_GET_ONE)
    install(session, "--group", "browser")
    run_tests(session, ROOT / "tests" / "browser", *session.posargs, env={browsers.VARIABLE: path})


@nox.session(name="docs-live")
def docs_live(session: nox.Session) -> None:
    """The documentation with Python for the reader's browser, from npm: lessons run in their pages; Node, Chromium."""
    path = browsers.find()
    if path is None:
        session.error(browsers.HOW_TO_GET_ONE)
    install(session, "--group", "docs", "--group", "live")
    shutil.rmtree("docs/gallery", ignore_errors=True)
    wheel = next(wheels(session).parent.glob("kapi_sim-*.whl"))
    python = ROOT / ".nox" / "live"
    session.run("python", "tools/live.py", str(python), str(wheel))
    target = "docs/_build/live"
    shutil.rmtree(target, ignore_errors=True)
    session.run("sphinx-build", "--fail-on-warning", "-D", f"kapi_live={python}", "docs", target)
    run_tests(
        session,
        ROOT / "tests" / "live",
        *session.posargs,
        env={browsers.VARIABLE: path, "KAPI_PAGES": str(ROOT / target)},
    )


@nox.session
def release(session: nox.Session) -> None:
    """Archives as for a release, checked; each wheel alone, with those released before it; what is left to do."""
    build_archives(session)
    command = [sys.executable, "-m", "tools.first_installs", "dist", "--uv", bootstrap.program("uv")]
    session.run(*command, *session.posargs, external=True)
    session.run(sys.executable, "-m", "tools.release", external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """The benchmarks: times against the peers, as a table (arguments after -- go to benchmarks/run.py)."""
    install(session, "--group", "bench")
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def bench_peers(session: nox.Session) -> None:
    """The workloads on the CPU, with Taichi and Warp too (arguments after -- go to benchmarks/run.py)."""
    install(session, "--group", "bench-peers")
    session.run("python", "benchmarks/run.py", "--parts", "workloads", "cpu", *session.posargs)


@nox.session(venv_backend="none")
def gpu(session: nox.Session) -> None:
    """On a machine with an NVIDIA GPU: conformance, order, limits, cost, as a table; with the Python that runs nox."""
    sources = os.pathsep.join(str(ROOT / source) for source in SOURCES)
    session.run(sys.executable, "tools/gpu.py", *session.posargs, env={"PYTHONPATH": sources})


@nox.session(venv_backend="none")
def arm(session: nox.Session) -> None:
    """On Debian: the kernel language on an emulated ARM processor (arguments after -- go to pytest)."""
    session.run(sys.executable, "tools/arm.py", str(ROOT / ".nox" / "arm"), *session.posargs)


@nox.session
@nox.parametrize("part", [nox.param(part, id=part) for part in AT_NIGHT])
def nightly(session: nox.Session, part: str) -> None:
    """Long fuzzing and stress: the tests marked nightly, full stack (arguments after -- go to pytest)."""
    night = {"KAPI_NIGHTLY": "1"}
    if part not in ("install-lines", "minimums", "pythons"):
        install(session, "--group", "integration", *(TEST_GROUPS if part in ("packages", *SAMPLED_BY_DAY) else ()))
    if part == "install-lines":
        command = [sys.executable, "-m", "tools.install_lines", "--uv", bootstrap.program("uv")]
        session.run(*command, "--constraints", str(wheels(session)), *session.posargs, external=True)
    elif part == "minimums":
        run_with_lowest_versions(session)
    elif part == "pythons":
        run_sessions(session, on_other_interpreters(session), {"KAPI_ONE_IN": "1"})
    elif part == "instruction-sets":
        under_each_instruction_set(session, {"KAPI_NIGHTLY": "0"})
    elif part in REST:
        ignored = [*OF_CUDA, *(f"--ignore={ROOT / path}" for paths in ALONE.values() for path in paths)]
        run_tests(session, *(ROOT / path for path in REST[part]), *ignored, *session.posargs, env=night)
    else:
        files = [ROOT / path for path in ALONE[part]]
        whole = {"KAPI_NIGHTLY": "all"} if part in SAMPLED_BY_DAY else {}
        run_tests(session, *files, *OF_CUDA, *session.posargs, env=night | whole)
        if part in ON_BOTH_PLATFORMS:
            # The numbers' other tests have no longer form: by day, SYCL has a sample of them.
            more = {"KAPI_NIGHTLY": "all"} if part == "numbers" else {}
            run_tests(session, *files, *session.posargs, env=night | SYCL | more)


@nox.session(venv_backend="none")
def night(session: nox.Session) -> None:
    """All parts of nightly, two at a time, the longest first (names of parts after -- take these alone)."""
    names = session.posargs or [*LONGEST_AT_NIGHT, *(part for part in AT_NIGHT if part not in LONGEST_AT_NIGHT)]
    run_sessions(session, {name: nox_command(f"nightly({name})") for name in names}, lanes_at_most=2)


# --------------------------------------------------------------------------------------------- how they do it


def nox_command(name: str, version: str = "", python: Path | None = None) -> list[str]:
    """Return the command that runs one session, on another Python if one is given."""
    command = [sys.executable, "-m", "nox", "--noxfile", str(ROOT / "noxfile.py"), "--session", name]
    if python is None or version == interpreters.running():
        return command
    folder = environments.folder(ROOT, version=version)
    return [*command, "--force-python", str(python), "--envdir", str(folder)]


def run_sessions(
    session: nox.Session,
    commands: dict[str, list[str]],
    env: dict[str, str] | None = None,
    lanes_at_most: int | None = None,
    limit: float | None = None,
) -> None:
    """Run commands of nox side by side on the same wheels, print how each ended, and fail if one did."""
    variables = {BUILT: str(wheels(session)), **(env or {})}
    outcomes = lanes.run(commands, variables, lanes=lanes_at_most, budgets=BUDGETS, limit=limit)
    print("\n" + "\n".join(map(str, outcomes)))
    failed = [each.name for each in outcomes if each.status]
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def found_interpreters(session: nox.Session) -> dict[str, Path]:
    """Look for the supported Pythons, or those that KAPI_PYTHONS names, which must all be there."""
    named = interpreters.wanted(os.environ)
    found = interpreters.find(named or interpreters.SUPPORTED)
    for version in named or interpreters.SUPPORTED:
        session.log(f"Python {version}: {found.get(version, 'not found, so nothing is run on it')}")
    missing = [version for version in named if version not in found]
    if missing:
        session.error(f"KAPI_PYTHONS must name versions that this machine has, got {', '.join(missing)} as well")
    return found


def on_other_interpreters(session: nox.Session) -> dict[str, list[str]]:
    """Return the short form of `pythons`: a command for each Python found, but for the one that runs everything."""
    found = found_interpreters(session)
    others = {version: path for version, path in found.items() if version != interpreters.running()}
    return {f"brief on {version}": nox_command("brief", version, path) for version, path in others.items()}


_constraints: list[Path] = []  # the file that `wheels` wrote, once it has


def wheels(session: nox.Session) -> Path:
    """Build the wheels, once per run, and return a constraints file that ties each name to its wheel."""
    if BUILT in os.environ:
        return Path(os.environ[BUILT])
    if not _constraints:
        WHEELS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=WHEELS) as fresh:
            for dist in DISTRIBUTIONS:
                command = ("build", "--wheel", "--quiet", "--out-dir", fresh, f"packages/{dist}")
                session.run(bootstrap.program("uv"), *command, external=True)
            kept = [keep(built) for built in sorted(Path(fresh).glob("*.whl"))]
        constraints = WHEELS / "constraints.txt"
        lines = [f"{wheel.name.split('-')[0]} @ {wheel.as_uri()}\n" for wheel in kept]
        constraints.write_text("".join(lines), "utf-8")
        _constraints.append(constraints)
    return _constraints[0]


def keep(built: Path) -> Path:
    """Move a wheel to its place unless the same bytes are there: an unchanged file is not installed again."""
    kept = WHEELS / built.name
    if not (kept.exists() and filecmp.cmp(built, kept, shallow=False)):
        built.replace(kept)
    return kept


def build_archives(session: nox.Session) -> None:
    """Build source archives, and wheels from them, into dist/, and check contents, metadata and READMEs."""
    shutil.rmtree("dist", ignore_errors=True)
    for dist in DISTRIBUTIONS:
        session.run("uv", "build", "--quiet", "--out-dir", "dist", f"packages/{dist}")
    session.run(sys.executable, "-m", "tools.archives", "dist", external=True)
    session.install("--exact", "--group", "build")
    session.run("twine", "check", "--strict", *sorted(map(str, Path("dist").glob("kapi*"))))


def install(session: nox.Session, *arguments: str) -> None:
    """Make the environment hold what `arguments` ask for and nothing else, kapi-* as wheels of this tree."""
    session.install("--exact", "--constraints", str(wheels(session)), *arguments)


def run_package(session: nox.Session, dist: str) -> None:
    """Run a package's tests, its docstrings' examples and its example scripts against the installed wheel."""
    module = dist.replace("-", "_")
    session.run("python", "-m", "tools.isolation", dist)
    tests_folder = ROOT / "packages" / dist / "tests"
    sampled = {"KAPI_ONE_IN": SAMPLED_BY_DAY.get(dist, "1")} if not session.posargs else {}
    run_tests(session, tests_folder, "--doctest-modules", "--pyargs", module, *OF_CUDA, *session.posargs, env=sampled)
    run_examples(session, dist)


def run_tests(session: nox.Session, *arguments: str | Path, env: dict[str, str] | None = None) -> None:
    """Run pytest in a folder of the environment's own: neither sys.path nor a cache touches the tree."""
    folder = Path(session.create_tmp()).resolve()
    with session.chdir(folder):
        options = ["--config-file", ROOT / "pyproject.toml", "--rootdir", ROOT, "--durations=10", "--durations-min=2"]
        cache = ["-o", f"cache_dir={folder}/pytest-cache"]
        session.run("pytest", *map(str, [*options, *cache, *arguments]), env=env or {})


def run_with_lowest_versions(session: nox.Session) -> None:
    """Run the tests of what versions decide, all packages with the lowest versions that they declare."""
    # As requirements files the projects' dependencies count as direct, which is what "lowest-direct" lowers.
    projects = [part for dist in DISTRIBUTIONS for part in ("--requirements", f"packages/{dist}/pyproject.toml")]
    extras = [part for extra in ("opencl-cpu", "dpnp", "libdevice", "pytest") for part in ("--extra", extra)]
    # Without --no-build, a version with no wheel for this Python would be compiled.
    install(session, *DISTRIBUTIONS, *projects, "--resolution", "lowest-direct", *extras, *TEST_GROUPS, "--no-build")
    for dist, files in DECIDED_BY_VERSIONS.items():
        folder = ROOT / "packages" / dist / "tests"
        run_tests(session, *(folder / file for file in files), *session.posargs)


def under_each_instruction_set(session: nox.Session, env: dict[str, str]) -> None:
    """Run what runs on the device under each instruction set, and print which faults of the driver were there."""
    conformance = ROOT / "packages/kapi-runtime/tests/test_conformance.py"
    files = [
        "tests/integration/test_simulator_against_device.py",
        "tests/integration/test_driver_limits.py",
        "tests/integration/test_loops_in_branches.py",
        *(["tests/integration/test_random_kernels.py"] if "KAPI_ONE_IN" not in env else []),
    ]
    faults = Path(session.create_tmp()).resolve() / "driver-faults.json"
    faults.unlink(missing_ok=True)
    cache = faults.with_name("cache")  # what kapi compiles is the same for all of them
    shutil.rmtree(cache, ignore_errors=True)
    names = sets_of_instructions.available()
    if not names:
        session.log("This processor does not say which instruction sets it has: the driver's default alone is tested.")
    for name in (names if "KAPI_ONE_IN" in env else ["", *names]) or [""]:
        chosen = {sets_of_instructions.VARIABLE: name} if name else {}
        more = SYCL | {"KAPI_DRIVER_FAULTS": str(faults), "KAPI_TEST_CACHE": str(cache)} | chosen
        suites = [ROOT / file for file in files]
        if "KAPI_ONE_IN" in env:
            suites.insert(0, conformance)
        else:
            run_tests(session, conformance, "-q", *session.posargs, env={"KAPI_NIGHTLY": "all"} | more)
        run_tests(session, *suites, "-q", *session.posargs, env=env | more)
    print(sets_of_instructions.table(faults))


def run_examples(session: nox.Session, dist: str) -> None:
    """Run each of a package's example scripts, away from the tree."""
    with session.chdir(session.create_tmp()):
        for example in sorted((ROOT / "packages" / dist / "examples").glob("*.py")):
            try:
                session.run("python", str(example))
            except CommandFailed as error:
                if error.return_code != -signal.SIGSEGV:
                    raise
                session.run("python", str(example))  # Intel's driver crashes in one of hundreds of processes
