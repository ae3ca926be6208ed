"""The machine code of launches is what its sources make, is loaded where it can run, and nowhere else."""

from __future__ import annotations

import ctypes
import json
import platform
import sys

import dpnp
import pytest

import kapi_runtime as kapi
from kapi_runtime.native import compilation, loading
from kapi_runtime.sycl.native import native_functions

MODULES = [
    "kapi_runtime.cuda.native.launching",
    "kapi_runtime.cuda.native.dynamic_launching",
    "kapi_runtime.sycl.native.launching",
]

MAKE = "import sys; from kapi_runtime.native.compilation import machine_code; print(machine_code(sys.argv[1]), end='')"


@pytest.mark.parametrize("module", MODULES)
def test_shipped_code_is_of_these_sources(module):
    """If it is not, `python tools/native_code.py` makes it anew."""
    assert json.loads(loading.file_of(module))["made_of"] == compilation.digest_of(module)


@pytest.mark.nightly(one_in=2)
@pytest.mark.parametrize("module", MODULES)
def test_shipped_code_is_what_its_sources_make(run_python, module):
    done = run_python("", "-c", MAKE, module, **compilation.SETTINGS)
    assert done.returncode == 0, done.stderr
    made, shipped = json.loads(done.stdout), json.loads(loading.file_of(module))
    if made["made_by"] != shipped["made_by"]:
        # Other compilers order the same instructions otherwise.
        for file in (made, shipped):
            del file["made_by"]
            for system in loading.TARGETS:
                file[system] = sorted(file[system])
    assert made == shipped


FAULTS = {
    "raises": ("if count == 3:\n        raise ValueError\n    return 0", "must raise nothing, got one that does"),
    "unknown function": ("return int(math.gamma(reals(arguments)[0]))", "must call what is declared, got numba_gamma"),
    "library": ("return int(reals(arguments)[0] ** 0.3)", "must need nothing but its code, got .rela.text"),
    "constants": ("return int(reals(arguments)[0] + 0.1)", "must need nothing but its code, got .rela.text, .rodata"),
}


REFUSED = """
import sys
from kapi_runtime.native.compilation import machine_code
sys.path.append(sys.argv[1])
for number in range(int(sys.argv[2])):
    try:
        machine_code(f"faulty_{number}")
    except Exception as error:
        print(" ".join(str(error).split()))
    else:
        print("none")
"""


def test_functions_that_could_not_be_loaded_are_refused(run_python, tmp_path):
    for number, (body, _) in enumerate(FAULTS.values()):
        (tmp_path / f"faulty_{number}.py").write_text(
            "import math\nfrom kapi_runtime.native.language import native, reals\n"
            f"@native\ndef f(self, arguments, count):\n    {body}\n"
            "ENTRY_POINTS, SOURCES = (f,), ()\n"
        )
    done = run_python("", "-c", REFUSED, str(tmp_path), str(len(FAULTS)), **compilation.SETTINGS)
    said = done.stdout.splitlines()
    assert len(said) == len(FAULTS), done.stderr
    for (_, message), each in zip(FAULTS.values(), said, strict=True):
        assert message in each


def test_code_is_not_made_with_other_settings_of_numba():
    with pytest.raises(ValueError, match="must be made with Numba's settings"):
        compilation.machine_code(MODULES[0])


def load(monkeypatch):
    """Have the native functions of launches made anew, and return why there are none."""
    monkeypatch.setattr(native_functions, "_made", [])
    return native_functions.why_not()


def test_code_is_loaded_and_cannot_be_written(monkeypatch):
    assert load(monkeypatch) == ""
    (made,) = native_functions._made
    assert [each.__name__ for each in (made.hand_over, made.launch, made.pack, made.send)] == [
        "hand_over",
        "launch",
        "pack",
        "send",
    ]
    address = loading._executable(b"\xc3")
    with open("/proc/self/maps", encoding="ascii") as maps:
        mappings = [line.split()[:2] for line in maps]
    ends = [[int(end, 16) for end in each.split("-")] for each, _ in mappings]
    # The kernel joins neighbours of equal rights, such as code of LLVM's.
    held = [rights for (low, high), (_, rights) in zip(ends, mappings, strict=True) if low <= address < high]
    assert held == ["r-xp"]


def test_builtin_calls_the_object_that_it_is_made_of():
    def function(first, *others, last=0):
        return first, others, last

    built = loading.calling(function)
    assert isinstance(built, type(len))
    assert built.__self__ is function
    assert built(1, 2, last=3) == (1, (2,), 3)
    with pytest.raises(TypeError, match="first"):
        built()
    before = sys.getrefcount(function)
    del built
    assert sys.getrefcount(function) == before - 1


UNLIKE = {
    "implementation": (platform, "python_implementation", lambda: "PyPy", "Python must be CPython, got PyPy"),
    "architecture": (platform, "machine", lambda: "aarch64", "must be x86-64 with Linux or Windows, got aarch64"),
    "system": (sys, "platform", "darwin", "must be x86-64 with Linux or Windows, got"),
    "head": (loading, "Object", type("Object", (ctypes.Structure,), {}), "objects must begin with two words"),
    "contents": (loading, "TABLE", 40, "a bytes object must have its contents at byte 40"),
    "Python": (loading, "python_function", lambda name: getattr(ctypes, name), "AttributeError"),
    "memory": (loading, "_executable", lambda code: (_ for _ in ()).throw(OSError("denied")), "OSError: denied"),
    "dpctl": (native_functions, "_PUBLISHERS", (), "dpctl must publish the function"),
}


@pytest.mark.parametrize(("owner", "name", "value", "message"), UNLIKE.values(), ids=UNLIKE)
def test_machine_that_differs_launches_without_native_code(monkeypatch, owner, name, value, message):
    owner = native_functions if name == "python_function" else owner
    monkeypatch.setattr(owner, name, value)
    why = load(monkeypatch)
    monkeypatch.undo()
    assert message in why
    monkeypatch.setattr(native_functions, "_made", [None])
    a = dpnp.arange(4)
    for _ in range(3):
        kapi.call_kernel(add_one, kapi.Range(4), a)
    assert a.asnumpy().tolist() == [3, 4, 5, 6]


@kapi.kernel
def add_one(item: kapi.Item, a):
    a[item.get_id(0)] += 1
