"""Devices of SYCL: dpctl's own, with a summary and a ``with`` statement."""

from __future__ import annotations

import operator
import warnings
from contextlib import suppress
from typing import Any, NoReturn

import dpctl

from kapi_runtime.platform.handles import Device
from kapi_runtime.sycl.devices.device_summary import DpctlDeviceSummary, describe_device, summarize
from kapi_sim.errors import DeviceNotFoundError, LimitError

__all__ = ["DpctlDevice"]


class DpctlDevice(Device, dpctl.SyclDevice):  # type: ignore[misc]  # dpctl is Any for mypy
    """A `dpctl.SyclDevice`, with all its attributes, as a `Device`; equal to the one that it was made from.

    - `device`: the device, or its filter string.
    """

    def __init__(self, device: Any = None) -> None:
        """`dpctl.SyclDevice` has done all when it was made."""

    @property
    def compute_capability(self) -> NoReturn:
        """Raise LimitError: it is a property of NVIDIA's GPUs."""
        raise LimitError(
            f"a device must be one of CUDA's to have a compute capability, got {describe_device(self)}: ask for what "
            "is needed, such as `device.has_aspect_fp64`",
            code="device-lacks",
        )

    @property
    def summary(self) -> DpctlDeviceSummary:
        """The properties of the device; ``print(device.summary)`` shows them as text."""
        return summarize(self)

    @property
    def attributes(self) -> dict[str, Any]:
        """All that dpctl knows of it, without what this device does not answer and what dpctl has deprecated."""
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            for name in sorted(dir(dpctl.SyclDevice)):
                if not name.startswith("_") and not callable(getattr(dpctl.SyclDevice, name)):
                    with suppress(RuntimeError, ValueError, DeprecationWarning):
                        found[name] = getattr(self, name)
        return found

    def split(self, *compute_units: int, equally: int | None = None) -> list[DpctlDevice]:
        """Return sub-devices, as `Device.split` says."""
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
        return [DpctlDevice(part) for part in parts]

    def _described(self) -> str:
        return describe_device(self)
