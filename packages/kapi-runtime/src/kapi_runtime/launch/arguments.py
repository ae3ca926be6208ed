"""The arguments of one launch: read once, and distinguished by type."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from kapi_runtime.launch.device_context import HostArrays
from kapi_runtime.platform.current import HostArrayTarget
from kapi_runtime.platform.installed import nothing_installed, platform_of_array, platform_of_host_array, platforms
from kapi_runtime.platform.interface import Platform
from kapi_runtime.platform.placement_errors import placement_error
from kapi_sim import DtypeError, LocalAccessor
from kapi_sim.language.array_memory import ArrayFields, c_strides, is_masked
from kapi_sim.language.integers import require_64_bits
from kapi_sim.language.intrinsics.records import members_of
from kapi_sim.language.launchables.declared_signatures import Signature
from kapi_sim.language.launchables.signature_parser import ParameterType

__all__ = ["Arguments", "launch_queue", "placeholders", "read_arguments", "typed_arguments"]


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a launch.

    - `parameters`: the kernel's parameters after the work-item.
    - `names`: the same, with ``name[0]``, ``name[1]``, ... for what a tuple holds.
    - `given`: the arguments themselves.
    - `read`: one value for each name, with the fields of each array in its place.
    - `arrays`: name and fields of each array that is on a device already, in order.
    - `platform`: whose these arrays are; None if there are none.
    - `key`: what a compiled kernel depends on: equal for arguments of equal types.
    - `copied`: the NumPy arrays that were copied to the device, to be copied back.
    - `host_target`: where a launch goes whose arrays are on no device; None if nothing says so.
    """

    parameters: tuple[str, ...]
    names: tuple[str, ...]
    given: tuple[Any, ...]
    read: tuple[Any, ...]
    arrays: tuple[tuple[str, ArrayFields], ...]
    platform: Platform | None
    key: tuple[Hashable, ...]
    copied: HostArrays | None = None
    host_target: HostArrayTarget | None = None

    @property
    def accessors(self) -> tuple[LocalAccessor, ...]:
        """The local memory asked for."""
        return tuple(value for value in self.read if isinstance(value, LocalAccessor))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = [value for value in self.read if isinstance(value, ArrayFields)]
        return sum(math.prod(array.shape) * array.dtype.itemsize for array in arrays)

    @property
    def nested(self) -> tuple[Any, ...]:
        """The arguments with the fields of each array in its place, tuples as they were given."""
        leaves = iter(self.read)
        return tuple(_nested(value, leaves) for value in self.given)

    def describe(self) -> str:
        """Names and types, for messages."""
        pairs = zip(self.names, self.read, strict=True)
        return ", ".join(f"{name}: {_type_name(value)}" for name, value in pairs) or "none"


def read_arguments(
    kernel: str, names: Sequence[str], given: Sequence[Any], host_target: HostArrayTarget | None = None
) -> Arguments:
    """Read the arguments of a launch.

    - `kernel`: name of the kernel, for messages.
    - `names`: its parameters after the work-item.
    - `given`: as many arguments.
    - `host_target`: where NumPy arrays are moved to; by default they stay where they are, and the CPU runs the launch.

    Raises `ExecutionPlacementError` if one is a NumPy array, like arrays of devices that are elsewhere; or two of them
    are of two platforms, or of one that is not installed.
    """
    read: list[Any] = []
    key: list[Any] = []
    leaves = list(_leaves(names, given, key))
    platform, arrays = _arrays_of_devices(kernel, leaves)
    moved = None
    hosts = [position for position, (_, value) in enumerate(leaves) if position not in arrays and _is_on_host(value)]
    if hosts:
        name, value = leaves[hosts[0]]
        host = platform_of_host_array(value) if host_target is None and not arrays else None
        if host is not None:
            host_target = HostArrayTarget(host, host.queue_of(kernel, ()), warn=False)
        if host_target is None:
            like = next((leaves[each][0] for each in arrays), "")
            raise placement_error(_no_device(kernel, name, value, platform, like), code="array-on-host")
        _require_host_target(kernel, name, value, leaves, platform, arrays, host_target)
        moved = HostArrays(kernel, host_target)
    for position, (name, value) in enumerate(leaves):
        fields = arrays.get(position)
        if fields is None and moved is not None and position in hosts:
            if not isinstance(value, np.ndarray) and platform_of_host_array(value) is not moved.host_target.platform:
                raise _no_argument(kernel, name, _described(name, value))
            fields = moved.fields(name, value)
        read.append(value if fields is None else fields)
        key.append(_key(read[-1]))
    return Arguments(
        parameters=tuple(names),
        names=tuple(name for name, _ in leaves),
        given=tuple(given),
        read=tuple(read),
        arrays=tuple((leaves[position][0], fields) for position, fields in arrays.items()),
        platform=platform,
        key=tuple(key),
        copied=moved if moved is not None and moved.copies else None,
        host_target=host_target,
    )


