"""Which tests a run takes: all that are not nightly, a sample of the nightly ones, or the nightly ones whole.

``KAPI_NIGHTLY``
    ``1`` runs the tests marked ``nightly`` and no others, ``all`` runs every test. Without it, only those marked
    ``nightly(one_in=N)`` run, one in N of a test's parameters: another sample each day, and each one within N days.
    ``nightly(at_night=M)`` is one in M of them at night, in the same way.
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
        # In an order of its own, so that a sample does not follow the order of the parameters.
        found.sort(key=lambda item: hashlib.sha256(item.nodeid.encode()).digest())
        step = min(shares[test], len(found))
        kept.update(found[seed % step :: step])
    return kept
