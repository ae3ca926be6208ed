"""Pretend devices: what a launch may ask of the device that it will run on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from kapi_sim.errors import KernelLaunchError
from kapi_sim.short_repr import short_repr

__all__ = ["PROFILES", "Profile"]

_PROPERTY_NAMES = {"has_fp64": "has_aspect_fp64", "has_fp16": "has_aspect_fp16", "has_atomic64": "has_aspect_atomic64"}
"""Names by which dpctl, after SYCL, has what is called otherwise here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Abilities and limits of a device, against which the simulator checks launches.

    Attributes
    ----------
    has_fp64, has_fp16, has_atomic64 : bool
        Whether the device computes in float64, in float16, and has 64-bit atomics.
    max_work_group_size : int
        Largest work-group, in work-items.
    local_mem_size : int
        Local memory of a work-group, in bytes.
    sub_group_sizes : tuple of int
        Sub-group sizes that the device can run, in work-items.

    Raises
    ------
    KernelLaunchError
        If a limit is no positive integer.
    """

    has_fp64: bool = True
    has_fp16: bool = True
    has_atomic64: bool = True
    max_work_group_size: int = 1024
    local_mem_size: int = 65536
    sub_group_sizes: tuple[int, ...] = (32,)

    def __post_init__(self) -> None:
        for name in ("max_work_group_size", "local_mem_size"):
            _require_positive(name, getattr(self, name))
        if not self.sub_group_sizes:
            raise KernelLaunchError("sub_group_sizes must name at least one size, got none", code="profile-sub-groups")
        for size in self.sub_group_sizes:
            _require_positive("sub_group_sizes", size)

    @classmethod
    def from_device_properties(cls, properties: Mapping[str, Any]) -> Profile:
        """Return the profile of a device whose properties are known by name.

        Parameters
        ----------
        properties : mapping of str to object
            By the names that `Profile` or dpctl's ``SyclDevice`` has for them: ``has_aspect_fp64``,
            ``max_work_group_size``, ``local_mem_size``, ``sub_group_sizes`` and so on.  Others are left
            aside, so all that a device tells about itself may be given.

        Raises
        ------
        KernelLaunchError
            If a property is missing, for a limit that is not known cannot be checked.

        Examples
        --------
        >>> profile = Profile.from_device_properties({
        ...     "has_aspect_fp64": False, "has_aspect_fp16": True, "has_aspect_atomic64": True,
        ...     "max_work_group_size": 512, "local_mem_size": 65536, "sub_group_sizes": [8, 16, 32]})
        >>> profile.has_fp64, profile.sub_group_sizes
        (False, (8, 16, 32))
        """
        values: dict[str, Any] = {}
        missing = []
        for field in fields(cls):
            known = next((n for n in (field.name, _PROPERTY_NAMES.get(field.name)) if n in properties), None)
            if known is None:
                missing.append(_PROPERTY_NAMES.get(field.name, field.name))
            else:
                values[field.name] = properties[known]
        if missing:
            raise KernelLaunchError(
                f"device properties must have {', '.join(missing)}, got {', '.join(sorted(properties)) or 'none'}: "
                "write Profile(...) if they are not known",
                code="profile-incomplete",
            )
        values["sub_group_sizes"] = tuple(int(size) for size in values["sub_group_sizes"])
        return cls(**values)


def _require_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise KernelLaunchError(f"{name} must be a positive integer, got {short_repr(value)}", code="profile-number")


PROFILES: dict[str, Profile] = {
    "no-fp64": Profile(has_fp64=False),
    "no-fp16": Profile(has_fp16=False),
    "no-fp64-fp16-atomic64": Profile(has_fp64=False, has_fp16=False, has_atomic64=False),
    "small-groups": Profile(max_work_group_size=64, local_mem_size=16384),
    "least": Profile(
        has_fp64=False,
        has_fp16=False,
        has_atomic64=False,
        max_work_group_size=32,
        local_mem_size=8192,
        sub_group_sizes=(4,),
    ),
    "sub-groups-of-8-to-32": Profile(has_fp64=False, max_work_group_size=512, sub_group_sizes=(8, 16, 32)),
    "sub-groups-of-32": Profile(local_mem_size=49152),
    "sub-groups-of-64": Profile(sub_group_sizes=(64,)),
    "wide-cpu": Profile(max_work_group_size=8192, local_mem_size=262144, sub_group_sizes=(4, 8, 16, 32, 64)),
}
"""Profiles by name, as ``simulation(profile="no-fp64")`` takes them: each lacks something that devices lack."""
