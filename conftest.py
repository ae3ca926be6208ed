"""Which tests a run takes: all that are not nightly, a sample of the nightly ones, or the nightly ones whole.

``KAPI_NIGHTLY``
    ``1`` runs the tests marked ``nightly`` and no others, ``all`` runs every test. Without it, only those marked
    ``nightly(one_in=N)`` run, one in N of a test's parameters: another sample each day, and each one within N days.
``KAPI_ONE_IN``
    A number; one in so many of the parameters of every other test run, too.
``KAPI_TEST_SEED``
    A number that decides the sample, and what Hypothesis draws. It is the day's if it is not given, and is printed.
"""

from __future__ import annotations

import datetime
import hashlib
import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Fix the seed, for the processes that tests start as well."""
    today = datetime.datetime.now(datetime.UTC).date()
    seed = int(os.environ.setdefault("KAPI_TEST_SEED", f"{today:%Y%m%d}"))
    if getattr(config.option, "hypothesis_seed", 0) is None:  # Hypothesis is there, and no seed was asked for
        config.option.hypothesis_seed = str(seed)
    wanted = os.environ.get("KAPI_NIGHTLY", "0")
    if wanted not in ("0", "1", "all"):
        raise pytest.UsageError(f"KAPI_NIGHTLY must be 0, 1 or all, got {wanted!r}")


def pytest_report_header() -> str:
    """Say how to repeat the run."""
    return f"sample: KAPI_TEST_SEED={os.environ['KAPI_TEST_SEED']} KAPI_NIGHTLY={os.environ.get('KAPI_NIGHTLY', '0')}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this run."""
    wanted = os.environ.get("KAPI_NIGHTLY", "0")
    if wanted == "all":
        return
    nightly = [item for item in items if item.get_closest_marker("nightly")]
    if wanted == "1":
        kept = set(nightly)
    else:
        others = [item for item in items if not item.get_closest_marker("nightly")]
        seed, one_in = int(os.environ["KAPI_TEST_SEED"]), int(os.environ.get("KAPI_ONE_IN", "1"))
        kept = _sample(nightly, seed) | (_sample(others, seed, one_in) if one_in > 1 else set(others))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def _sample(items: list[pytest.Item], seed: int, one_in_any: int | None = None) -> set[pytest.Item]:
    """One in N of each test's items, as its mark says or for any test; at least one."""
    tests: dict[str, list[pytest.Item]] = {}
    shares: dict[str, int] = {}
    for item in items:
        one_in = one_in_any or item.get_closest_marker("nightly").kwargs.get("one_in")
        if one_in:
            test = item.nodeid.partition("[")[0]
            tests.setdefault(test, []).append(item)
            shares[test] = one_in
    kept: set[pytest.Item] = set()
    for test, found in tests.items():
        # In an order of its own, so that a sample does not follow the order of the parameters.
        found.sort(key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
        step = min(shares[test], len(found))
        kept.update(found[seed % step :: step])
    return kept
