"""The option ``--kapi-check`` of pytest, which finds it by an entry point.

pytest imports this in every project, so it stands beside the package, and imports that only where the option is given.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import pytest

_PLUGIN = "kapi_sim.testing.plugin"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for checks of all tests."""
    with suppress(ValueError):  # the plugin itself is there, and has added it
        parser.getgroup("kapi").addoption(
            "--kapi-check",
            action="store_true",
            help="run all tests under kapi_sim's checks, with kapi_sim.numba_cuda in the place of numba.cuda",
        )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Load the plugin before any conftest imports ``numba.cuda``."""
    if early_config.known_args_namespace.kapi_check:
        early_config.pluginmanager.import_plugin(_PLUGIN)
        import_module(_PLUGIN).stand_in(early_config)
