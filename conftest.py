"""Selection of tests: all that are not nightly, and a sample of the nightly ones or all of them.

``KAPI_NIGHTLY``
    ``1`` runs the tests marked ``nightly`` and no others, ``all`` runs every test. Without it, only those marked
    ``nightly(one_in=N)`` run, one in N of a test's parameters: the same ones every day and on every machine.
    ``nightly(at_night=M)`` is one in M of them at night: others each night, and each one within M nights.
``KAPI_ONE_IN``
    A number; one in so many of the parameters of every test run, or fewer where its mark says so.
``KAPI_TEST_SEED``
    A number that decides the sample of a night, and what Hypothesis and the tests' own generators draw. It is fixed by
    default, and the date at night; each run prints it.
"""

from __future__ import annotations

import datetime
import gc
import hashlib
import os
import re
from collections.abc import Iterator

import pytest

FIXED_SEED = "20261122"
"""What everybody's run draws from, so that no date decides whether it is green."""


def pytest_configure(config: pytest.Config) -> None:
    """Fix the seed, for the processes that tests start as well."""
    wanted = os.environ.get("KAPI_NIGHTLY", "0")
    default = FIXED_SEED if wanted != "1" else f"{datetime.datetime.now(datetime.UTC):%Y%m%d}"
    seed = int(os.environ.setdefault("KAPI_TEST_SEED", default))
    if config.pluginmanager.hasplugin("hypothesispytest"):
        _configure_hypothesis(config, seed)
    if wanted not in ("0", "1", "all"):
        raise pytest.UsageError(f"KAPI_NIGHTLY must be 0, 1 or all, got {wanted!r}")


def _configure_hypothesis(config: pytest.Config, seed: int) -> None:
    """Let the seed alone decide what is drawn: no clock, no earlier failure, and no variable such as `CI`."""
    from hypothesis import HealthCheck, settings

    slow = [HealthCheck.too_slow]
    settings.register_profile("kapi", deadline=None, database=None, derandomize=False, suppress_health_check=slow)
    settings.load_profile("kapi")
    if config.option.hypothesis_seed is None:  # none was asked for
        config.option.hypothesis_seed = str(seed)


def pytest_report_header() -> str:
    """Say how to repeat the run."""
    return f"sample: KAPI_TEST_SEED={os.environ['KAPI_TEST_SEED']} KAPI_NIGHTLY={os.environ.get('KAPI_NIGHTLY', '0')}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this run."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:
        raise pytest.UsageError(f"names of tests must be the same in each run, got {unstable[0]}")
    wanted = os.environ.get("KAPI_NIGHTLY", "0")
    if wanted == "all":
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if wanted == "1":
        complete = {item for item in nightly if "at_night" not in item.get_closest_marker("nightly").kwargs}
        kept = complete | _sample_of_a_night(nightly, int(os.environ["KAPI_TEST_SEED"]))
    else:
        others = [item for item in items if not item.get_closest_marker("nightly")]
        one_in = int(os.environ.get("KAPI_ONE_IN", "1"))
        kept = _fixed_sample(nightly, "one_in", one_in) | (_fixed_sample(others, one_in) if one_in > 1 else set(others))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish() -> None:
    """Leave what imports made out of garbage collections: a compilation makes much garbage among a million objects."""
    gc.collect()
    gc.freeze()


def _fixed_sample(items: list[pytest.Item], share: int | str, at_least: int = 1) -> set[pytest.Item]:
    """One of each so many neighbours: that whose name has most words, such as a dtype, of which no other kept one has.

    The first one of several.
    """
    kept: set[pytest.Item] = set()
    for _, blocks in _blocks(items, share, at_least):
        seen: set[str] = set()
        for block in blocks:
            chosen = max(block, key=lambda item: len(_words(item) - seen))
            seen |= _words(chosen)
            kept.add(chosen)
    return kept


def _words(item: pytest.Item) -> set[str]:
    """The words that name an item's parameters."""
    return set(re.findall(r"[\w.?+]+", item.nodeid.partition("[")[2]))


def _sample_of_a_night(items: list[pytest.Item], seed: int) -> set[pytest.Item]:
    """One of each so many neighbours, each one within as many nights."""
    kept: set[pytest.Item] = set()
    for one_in, blocks in _blocks(items, "at_night"):
        for number, block in enumerate(blocks):
            # In an order of its own: at a fixed distance it might be the same dtype each time.
            block.sort(key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
            offset = seed % (len(block) if number == 0 else one_in)
            kept.update(block[offset : offset + 1])
    return kept


def _blocks(
    items: list[pytest.Item], share: int | str, at_least: int = 1
) -> Iterator[tuple[int, list[list[pytest.Item]]]]:
    """Each test's share, one in so many, and its items in blocks of so many; a text is that word of the test's mark."""
    tests: dict[str, list[pytest.Item]] = {}
    shares: dict[str, int] = {}
    for item in items:
        one_in = item.get_closest_marker("nightly").kwargs.get(share) if isinstance(share, str) else share
        if one_in:
            test = item.nodeid.partition("[")[0]
            tests.setdefault(test, []).append(item)
            shares[test] = max(one_in, at_least)
    for test, found in tests.items():
        one_in = shares[test]
        yield one_in, [found[start : start + one_in] for start in range(0, len(found), one_in)]
