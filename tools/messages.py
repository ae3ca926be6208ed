"""Compare the messages of errors with the snapshots beside the tests, or write these anew.

``python tools/messages.py --rewrite`` runs the tests of all packages and writes their messages into
``tests/snapshots/messages.txt`` of each; the diff shows every word that has changed. Tests named after it,
as pytest takes them, are run alone, and the messages of other files are kept. Without ``--rewrite`` nothing is written:
messages that no test has any more are named, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from kapi_sim.testing.reports import SNAPSHOT, Message, collecting, read_messages, write_messages

__all__ = ["main", "merged"]

ROOT = Path(__file__).resolve().parents[1]


class _Files:
    """A plugin of pytest's that notes which files of tests ran to their ends."""

    def __init__(self) -> None:
        self.run: set[Path] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.run.add(ROOT / report.nodeid.partition("::")[0])


def merged(known: set[Message], found: set[Message], files: set[str]) -> set[Message]:
    """Return what a snapshot is to hold after the tests of these files have had these messages."""
    return {each for each in known if each.file not in files} | found


def main(arguments: list[str]) -> int:
    """Run the tests, write or compare, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rewrite", action="store_true", help="write the snapshots")
    parser.add_argument("tests", nargs="*", help="files or folders of tests; all packages' if there is none")
    options = parser.parse_args(arguments)
    files = _Files()
    tests = options.tests or [str(each.parents[1]) for each in ROOT.glob(f"packages/*/tests/{SNAPSHOT}")]
    with collecting() as collected:
        status = int(pytest.main(["-q", f"--rootdir={ROOT}", *tests], plugins=[files]))
    found: dict[Path, set[Message]] = defaultdict(set)
    for snapshot, message in collected:
        found[snapshot].add(message)
    for snapshot in sorted({*found, *(each.parent / SNAPSHOT for each in files.run)} & set(ROOT.rglob(str(SNAPSHOT)))):
        known = set(read_messages(snapshot))
        wanted = merged(
            known, found[snapshot], {each.name for each in files.run if snapshot.parents[1] in each.parents}
        )
        if wanted != known and options.rewrite:
            write_messages(snapshot, wanted)
        for word, messages in (("new", wanted - known), ("no longer met", known - wanted)):
            for message in sorted(messages):
                print(f"{snapshot.relative_to(ROOT)}: {word}: [{message.code}] {message.file}: {message.words}")
        status = status or int(wanted != known and not options.rewrite)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
