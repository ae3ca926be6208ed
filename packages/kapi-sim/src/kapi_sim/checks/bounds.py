"""Indices against their axes.  A negative index is outside: kernels know no wrap-around."""

from __future__ import annotations

from typing import NoReturn

from kapi_sim.errors import OutOfBoundsError
from kapi_sim.items.clock import Clock
from kapi_sim.language.source import Site

__all__ = ["fail_outside", "fail_rank", "spell"]


def fail_outside(
    name: str, index: object, axis: int, position: int, shape: tuple[int, ...], clock: Clock, site: Site
) -> NoReturn:
    """Raise for an index that lies outside one axis of the array called `name`."""
    extent = shape[axis]
    valid = f"from 0 to {extent - 1}" if extent else "absent, for the axis has no elements"
    if position < 0:
        cure = f"kernels know no wrap-around: for the end of the axis write {name}.shape[{axis}] - {-position}"
    else:
        cure = f"guard the access with `if index < {name}.shape[{axis}]`, or launch as many work-items as it has"
    raise OutOfBoundsError(
        f"index of `{name}` along axis {axis} must be {valid}, got {position} in {spell(name, index)}, "
        f"shape {shape}\n  {clock.describe()} at {site}\n  {cure}",
        code="negative-index" if position < 0 else "index-out-of-bounds",
    )


def fail_rank(name: str, index: tuple[object, ...], shape: tuple[int, ...], clock: Clock, site: Site) -> NoReturn:
    """Raise for more indices than the array called `name` has axes."""
    raise OutOfBoundsError(
        f"index of `{name}` must have at most {len(shape)} components, got {len(index)} in "
        f"{spell(name, index)}, "
        f"shape {shape}\n  {clock.describe()} at {site}\n  leave out the components that are too many",
        code="too-many-indices",
    )


def spell(name: str, index: object) -> str:
    """Return ``name[3]``, ``name[3, 4]`` or ``name[1:3]`` as a kernel writes it."""
    components = index if isinstance(index, tuple) else (index,)
    return f"{name}[{', '.join(map(_spell_component, components)) or '()'}]"


def _spell_component(component: object) -> str:
    if component is Ellipsis:
        return "..."
    if not isinstance(component, slice):
        return str(component)
    start, stop = ("" if end is None else str(end) for end in (component.start, component.stop))
    return f"{start}:{stop}" if component.step is None else f"{start}:{stop}:{component.step}"
