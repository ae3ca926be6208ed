from __future__ import annotations

import re
import subprocess
import sys

SESSIONS = """
    demo tests pythons lint imports house types build isolated without_dpnp without_platform with_cuda
    integration brief instruction_sets docs browser docs-live release bench bench_peers gpu arm
    nightly night
""".split()


def test_listing_has_every_session_with_help(root, projects):
    command = [sys.executable, str(root / "noxfile.py"), "-l"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    listing = dict(re.findall(r"^[-*] (\S+) -> (.+)$", printed, re.MULTILINE))
    assert list(dict.fromkeys(name.partition("(")[0] for name in listing)) == SESSIONS
    assert all(line.endswith(".") for line in listing.values())
    assert [name for name in listing if name.startswith("isolated")] == [f"isolated({dist})" for dist in projects]


def test_contributing_explains_every_session(root):
    text = (root / "CONTRIBUTING.md").read_text("utf-8")
    explained = re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE)
    assert sorted(explained) == sorted(SESSIONS)
