"""Findings of a platform for `python -m kapi_runtime`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from kapi_runtime.platform.interface.devices import DeviceSummary

__all__ = ["Diagnosis", "Findings"]


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of a platform about itself, for ``python -m kapi_runtime``.

    Attributes
    ----------
    devices : tuple of DeviceSummary
        The devices that kernels can run on, best first; ``str(summary)`` is shown.
    left_out : tuple of str
        Devices that they cannot run on, with the reason.
    settings : tuple of (str, str)
        Environment variables that govern what is found, as far as they are set.
    driver : str
        What the search for a driver came to.
    problems : tuple of str
        What is wrong, with the remedy; empty if nothing is.
    launches : str
        Which path repeated launches take, and why if it is the slow one; empty without a device.
    """

    devices: tuple[DeviceSummary, ...]
    left_out: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    driver: str
    problems: tuple[str, ...]
    launches: str = ""


class Diagnosis(ABC):
    """Examines what is installed, and says what is missing."""

    @abstractmethod
    def findings(self) -> Findings:
        """Examine devices and environment, and try the default device; never raises for what it finds."""

    @abstractmethod
    def versions(self, device: Any) -> Collection[tuple[str, str]]:
        """Return names and versions of what kernels go through on their way to a `Device`: libraries and formats."""
