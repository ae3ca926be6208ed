"""A pytest plugin: tests of kernels under the simulator's checks, in several orders and on pretended devices.

A test suite asks for it in its top ``conftest.py``::

    pytest_plugins = ["kapi_sim.testing.plugin"]

and then takes the fixture ``kapi_checks``::

    def test_histogram(kapi_checks):
        ...                                  # every launch is checked
        assert kapi_checks.notes == []       # and nothing is worth a note

    @pytest.mark.kapi(orders=4, profiles=["no-fp64", "small-groups"])
    def test_everywhere(kapi_checks):
        ...                                  # runs 8 times
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kapi_sim.items.profile import PROFILES, Profile
from kapi_sim.settings.control import simulation
from kapi_sim.settings.report import Report

__all__ = ["kapi_checks"]

_CONTROLS = ("checks", "orders", "profiles", "schedules", "spin_limit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for the number of orders."""
    parser.getgroup("kapi").addoption(
        "--kapi-orders",
        type=int,
        default=1,
        metavar="N",
        help="run each test that takes kapi_checks in N orders of its work-items: program order, then seeds from 1",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "kapi(checks='all', orders=1, profiles=(None,), schedules=1): how the launches of a test that takes "
        "kapi_checks are simulated; it runs once for each order and profile",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``kapi_checks`` once for each order and profile."""
    if "kapi_checks" not in metafunc.fixturenames:
        return
    controls = _controls(metafunc)
    orders = controls.pop("orders", metafunc.config.getoption("--kapi-orders"))
    profiles = controls.pop("profiles", (None,))
    cases = [
        {**controls, "seed": None if order == 0 else order, "profile": profile}
        for profile in profiles
        for order in range(orders)
    ]
    metafunc.parametrize("kapi_checks", cases, ids=[_name(case) for case in cases], indirect=True)


@pytest.fixture
def kapi_checks(request: pytest.FixtureRequest) -> Iterator[Report]:
    """Check the launches of a test, and give their report.

    The marker ``kapi`` names checks, orders and profiles; without it all checks run, in program order.

    Yields
    ------
    Report
        Filled as kernels run.
    """
    with simulation(**request.param) as report:
        yield report


def _controls(metafunc: pytest.Metafunc) -> dict[str, Any]:
    # What stands nearest to the test counts.
    marker = metafunc.definition.get_closest_marker("kapi")
    controls: dict[str, Any] = {} if marker is None else dict(marker.kwargs)
    where = metafunc.definition.nodeid
    unknown = sorted(set(controls) - set(_CONTROLS))
    if unknown or (marker is not None and marker.args):
        raise pytest.UsageError(
            f"{where}: marker kapi must be given {', '.join(_CONTROLS)} by name, got "
            f"{', '.join(unknown) or marker.args}"  # type: ignore[union-attr]
        )
    orders = controls.get("orders", 1)
    if not isinstance(orders, int) or orders < 1:
        raise pytest.UsageError(f"{where}: orders must be an integer of at least 1, got {orders!r}")
    for profile in controls.get("profiles", ()):
        if not (profile is None or isinstance(profile, Profile) or profile in PROFILES):
            raise pytest.UsageError(
                f"{where}: profiles must be Profile objects, None or of {', '.join(sorted(PROFILES))}, got {profile!r}"
            )
    return controls


def _name(case: dict[str, Any]) -> str:
    profile = case["profile"]
    named = profile if isinstance(profile, str) else _known(profile)
    order = "program-order" if case["seed"] is None else f"seed{case['seed']}"
    return f"{order}-{named}" if named else order


def _known(profile: Profile | None) -> str:
    if profile is None:
        return ""
    return next((name for name, known in PROFILES.items() if known == profile), "own-profile")
