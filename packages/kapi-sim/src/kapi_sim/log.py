"""The logger ``kapi``, and the variable ``KAPI_LOG`` that shows what it has to say.

At level INFO it tells which device is used, with its size, where the disk cache is, what is compiled, in how many
seconds, and whether the cache had it; at DEBUG each launch as well.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from kapi_sim import environment_variables
from kapi_sim.errors import KapiWarning
from kapi_sim.progress import progress_text

__all__ = ["LOGGER", "launches", "log_launch", "long_work", "show"]

_LEVELS = ("debug", "info", "warning", "error")


class _Launches:
    """The switch that says whether launches are logged: a launch's fast path has no time to ask the logger.

    Attributes
    ----------
    are_logged : bool
        As the logger's level was when `refresh` was called last.
    """

    __slots__ = ("are_logged",)

    def __init__(self) -> None:
        self.are_logged = False

    def refresh(self) -> None:
        """Ask the logger, whose level may follow from others'."""
        self.are_logged = LOGGER.isEnabledFor(logging.DEBUG)


class _Logger(logging.Logger):
    """A logger that passes a change of its level on to the fast path."""

    def setLevel(self, level: int | str) -> None:
        super().setLevel(level)
        launches.refresh()


def _made() -> logging.Logger:
    before = logging.getLoggerClass()
    logging.setLoggerClass(_Logger)
    try:
        return logging.getLogger("kapi")
    finally:
        logging.setLoggerClass(before)


launches = _Launches()
"""Asked at each launch."""
LOGGER = _made()
"""The logger ``kapi``."""


def log_launch(kernel: str, space: object, where: str = "") -> None:
    """Log one launch.

    Parameters
    ----------
    kernel : str
        The kernel's name.
    space : Range or NdRange
        Its index space.
    where : str
        Added at the end, where the launch is in no device's code.
    """
    LOGGER.debug("launch of `%s` over %r%s", kernel, space, where)


@contextmanager
def long_work(doing: str, done: str) -> Iterator[None]:
    """Show the progress of a ``with`` block on a terminal, and log what it has done with its seconds.

    Parameters
    ----------
    doing : str
        What the block does, such as ``"compiling kernel `k`"``.
    done : str
        What it has done, such as ``"kernel `k`: compiled"``.
    """
    start = time.perf_counter()
    with progress_text(doing):
        yield
    LOGGER.info("%s, %.3f s", done, time.perf_counter() - start)


def show(level: str) -> None:
    """Write what is logged to standard error, as ``KAPI_LOG`` asks for; nothing for an empty text.

    Parameters
    ----------
    level : str
        ``"debug"``, ``"info"``, ``"warning"`` or ``"error"``.
    """
    if not level:
        return
    if level.lower() not in _LEVELS:
        said = f"KAPI_LOG must be one of {', '.join(_LEVELS)}, got {level!r}"
        warnings.warn_explicit(said, KapiWarning, "<environment>", 0)  # no line of a program is at fault
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s", "%H:%M:%S"))
    LOGGER.addHandler(handler)
    LOGGER.propagate = False  # a program that shows all its logging would show these lines twice
    LOGGER.setLevel(level.upper())


show(environment_variables.LOG.value or "")