def typed_arguments(names: Sequence[str], given: Sequence[Any]) -> Arguments:
    """Return arguments for a compilation alone, with the fields of each array in its place."""
    key: list[Any] = []
    leaves = list(_leaves(names, given, key))
    key += [_key(value) for _, value in leaves]
    read = tuple(value for _, value in leaves)
    return Arguments(tuple(names), tuple(name for name, _ in leaves), tuple(given), read, (), None, tuple(key))


def placeholders(signature: Signature) -> tuple[Any, ...] | None:
    """Return arguments of a signature's types; None if the types do not say all that a compilation needs."""
    values = tuple(map(_placeholder, signature.parameters))
    return None if ... in values else values


def _placeholder(parameter: ParameterType) -> Any:
    """A value of a type; ``...`` where there is none."""
    if parameter.kind == "weak":
        return {"weak_bool": False, "weak_int": 0, "weak_float": 0.0, "weak_complex": 0j}[parameter.text]
    if parameter.kind == "tuple":
        members = tuple(map(_placeholder, parameter.members))
        return ... if ... in members else members
    if parameter.kind == "none" or parameter.dtype is None:
        return None
    if parameter.kind == "scalar":
        return parameter.dtype.type(0)
    if parameter.kind == "local":
        return ... if parameter.extents is None else LocalAccessor(parameter.extents, parameter.dtype)
    shape = (2,) * parameter.ndim
    strides = c_strides(shape)
    strides = strides[::-1] if parameter.layout == "F" else strides
    if parameter.layout == "A":
        strides = tuple(2 * stride for stride in strides)
    return ArrayFields(0, shape, strides, parameter.dtype, parameter.is_readonly, None)


def launch_queue(kernel: str, arguments: Arguments) -> tuple[Platform, Any]:
    """Return the platform and the queue of a launch: those of its arrays, or of the `device_context` without any.

    Raises `ExecutionPlacementError` if there is neither an array nor a `device_context`, or two arrays do not share one
    queue.
    """
    if arguments.platform is not None:
        return arguments.platform, arguments.platform.queue_of(kernel, arguments.arrays)
    if arguments.host_target is not None:
        return arguments.host_target.platform, arguments.host_target.queue
    raise placement_error(
        f"arguments of kernel `{kernel}` must hold an array, whose device runs the kernel, got none: pass one, or name "
        'the device: `with kapi.device_context("cpu"): ...`',
        code="no-array",
    )


def _arrays_of_devices(
    kernel: str, leaves: Sequence[tuple[str, Any]]
) -> tuple[Platform | None, dict[int, ArrayFields]]:
    """The one platform of all arrays of devices, and the fields of each by its position."""
    found: Platform | None = None
    arrays: dict[int, ArrayFields] = {}
    for position, (name, value) in enumerate(leaves):
        _require_plain(kernel, name, value)
        platform = platform_of_array(value, f"argument `{name}` of kernel `{kernel}`")
        if platform is None and not isinstance(value, _NO_ARRAYS) and not _is_on_host(value):
            raise _no_argument(kernel, name, _described(name, value))
        try:
            fields = None if platform is None else platform.fields(value)
        except DtypeError as error:
            raise DtypeError(f"argument `{name}` of kernel `{kernel}`: {error.message}", code=error.code) from error
        if platform is None or fields is None:
            continue
        if found is not None and platform is not found:
            first = leaves[next(iter(arrays))][0]
            raise placement_error(
                f"arguments `{first}` and `{name}` of kernel `{kernel}` must be of one platform, got one of "
                f"{found.name} and one of {platform.name}: copy one by way of the host, "
                f"`{name} = {found.copy_call(f'kapi_runtime.memory.asnumpy({name})', first)}`",
                code="different-platforms",
            )
        found = platform
        arrays[position] = fields
    return found, arrays


def _leaves(names: Sequence[str], given: Sequence[Any], key: list[Any]) -> Iterator[tuple[str, Any]]:
    """Name and value of each argument or, of a tuple, of each of its members; `key` tells which tuples there are."""
    for name, value in zip(names, given, strict=True):
        if isinstance(value, tuple):
            # Fields by name, since a class may get others and keep its own.
            key.append((name, type(value), len(value), *getattr(value, "_fields", ())))
            yield from _leaves([f"{name}[{position}]" for position in range(len(value))], value, key)
        elif isinstance(value, np.void):
            key.append((name, value.dtype))
            members = members_of(value)
            yield from _leaves([f"{name}[{position}]" for position in range(len(members))], members, key)
        else:
            yield name, value


