"""Times of the candidates of `tune`, and the choices that the disk cache keeps."""

from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from kapi_runtime import cache, memory
from kapi_runtime.build.fingerprint import NoFingerprintError, fingerprint
from kapi_runtime.launch.preparation import Prepared
from kapi_runtime.platform import recorder
from kapi_runtime.platform.installed import platform_of_array
from kapi_sim import KernelLaunchError, LimitError, LocalAccessor
from kapi_sim.language.array_memory import ArrayFields
from kapi_sim.language.launchables.tuning import Candidate, Tuning, require_candidate

__all__ = ["tuned"]

_ROUNDS = 7
"""Times of each candidate, of which the median counts; the candidates take turns."""

_kept: dict[str, tuple[list[float | None], list[str]]] = {}
"""Times and refusals by key, of this process."""


def tuned(
    kernel: Any, candidates: tuple[Candidate, ...], args: tuple[Any, ...], named: dict[str, Any], renew: bool
) -> Tuning:
    """Return the choice that is known, or take the times; see `Launchable.tune`."""
    recorder.require_no_graph("tune")
    copied = _Copies()
    given = [tuple(map(copied.of, kernel.placed(args, {**named, **each.constants}))) for each in candidates]
    prepared: list[Prepared | None] = []
    refusals: list[str] = []
    for each, its in zip(candidates, given, strict=True):
        try:
            prepared.append(kernel.prepared(each.index_space, its))
            refusals.append("")
        except (KernelLaunchError, LimitError) as error:
            prepared.append(None)
            refusals.append(error.message.split("\n", 1)[0])
    require_candidate(kernel.__name__, refusals)
    first = next(each for each in prepared if each is not None)
    device = first.platform.device_of(first.queue)
    key = _key(kernel, first, device, candidates)
    known = None if renew else _kept.get(key) or _from_disk(key, len(candidates))
    if known is None:
        times = _times(prepared, copied)
        _kept[key] = times, refusals
        if _is_lasting(key):
            cache.store_text(f"{key}.tuning", json.dumps({"times": times, "refusals": refusals}))
    else:
        _kept[key] = known
        times, refusals = known
    chosen = min((time, index) for index, time in enumerate(times) if time is not None)[1]
    where = first.platform.describe_device(device)
    return Tuning(kernel.__name__, where, candidates, tuple(times), tuple(refusals), chosen, known is None)


class _Copies:
    """Copies of arrays, which are filled anew before each launch."""

    def __init__(self) -> None:
        self._pairs: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the copy of an array, one for the same object each time; other arguments as they are."""
        found = self._pairs.get(id(value))
        if found is not None:
            return found[1]
        if isinstance(value, np.ndarray):
            made = value.copy(order="K")
        elif not isinstance(value, (int, float, complex, np.generic, tuple, LocalAccessor)) and (
            platform_of_array(value, "an argument of tune") is not None
        ):
            made = memory.asarray(value, copy=True)
        else:
            return value
        self._pairs[id(value)] = value, made
        return made

    def fill(self) -> None:
        """Give all copies the elements of what they are copies of."""
        for source, made in self._pairs.values():
            made[...] = source


def _times(prepared: Sequence[Prepared | None], copied: _Copies) -> list[float | None]:
    """The median time of each launch, in nanoseconds; the first of each, which may load code, does not count."""
    taken: list[list[float]] = [[] for _ in prepared]
    for round_ in range(_ROUNDS + 1):
        for each, its in zip(prepared, taken, strict=True):
            if each is not None:
                copied.fill()
                time = each.time()
                if round_:
                    its.append(time)
    return [statistics.median(its) if its else None for its in taken]


def _key(kernel: Any, prepared: Prepared, device: Any, candidates: tuple[Candidate, ...]) -> str:
    """A digest of all that a choice depends on; with a word before it where no other process can know it."""
    platform = prepared.platform
    forms = [
        [list(value.shape), list(value.strides), value.dtype.str]
        if isinstance(value, ArrayFields)
        else str(type(value))
        for value in prepared.arguments.read
    ]
    constants = [[[name, repr(value)] for name, value in each.constants.items()] for each in candidates]
    texts: list[Any] = [platform.name, platform.describe_device(device), str(device.driver_version), forms, constants]
    texts += [[repr(each.space), each.local_size] for each in candidates]
    plain = json.dumps(texts)
    try:
        if any(
            isinstance(value, FunctionType) or callable(value)
            for each in candidates
            for value in each.constants.values()
        ):
            raise NoFingerprintError("functions among the constants")
        return fingerprint(kernel.py_func, repr(kernel.options), plain)
    except NoFingerprintError:
        return f"{_LOCAL}{id(kernel)} {hashlib.sha256(plain.encode()).hexdigest()}"


_LOCAL = "of this process: "


def _is_lasting(key: str) -> bool:
    return not key.startswith(_LOCAL)


def _from_disk(key: str, count: int) -> tuple[list[float | None], list[str]] | None:
    """The entry of the disk cache under a key; None if there is none, or a damaged one."""
    text = cache.load_text(f"{key}.tuning") if _is_lasting(key) else None
    if text is None:
        return None
    try:
        entry = json.loads(text)
        times = [None if time is None else float(time) for time in entry["times"]]
        refusals = [str(refusal) for refusal in entry["refusals"]]
    except (ValueError, TypeError, KeyError):
        return None
    is_complete = len(times) == len(refusals) == count and any(time is not None for time in times)
    return (times, refusals) if is_complete else None
