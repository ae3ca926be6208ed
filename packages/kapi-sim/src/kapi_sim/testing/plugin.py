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

``pytest --kapi-check`` runs any suite under all checks, unedited: what its tests and
programs import as ``numba.cuda`` is `kapi_sim.numba_cuda`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from _kapi_sim_pytest import pytest_addoption as add_check_option
from kapi_sim.items.profile import PROFILES, Profile
from kapi_sim.programs.checking import summary
from kapi_sim.programs.stand_ins import stand_ins
from kapi_sim.settings.simulation_report import Report
from kapi_sim.settings.simulation_settings import simulation

__all__ = ["kapi_checks", "stand_in"]

_CONTROLS = ("checks", "groups", "orders", "profiles", "schedules", "spin_limit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for checks of all tests, and for the number of orders."""
    add_check_option(parser)
    group = parser.getgroup("kapi")
    group.addoption(
        "--kapi-orders",
        type=int,
        default=1,
        metavar="N",
        help="run each test that takes kapi_checks in N orders of its work-items: program order, then seeds from 1",
    )


_TOTAL: pytest.StashKey[Report] = pytest.StashKey()
"""The launches of all tests, under ``--kapi-check``."""


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Put `kapi_sim.numba_cuda` in place of ``numba.cuda`` before any conftest imports that."""
    if early_config.known_args_namespace.kapi_check:
        stand_in(early_config)


def stand_in(config: pytest.Config) -> None:
    """Check all launches from now on."""
    if _TOTAL not in config.stash:
        config.stash[_TOTAL] = Report()
        stack = ExitStack()
        stack.enter_context(stand_ins())
        config.add_cleanup(stack.close)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Check all launches of a test and its fixtures."""
    total = item.config.stash.get(_TOTAL, None)
    if total is None:
        return (yield)
    with simulation() as report:
        result = yield
    total.launches += report.launches
    total.notes += report.notes
    total.faults += report.faults
    return result


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many launches were checked, and which faults were found."""
    total = config.stash.get(_TOTAL, None)
    if total is not None:
        terminalreporter.section("kapi_sim")
        for line in summary(total):
            terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    if config.getoption("--kapi-check"):
        stand_in(config)
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
