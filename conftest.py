"""Which tests a run takes: all that are not nightly, a sample of the nightly ones, or the nightly ones whole.

``KAPI_NIGHTLY``
    ``1`` runs the tests marked ``nightly`` and no others, ``all`` runs every test. Without it, only those marked
    ``nightly(one_in=N)`` run, one in N of a test's parameters: the same ones every day and on every machine.
    ``nightly(at_night=M)`` is one in M of them at night: others each night, and each one within M nights.
``KAPI_ONE_IN``
    A number; one in so many of the parameters of every other test run, too.
``KAPI_TEST_SEED``
    A number that decides the sample, and what Hypothesis draws. It is fixed by default, and the date at night; each run
    prints it.
"""

from __future__ import annotations

import datetime
import hashlib
import os

import pytest

FIXED_SEED = "20261122"
"""What everybody's run draws from, so that no date decides whether it is green."""


def pytest_configure(config: pytest.Config) -> None:
    """Fix the seed, for the processes that tests start as well."""
    wanted = os.environ.get("KAPI_NIGHTLY", "0")
    default = FIXED_SEED if wanted != "1" else f"{datetime.datetime.now(datetime.UTC):%Y%m%d}"
    seed = int(os.environ.setdefault("KAPI_TEST_SEED", default))
    if getattr(config.option, "hypothesis_seed", 0) is None:  # Hypothesis is there, and no seed was asked for
        config.option.hypothesis_seed = str(seed)
    if wanted not in ("0", "1", "all"):
        raise pytest.UsageError(f"KAPI_NIGHTLY must be 0, 1 or all, got {wanted!r}")


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
    seed = int(os.environ["KAPI_TEST_SEED"])
    if wanted == "1":
        whole = {item for item in nightly if "at_night" not in item.get_closest_marker("nightly").kwargs}
        kept = whole | _sample(nightly, seed, "at_night")
    else:
        others = [item for item in items if not item.get_closest_marker("nightly")]
        one_in = int(os.environ.get("KAPI_ONE_IN", "1"))
        kept = _sample(nightly, seed, "one_in") | (_sample(others, seed, one_in) if one_in > 1 else set(others))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _sample(items: list[pytest.Item], seed: int, share: int | str) -> set[pytest.Item]:
    """One in so many of each test's items, at least one; a text is that word of the test's mark."""
    tests: dict[str, list[pytest.Item]] = {}
    shares: dict[str, int] = {}
    for item in items:
        one_in = item.get_closest_marker("nightly").kwargs.get(share) if isinstance(share, str) else share
        if one_in:
            test = item.nodeid.partition("[")[0]
            tests.setdefault(test, []).append(item)
            shares[test] = one_in
    kept: set[pytest.Item] = set()
    for test, found in tests.items():
        # One of each so many neighbours, so that every family of parameters is sampled. Which one follows an order of
        # its own: at a fixed distance it might be the same dtype each time.
        for start in range(0, len(found), shares[test]):
            block = found[start : start + shares[test]]
            block.sort(key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
            if start == 0 or len(block) == shares[test]:
                kept.add(block[seed % len(block)])
            elif seed % shares[test] < len(block):
                kept.add(block[seed % shares[test]])
    return kept
