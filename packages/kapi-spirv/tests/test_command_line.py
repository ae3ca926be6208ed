"""``python -m kapi_spirv`` compiles a kernel of a file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kapi_spirv import compile_kernel
from kapi_spirv.__main__ import main

SOURCE = """
import kapi_sim as kapi
from beside import FACTOR


@kapi.kernel(fastmath={"contract"})
def axpy(item: kapi.Item, a, x, y):
    i = item.get_id(0)
    y[i] += FACTOR * a * x[i]


def plain(nd_item, x, tile):
    k = nd_item.get_local_id(0)
    tile[k] = x[nd_item.get_global_id(0)]
    kapi.group_barrier(nd_item.get_group())
    x[nd_item.get_global_id(0)] = tile[0]


@kapi.kernel
def wrong(item: kapi.Item, x):
    x[0] = [1]


number = 3
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    (tmp_path / "beside.py").write_text("FACTOR = 2.0\n")
    (tmp_path / "kernels.py").write_text(SOURCE)
    return tmp_path / "kernels.py"


def test_kernel_of_a_file_is_compiled(file, capsys):
    assert main([f"{file}:axpy", "--signature", "item1, float32, float32[:], float32[:]", "-o", "out.spv"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("out.spv: kernel axpy over Item of 1 dimensions, entry point kapi_axpy\n")
    code = file.with_name("out.spv").read_bytes()
    assert code[:4] == b"\x03\x02\x23\x07"


def test_function_of_a_file_is_compiled_under_its_own_name(file):
    assert main(["kernels.py:plain", "-s", "nd_item1, f8[:], local f8[64]", "--spirv-version", "1.3", "--debug"]) == 0
    code = file.with_name("plain.spv").read_bytes()
    assert code[4:8] == b"\x00\x03\x01\x00"


@pytest.mark.parametrize(
    ("location", "signature", "code"),
    [
        ("kernels.py:absent", "item1", "kernel-absent"),
        ("kernels.py:number", "item1", "kernel-absent"),
        ("kernels.py:axpy", "item1, float32", "signature-count"),
        ("kernels.py:axpy", "item1, float, f4[:], f4[:]", "signature-text"),
        ("kernels.py:axpy", "f4, f4, f4[:], f4[:]", "signature-work-item"),
        ("kernels.py:wrong", "item1, f4[:]", "list-in-kernel"),
    ],
)
def test_mistakes_are_reported_with_their_codes(location, signature, code, file, capsys):
    assert main([location, "--signature", signature]) == 1
    assert f"[{code}]" in capsys.readouterr().err
    assert not list(file.parent.glob("*.spv"))


@pytest.mark.parametrize(
    "arguments", [[], ["--spirv-version", "7.0"], ["-o", "no/such/folder/a.spv"]], ids=["signature", "target", "output"]
)
def test_mistakes_of_the_command_line_are_reported_by_its_usage(arguments, file, capsys):
    signature = ["-s", "item1, f4, f4[:], f4[:]"] if arguments else []
    with pytest.raises(SystemExit) as ended:
        main(["kernels.py:axpy", *signature, *arguments])
    assert ended.value.code == 2
    assert "python -m kapi_spirv: error:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("nowhere.py:axpy", "got 'nowhere.py:axpy': there is no file 'nowhere.py'"),
        (".:axpy", "there is no file '.'"),
        ("kernels.py", "got 'kernels.py': no kernel is named"),
        ("axpy", "no kernel is named"),
        ("", "no kernel is named"),
    ],
)
def test_location_of_a_kernel_is_reported_by_the_usage(location, said, file, capsys):
    with pytest.raises(SystemExit) as ended:
        main([location, "-s", "item1"])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("def (", "SyntaxError: invalid syntax"),
        ("def f():\n    raise KeyError('boom')\n\n\nf()\n", "KeyError: 'boom'"),
        ("import no_such_module_of_anybody", "ModuleNotFoundError: No module named 'no_such_module_of_anybody'"),
    ],
    ids=["syntax", "error", "import"],
)
def test_file_that_cannot_be_imported_is_reported_from_its_own_frames(text, last, file, capsys):
    path = file.with_name("broken.py")
    path.write_text(text, "utf-8")
    assert main(["broken.py:f", "-s", "item1"]) == 1
    told = capsys.readouterr().err
    assert told.endswith(f"{last}\nbroken.py cannot be imported\n")
    assert "broken.py" in told.splitlines()[0 if "Syntax" in last else 1]
    assert "kapi_lowering" not in told
    assert "importlib" not in told


def test_module_is_run_as_a_program(file):
    done = subprocess.run(
        [sys.executable, "-m", "kapi_spirv", "kernels.py:axpy", "-s", "item1, f4, f4[:], f4[:]"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("axpy.spv: kernel axpy")
    assert done.stderr == ""


def test_text_is_the_same_signature():
    def double(item, x):
        x[item.get_id(0)] *= 2

    from numba import types

    from kapi_types import ArrayType, ItemType

    assert (
        compile_kernel(double, "item1, f4[:]").code
        == compile_kernel(double, [ItemType(1), ArrayType(types.float32, 1, "C")]).code
    )
