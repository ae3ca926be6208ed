"""The properties of a device, as a value and as text."""

from __future__ import annotations

from typing import Any

from kapi_runtime.platform.handles import DeviceSummary
from kapi_runtime.sycl.devices import drivers
from kapi_runtime.sycl.devices.usable import best_device, usable_devices

__all__ = ["DpctlDeviceSummary", "describe_device", "summarize"]

_ASPECT = "has_aspect_"


class DpctlDeviceSummary(DeviceSummary):
    """The properties of a device that dpctl knows."""

    __slots__ = ()

    def __str__(self) -> str:
        kinds = ", ".join(word for word in ("fp64", "fp16", "atomic64") if word in self.aspects)
        sizes = ", ".join(map(str, self.sub_group_sizes))
        lines = (
            f"{self.filter_string or 'sub-device'}: {self.name}{' (default)' if self.is_default else ''}",
            f"  platform     {self.platform}, {self.backend}, driver {self.driver_version}",
            f"  driver       {self.found_by}",
            f"  compute      {self.compute_units} units, work-groups to {self.max_work_group_size} "
            "work-items, "
            f"sub-groups of {sizes}",
            f"  memory       {_bytes(self.global_mem_size)}, one allocation to "
            f"{_bytes(self.max_mem_alloc_size)}, "
            f"{_bytes(self.local_mem_size)} local",
            f"  has          {kinds or 'neither fp64, fp16 nor atomic64'}",
        )
        return "\n".join(lines)


def summarize(device: Any) -> DpctlDeviceSummary:
    """Return the summary of a `dpctl.SyclDevice`, root or sub-device."""
    platform = device.sycl_platform
    return DpctlDeviceSummary(
        filter_string=_filter_string(device),
        name=device.name.strip(),
        vendor=device.vendor.strip(),
        platform=platform.name.strip(),
        driver_version=device.driver_version,
        backend=device.backend.name,
        kind=device.device_type.name,
        compute_units=device.max_compute_units,
        max_work_group_size=device.max_work_group_size,
        max_work_item_sizes=tuple(device.max_work_item_sizes3d),
        local_mem_size=device.local_mem_size,
        global_mem_size=device.global_mem_size,
        max_mem_alloc_size=device.max_mem_alloc_size,
        sub_group_sizes=tuple(device.sub_group_sizes),
        aspects=_aspects(device),
        found_by=_found_by(device),
        is_default=device == best_device(usable_devices()),
    )


def describe_device(device: Any) -> str:
    """Name a `dpctl.SyclDevice` in a few words, for messages."""
    name = device.name.strip()
    filter_string = _filter_string(device)
    if filter_string:
        return f"{name} ({filter_string})"
    parent = device.parent_device
    units = f"{device.max_compute_units} of {parent.max_compute_units} compute units"
    return f"a sub-device of {name} ({units})"


def _filter_string(device: Any) -> str:
    try:
        return str(device.filter_string)
    except ValueError:
        return ""


def _aspects(device: Any) -> tuple[str, ...]:
    names = sorted(name for name in dir(type(device)) if name.startswith(_ASPECT))
    return tuple(name[len(_ASPECT) :] for name in names if getattr(device, name))


def _found_by(device: Any) -> str:
    found = drivers.driver_search()
    if device.backend.name != "opencl":
        return "installed with the system"
    if device.is_cpu and "Intel" in device.sycl_platform.name:
        path = next(iter(drivers.loaded_libraries(drivers.LIBRARY)), "")
        return f"{found.summary}: {path}" if path and path not in found.summary else found.summary
    return f"registered with the system, in {drivers.SYSTEM_VENDORS}"


def _bytes(number: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number //= 1024
    return f"{number:.0f} GiB"
