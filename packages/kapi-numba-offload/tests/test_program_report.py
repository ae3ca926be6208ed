"""`python -m kapi_numba_offload report PROGRAM`: time and bytes by line, as text and as a page."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from kapi_numba_offload.__main__ import main
from kapi_numba_offload.libraries.installed import default_library

LIBRARY = type(default_library())

PROGRAM = """
import sys
import dpnp
import numba
import numpy as np


@numba.njit
def doubled(a):
    return a * 2


@numba.njit
def summed(a):
    b = doubled(a)
    for i in range(1, a.shape[0]):
        b[i] += b[i - 1]
    return np.sort(b)


for _ in range(3):
    found = summed(dpnp.ones(100))
print("of the program:", sys.argv[1:], float(found[-1]))
sys.exit(3)
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "summing.py"
    path.write_text(PROGRAM.lstrip(), encoding="utf-8")
    return path


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_each_line_has_its_location_runs_and_bytes(program, capsys, monkeypatch):
    """Lines of called functions included; bytes are those of all runs."""
    monkeypatch.setattr(LIBRARY, "is_reachable", lambda *_: False)
    assert main(["report", str(program), "--steps", "4"]) == 3
    output = capsys.readouterr().out
    assert "of the program: ['--steps', '4'] 200.0" in output
    rows = re.findall(r"^ *(\d+) +[\d.]+ +[\d.]+% +(\d+) +(\d+)  (\w+) +(\w+):", output, re.MULTILINE)
    assert [(int(line), int(runs), where, function) for line, runs, _, where, function in rows] == [
        (9, 3, "kernel", "doubled"), (15, 3, "host", "summed"), (17, 3, LIBRARY.name, "summed"),
    ]  # fmt: skip
    moved = [int(each) for _, _, each, _, _ in rows]
    assert moved[0] == moved[2] == 0
    assert moved[1] >= 3 * 2 * 800  # 100 numbers there and back
    assert "[sequential-loop]" in output
    assert sum(float(each) for each in re.findall(r"([\d.]+)%", output)) == pytest.approx(100, abs=0.5)


@pytest.mark.filterwarnings("ignore::kapi_numba_offload.OffloadFallbackWarning")
def test_the_page_has_a_bar_for_each_line(program, tmp_path):
    page = tmp_path / "report.html"
    main(["report", "--html", str(page), str(program)])
    text = page.read_text("utf-8")
    picture = ET.fromstring(re.search(r"<svg.*?</svg>", text, re.DOTALL).group())
    bars, labels = picture.findall("rect"), picture.findall("text")
    assert [len(bars), len(labels)] == [3, 3]
    widths = [float(each.get("width")) for each in bars]
    assert widths == sorted(widths, reverse=True)
    assert any("summing.py:15 host" in each.text for each in labels)
    assert "<code>a * 2</code>" in text


def test_a_program_that_is_absent_or_offloads_nothing_is_reported(tmp_path, capsys):
    assert main(["report", str(tmp_path / "absent.py")]) == 2
    assert "[kernel-absent]" in capsys.readouterr().err
    plain = tmp_path / "plain.py"
    plain.write_text("print(1)\n", encoding="utf-8")
    assert main(["report", str(plain)]) == 0
    assert "no part of a function was offloaded" in capsys.readouterr().out


def test_the_module_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "kapi_numba_offload", "report", "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "--html" in done.stdout
