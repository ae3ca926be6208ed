from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """The quick demo's folder and what it printed: to a pipe, with warnings as errors."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-W", "error", str(DEMO), "--quick", "--output", "picture.png"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    return folder, result


def test_demo_is_quiet_and_plain_in_a_pipe(outcome):
    _, result = outcome
    assert result.stderr == ""
    assert "\x1b" not in result.stdout
    assert result.stdout.isascii()
    assert max(map(len, result.stdout.splitlines())) <= 120 + len(os.path.dirname(sys.prefix))


def test_demo_shows_mistakes_that_the_simulator_finds(outcome):
    text = outcome[1].stdout
    assert "nothing found" in text
    assert "OutOfBoundsError: index 24 is out of bounds: axis 1 of `pixels` has length 24" in text
    assert "DataRaceError: data race on mistakes[0]" in text
    assert text.count("at digits_kernels.py:") == 3


def test_demo_exchanges_one_line(outcome):
    assert "- import kapi_sim as kapi\n   + import kapi_runtime as kapi\n" in outcome[1].stdout


def test_demo_names_the_device(outcome):
    assert re.search(r"^   device +\S.*, \d+ threads", outcome[1].stdout, re.MULTILINE)


def test_demo_classifies_as_the_references_do(outcome):
    found = re.search(r"accuracy +(\d\.\d{4}), leave one out: (\d+) mistakes", outcome[1].stdout)
    assert found is not None
    accuracy, mistakes = float(found[1]), int(found[2])
    assert accuracy == round(1 - mistakes / 600, 4)
    assert accuracy > 0.98


def test_demo_table_has_a_row_for_each_rival(outcome):
    numbers = r" +(\d+\.\d) +(\d+\.\d\d) +(\d+)$"
    rows = re.findall(rf"^   (kapi|NumPy|Numba)\b.*?{numbers}", outcome[1].stdout, re.MULTILINE)
    assert [row[0] for row in rows] == ["kapi", "Numba", "Numba", "NumPy"]
    assert rows[0][2] == "1.00"


def test_demo_writes_the_picture(outcome):
    folder, _ = outcome
    assert [path.name for path in folder.iterdir()] == ["picture.png"]
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "picture.png").stat().st_size > 50_000


def test_demo_picture_in_the_documentation_is_small():
    picture = DEMO.parents[1] / "docs" / "images" / "digits.png"
    assert picture.stat().st_size < 150_000