def _nested(value: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(value, np.void):
        for _ in _leaves([""], [members_of(value)], []):
            next(leaves)
        return value
    if not isinstance(value, tuple):
        return next(leaves)
    members = [_nested(member, leaves) for member in value]
    return type(value)(*members) if hasattr(value, "_fields") else tuple(members)


_NO_ARRAYS = (bool, int, float, complex, np.generic, np.ndarray, LocalAccessor)


def _is_on_host(value: Any) -> bool:
    """Whether a value is an array in the host's memory: NumPy's, or another one that the CPU's platform knows."""
    if isinstance(value, np.ndarray):
        return True
    return not isinstance(value, _NO_ARRAYS) and platform_of_host_array(value) is not None


def _require_plain(kernel: str, name: str, value: Any) -> None:
    """Raise for arrays and integers that no device takes, whatever else there is."""
    if is_masked(value):
        raise DtypeError(
            f"argument `{name}` of kernel `{kernel}` must be an array without a mask, which kernels would not see, "
            f"got a MaskedArray: pass `{name}.data`, or `{name}.filled(value)`",
            code="argument-array-class",
        )
    if isinstance(value, np.matrix):
        raise _no_argument(kernel, name, f"a matrix: pass np.asarray({name})")
    if isinstance(value, int) and not 0 <= value < 2**64:  # those between are for a uint64 of a kernel from elsewhere
        require_64_bits(f"argument `{name}` of kernel `{kernel}`", value)


def _no_argument(kernel: str, name: str, got: str) -> DtypeError:
    return DtypeError(
        f"argument `{name}` of kernel `{kernel}` must be a plain array, a number, a bool, a LocalAccessor or a "
        f"tuple of these, got {got}",
        code="argument-type",
    )


def _described(name: str, value: Any) -> str:
    """Describe an argument that no kernel takes, and what to do."""
    if value is None or isinstance(value, str):
        return repr(value)
    hint = ": pass its value" if isinstance(value, Enum) else ""
    hint = f": pass an array, np.asarray({name})" if isinstance(value, list) else hint
    return f"an object of class {type(value).__name__}{hint}"


def _key(value: Any) -> Any:
    """The properties of an argument, or of a member of one, that a compiled kernel depends on."""
    if isinstance(value, ArrayFields):
        return value.dtype, len(value.shape), value.layout, value.readonly
    return (value.dtype, value.shape) if isinstance(value, LocalAccessor) else type(value)


def _require_host_target(
    kernel: str,
    host: str,
    array: Any,
    leaves: Sequence[tuple[str, Any]],
    platform: Platform | None,
    arrays: dict[int, ArrayFields],
    host_target: HostArrayTarget,
) -> None:
    """Raise unless the arrays of devices are where the NumPy arrays are moved to, of which `host` is the first."""
    for position, fields in arrays.items():
        assert platform is not None  # that of the arrays
        name = leaves[position][0]
        queue = platform.queue_of(kernel, [(name, fields)])
        if platform is not host_target.platform or queue != host_target.queue:
            raise placement_error(
                f"arguments `{name}` and `{host}` of kernel `{kernel}` must share one queue, got\n"
                f"  `{name}` on {platform.describe_queue(queue)}\n"
                f"  `{host}`, {_array_name(array)}, moved by device_context to "
                f"{host_target.platform.describe_queue(host_target.queue)}\n"
                f"Copy it to the other: `{host} = {platform.copy_call(host, name)}`",
                code="different-queues",
            )


def _no_device(kernel: str, name: str, value: Any, platform: Platform | None, like: str) -> str:
    other = f", while `{like}` is one on its device" if like else ""
    return (
        f"argument `{name}` of kernel `{kernel}` must be an array of a device, got {_array_name(value)}"
        f"{_form(value)}, which lives on no device{other}.\n"
        f"Copy it there: `{name} = {_copy_call(platform, name, like)}`; or let each launch copy: "
        "`with kapi.device_context(device): ...`"
    )


def _array_name(array: Any) -> str:
    """The class of an array in the host's memory, for messages."""
    return "a numpy.ndarray" if isinstance(array, np.ndarray) else f"a {type(array).__name__}"


def _form(array: Any) -> str:
    """Type and shape of an array, as far as it has such attributes, for messages."""
    has_form = hasattr(array, "dtype") and hasattr(array, "shape")
    return f" of {array.dtype} {tuple(array.shape)}" if has_form else ""


def _copy_call(platform: Platform | None, name: str, like: str = "") -> str:
    """The call that copies an array to a device, for messages; DeviceNotFoundError where no platform is installed."""
    platform = platform or next(iter(platforms()), None)
    if platform is None:
        raise nothing_installed()
    return platform.copy_call(name, like)


def _type_name(value: Any) -> str:
    if isinstance(value, ArrayFields):
        return f"{value.dtype} array {value.shape}"
    return repr(value) if isinstance(value, LocalAccessor) else type(value).__name__
