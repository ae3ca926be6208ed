"""A device that can be made the current one: dpctl's own device, with a summary and a ``with`` statement."""

from __future__ import annotations

import operator
import warnings
from contextlib import suppress
from typing import Any

import dpctl

from kapi_runtime.platform import current
from kapi_runtime.sycl.device_summary import DeviceSummary, describe_device, summarize
from kapi_sim.errors import DeviceNotFoundError

__all__ = ["Device"]


class Device(dpctl.SyclDevice):  # type: ignore[misc]  # dpctl is Any for mypy
    """A `dpctl.SyclDevice`, with all its attributes, that can be made the current device.

    Everything that takes a dpctl device takes this one, dpnp's ``device=`` too, and it is equal to the
    `dpctl.SyclDevice` that it was made from.

    Parameters
    ----------
    device : dpctl.SyclDevice or str
        The device, or its filter string.

    Examples
    --------
    >>> import kapi_runtime as kapi
    >>> device = kapi.devices[0]
    >>> device.max_compute_units >= 1
    True
    >>> with device:
    ...     kapi.get_current_device() == device
    True
    """

    @property
    def summary(self) -> DeviceSummary:
        """What is worth knowing of it; ``print(device.summary)`` shows it as lines of text."""
        return summarize(self)

    @property
    def attributes(self) -> dict[str, Any]:
        """All that dpctl knows of it, by the attributes' names, sorted.

        Attributes that this device does not answer are left out, and those that dpctl has deprecated.
        """
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            for name in sorted(dir(dpctl.SyclDevice)):
                if not name.startswith("_") and not callable(getattr(dpctl.SyclDevice, name)):
                    with suppress(RuntimeError, ValueError, DeprecationWarning):
                        found[name] = getattr(self, name)
        return found

    def split(self, *compute_units: int, equally: int | None = None) -> list[Device]:
        """Return sub-devices, each with compute units of its own.

        Parameters
        ----------
        *compute_units : int
            How many units each sub-device gets.
        equally : int, optional
            Instead: units of each sub-device; there are as many sub-devices as that gives.

        Returns
        -------
        list of Device
            Each call gives new ones, which equal no earlier ones: keep what you made.

        Raises
        ------
        DeviceNotFoundError
            If the device cannot be split so.

        References
        ----------
        SYCL 2020, section 4.6.4.2 (device partitioning).

        Examples
        --------
        >>> import kapi_runtime as kapi
        >>> [part.max_compute_units for part in kapi.devices[0].split(1)]
        [1]
        """
        partition: Any = equally if equally is not None else list(compute_units)
        try:
            if equally is not None and compute_units:
                raise ValueError
            for units in compute_units if equally is None else (equally,):
                if operator.index(units) < 1:  # dpctl would cut fractions off
                    raise ValueError
            parts = self.create_sub_devices(partition=partition)
        except (dpctl.SyclSubDeviceCreationError, ValueError, TypeError) as error:
            asked = f"split({', '.join([*map(str, compute_units), *([f'{equally=}'] if equally is not None else [])])})"
            raise DeviceNotFoundError(
                f"{describe_device(self)} must have sub-devices of this kind, got {asked}: it has "
                f"{self.max_compute_units} compute units, and splits into at most {self.partition_max_sub_devices} "
                "sub-devices; name the units of each, or `equally=` those of all",
                code="sub-devices",
            ) from error
        return [Device(part) for part in parts]

    def __enter__(self) -> Device:
        current.enter(self)
        return self

    def __exit__(self, *exc_info: object) -> None:
        current.leave()

    def __repr__(self) -> str:
        return f"<Device: {describe_device(self)}>"
