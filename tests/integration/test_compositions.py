"""Every operation of the table with every pair of kinds, into every consumer: both worlds against NumPy."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SAMPLE, BATCH = 100, 100
PARTS = 24


def imported(name: str) -> Any:
    """A package of this folder, which is on no path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).parent / name / "__init__.py")
    package = importlib.util.module_from_spec(specification)
    sys.modules[name] = package
    specification.loader.exec_module(package)
    return package


compositions = imported("compositions")
running = sys.modules["compositions.running"]


@pytest.mark.filterwarnings("ignore")
def test_sample_of_compositions_agrees(capsys):
    """Statements of all levels, others each night."""
    rng = random.Random(int(os.environ.get("KAPI_TEST_SEED", "0")))
    verdict = compositions.Verdict()
    with np.errstate(all="ignore"):
        for _ in range(SAMPLE // BATCH):
            # Groups are kernels of another kind.
            wanted = [level for level in compositions.LEVELS if "group" not in level]
            verdict.add(compositions.compare([drawn(rng, rng.choice(wanted)) for _ in range(BATCH)]))
        levels = [level for level in compositions.LEVELS if "group" in level]
        verdict.add(compositions.compare([drawn(rng, rng.choice(levels)) for _ in range(BATCH // 2)]))
    report(capsys, verdict.counts, list(map(str, verdict.differences)))


def drawn(rng, level):
    """Any statement of a level."""
    return compositions.statement(level, rng.randrange(compositions.count(level)))


def report(capsys, counts, differences):
    """Print the counts whatever the outcome is; fail with the first differences."""
    with capsys.disabled():
        print(
            "\n" + ", ".join(f"{counts[each]} {each}" for each in sorted(counts)) + f", {len(differences)} differences"
        )
    assert not differences, "\n\n".join(differences[:20])


@pytest.mark.nightly(at_night=2)
@pytest.mark.parametrize("part", range(PARTS))
def test_all_compositions_agree(part, capsys):
    """All of them in two nights, in two processes at a time."""
    first, last = (running.total() * n // PARTS for n in (part, part + 1))
    report(capsys, *compositions.run_in_processes(first, last))


def test_every_row_is_composed():
    """A function, atomic operation or group algorithm of the table that no statement has would not be tested."""
    from kapi_sim.language.table.intrinsics import rows

    operations = " ".join(operation.form for operation in sys.modules["compositions.operations"].OPERATIONS)
    modules = {"numpy": "np"}
    for owner in ("math", "cmath", "numpy"):
        for row in rows(owner=owner):
            assert f"{modules.get(owner, owner)}.{row.name}(" in operations
    consumers = sys.modules["compositions.consumers"]
    assert {row.name for row in rows(family="group")} == {each.group[1] for each in consumers.GROUPS}
    methods = {row.name for row in rows(owner="AtomicRef")} - {"load", "compare_exchange"}
    assert methods == {each.atomic[0] for each in consumers.ATOMICS}
