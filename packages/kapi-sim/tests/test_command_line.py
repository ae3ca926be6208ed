"""``python -m kapi_sim trace``: the program runs under its own name, and each mistake is told in a line or two."""

import pytest

from kapi_sim.__main__ import main

PROGRAM = """
import sys

import numpy as np

import kapi_sim as kapi


@kapi.kernel
def fill(item: kapi.Item, a):
    a[item.get_id(0)] = 1


kapi.call_kernel(fill, kapi.Range(4), np.zeros(4))
print(__name__, *sys.argv[1:])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["picture.html", "picture.svg", "picture.txt"])
def test_program_is_traced_with_its_arguments(name, folder, capsys):
    assert main(["trace", "program.py", "-o", name, "--size", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == ["__main__ --size 3", f"{name}: 1 launch"]
    assert (folder / name).stat().st_size > 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere.py"], "the program must be a file that is there, got nowhere.py [kernel-absent]"),
        (["."], "the program must be a file that is there, got . [kernel-absent]"),
        (["program.py", "-o", "picture.png"], "path must end in .html, .svg, .txt, got 'picture.png' [picture-format]"),
    ],
)
def test_mistakes_are_reported_before_the_program_runs(arguments, said, folder, capsys):
    assert main(["trace", *arguments]) == 2
    told = capsys.readouterr()
    assert told.err == f"{said}\n"
    assert told.out == ""


def test_picture_that_cannot_be_written_is_reported(folder, capsys):
    assert main(["trace", "program.py", "-o", "no/such/folder/t.html"]) == 2
    assert capsys.readouterr().err == "no/such/folder/t.html cannot be written: No such file or directory\n"


def test_program_without_launches_leaves_no_picture(folder, capsys):
    (folder / "idle.py").write_text("print('nothing to do')", "utf-8")
    assert main(["trace", "idle.py"]) == 1
    assert capsys.readouterr().err == "idle.py launched no kernel in the simulator, so there is nothing to draw\n"
    assert not (folder / "trace.html").exists()


@pytest.mark.parametrize(
    ("text", "last"),
    [("def (", "SyntaxError: invalid syntax"), ("raise KeyError('boom')", "KeyError: 'boom'")],
    ids=["syntax", "error"],
)
def test_error_of_a_program_has_its_own_frames_alone(text, last, folder, capsys):
    (folder / "broken.py").write_text(text, "utf-8")
    assert main(["trace", "broken.py"]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[-2] == last
    assert not [line for line in told if "kapi_sim" in line or "runpy" in line]


def test_error_after_a_launch_keeps_the_picture(folder, capsys):
    (folder / "late.py").write_text(f"{PROGRAM}\nraise ValueError('late')\n", "utf-8")
    assert main(["trace", "late.py"]) == 1
    assert "ValueError: late" in capsys.readouterr().err
    assert (folder / "trace.html").exists()


def test_exit_of_the_program_is_reported_like_python_s(folder, capsys):
    for text, status, said in (("sys.exit('enough')", 1, "enough\n"), ("sys.exit(3)", 3, ""), ("sys.exit()", 0, "")):
        (folder / "ends.py").write_text(f"{PROGRAM}\n{text}\n", "utf-8")
        assert main(["trace", "ends.py"]) == status
        assert capsys.readouterr().err == said


def test_report_has_the_programs_own_frames_alone(folder, capsys):
    (folder / "race.py").write_text(PROGRAM.replace("a[item.get_id(0)]", "a[item.get_id(0) + 1]"), "utf-8")
    assert main(["trace", "race.py"]) == 1
    told = capsys.readouterr().err
    assert 'File "race.py", line 14, in <module>' in told
    assert 'File "race.py", line 11, in fill' in told
    assert told.count("  File ") == 2
