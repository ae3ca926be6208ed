from __future__ import annotations

import re
import subprocess
import sys

import pytest

SESSIONS = """
    demo tests pythons lint imports house types build isolated without_dpnp without_platform with_cuda minimums
    integration brief instruction_sets docs browser docs-live bench gpu first_race sizes
    nightly night
""".split()


@pytest.fixture(scope="module")
def listing(root):
    """What `noxfile.py -l` prints, as a mapping from session to its line of help."""
    command = [sys.executable, str(root / "noxfile.py"), "-l"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    return dict(re.findall(r"^[-*] (\S+) -> (.+)$", printed, re.MULTILINE))


def test_listing_has_every_session_with_help(listing):
    assert list(dict.fromkeys(name.partition("(")[0] for name in listing)) == SESSIONS
    assert all(line.endswith(".") for line in listing.values())


@pytest.mark.parametrize("session", ["isolated"])
def test_listing_has_a_session_for_each_package(listing, projects, session):
    assert [name for name in listing if name.startswith(session)] == [f"{session}({dist})" for dist in projects]


def test_contributing_explains_every_session(root):
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    explained = re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)
    assert sorted(explained) == sorted(SESSIONS)
