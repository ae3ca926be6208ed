"""``python -m kapi_ptx`` compiles a kernel of a file."""

from __future__ import annotations

import pytest

from kapi_ptx.__main__ import main

SOURCE = """
def axpy(item, a, x, y):
    i = item.get_id(0)
    y[i] += a * x[i]
"""
AXPY = ["kernels.py:axpy", "--signature", "item1, float32, float32[:], float32[:]"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(SOURCE)
    return tmp_path


def test_kernel_of_a_file_is_compiled_for_an_architecture(folder, capsys):
    assert main([*AXPY, "--sm", "90", "-o", "out.ptx"]) == 0
    assert capsys.readouterr().out.startswith("out.ptx: kernel axpy over Item of 1 dimensions")
    text = (folder / "out.ptx").read_text("ascii")
    assert ".target sm_90" in text
    assert ".visible .entry kapi_axpy(" in text


def test_architecture_that_does_not_exist_is_reported_by_the_usage(folder, capsys):
    with pytest.raises(SystemExit):
        main([*AXPY, "--sm", "91"])
    assert "sm must be one of 75, 80," in capsys.readouterr().err


def test_mistakes_are_reported_with_their_codes(folder, capsys):
    assert main([*AXPY[:2], "item1"]) == 1
    assert "[signature-count]" in capsys.readouterr().err
