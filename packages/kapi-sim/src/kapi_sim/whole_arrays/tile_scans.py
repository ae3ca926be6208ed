"""A scan that reads the array once: work-groups wait for the totals of the tiles before theirs.

Each group draws the number of its tile from a counter, so that it waits for groups that have started already. The
totals form a tree: the last tile of each block of 128 totals also announces the total of the block. A tile combines
the totals of the blocks and tiles before it, in their order, which no timing changes: the result is deterministic.

References
----------
Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVR-2016-002, whose tiles take the
prefix of the nearest tile that has one.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kapi_sim.language import NdItem, NdRange, PrivateArray
from kapi_sim.language.intrinsics.atomics import AtomicRef, atomic_fence
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.group_algorithms import group_broadcast
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.whole_arrays.group_steps import scan_tile
from kapi_sim.whole_arrays.world import Shape, World, as_element, converter, is_group_operator, scratch

__all__ = ["element", "scan_tiles_into"]

_BITS = 7  # of the number of totals in a block


def clear(item: NdItem, words, fill: int) -> None:
    """Write zero into the first element, which is a counter, and `fill` into the others."""
    for i in range(item.get_global_id(0), words.shape[0], item.get_global_range(0)):
        words[i] = fill if i > 0 else 0


@device_func
def draw(item, counters, index):
    """The number of the group's tile: groups draw them in the order in which they start."""
    number = counters.dtype.type(0)
    if item.get_local_id(0) == 0:
        number = AtomicRef(counters, index, MemoryOrder.RELAXED, MemoryScope.DEVICE, AddressSpace.GLOBAL).fetch_add(1)
    return int(group_broadcast(item.get_group(), number))


@dataclass(frozen=True, slots=True)
class _Totals:
    """Totals in global memory, which other groups wait for.

    A fence of the device takes longer than all else that a group does, so that numbers need none: an atomic operation
    writes a total and that it is there at once.

    - `words`: of the memory.
    - `is_view`: whether the memory is also used as numbers of `numbers`, of the same size.
    - `numbers`: of the totals, where they are in memory of their own, or such a view.
    - `each`: words of a total.
    - `fill`: the word of a total that is not there yet.
    - `announce`, `wait_for`: write a total, and wait for one: device functions of words, numbers, index, and total or
      converter.
    """

    words: np.dtype[Any]
    numbers: np.dtype[Any] | None
    is_view: bool
    each: int
    fill: int
    announce: Callable[..., Any]
    wait_for: Callable[..., Any]


@device_func
def element(a, index):
    """The element of an array."""
    return a[index]


@device_func
def write(words, index, word):
    """Write a word for other groups."""
    AtomicRef(words, index, MemoryOrder.RELAXED, MemoryScope.DEVICE, AddressSpace.GLOBAL).store(word)


@device_func
def read(words, index):
    """Read a word that another group may write."""
    return AtomicRef(words, index, MemoryOrder.RELAXED, MemoryScope.DEVICE, AddressSpace.GLOBAL).load()


@device_func
def announce_narrow(words, numbers, slot, total):
    """An integer of at most 32 bits, above a set bit."""
    write(words, slot, (np.int64(total) << 1) | 1)


@device_func
def wait_for_narrow(words, numbers, slot, convert):
    """The same, read."""
    word = read(words, slot)
    while word == 0:
        word = read(words, slot)
    return convert(word >> 1)


@device_func
def announce_wide(words, numbers, slot, total):
    """An integer of 64 bits: each half above a set bit."""
    write(words, 2 * slot, ((np.int64(total) & 0xFFFFFFFF) << 1) | 1)
    write(words, 2 * slot + 1, ((np.int64(total) >> 32) << 1) | 1)


@device_func
def wait_for_wide(words, numbers, slot, convert):
    """The same, read."""
    low = wait_for_narrow(words, numbers, 2 * slot, np.int64)
    return convert((wait_for_narrow(words, numbers, 2 * slot + 1, np.int64) << 32) | low)


@device_func
def announce_float(words, numbers, slot, total):
    """A float: all bits are set in no total, since all that are not-a-number become the one of NumPy."""
    number = numbers.dtype.type(total)
    write(numbers, slot, number if number == number else numbers.dtype.type(np.nan))


@device_func
def wait_for_float(words, numbers, slot, convert):
    """The same, read: the word first, as an integer, and then the float that is there."""
    while read(words, slot) == -1:
        pass
    return convert(read(numbers, slot))


@device_func
def announce_any(words, numbers, slot, total):
    """A value of any type, and then a word by which others know that it is there."""
    numbers[slot] = total
    atomic_fence(MemoryOrder.RELEASE, MemoryScope.DEVICE)
    write(words, slot, 1)


@device_func
def wait_for_any(words, numbers, slot, convert):
    """The same, read."""
    while read(words, slot) == 0:
        pass
    atomic_fence(MemoryOrder.ACQUIRE, MemoryScope.DEVICE)
    return convert(numbers[slot])


@cache
def _totals_of(dtype: np.dtype[Any]) -> _Totals:
    """Return how totals of a dtype are written for others."""
    int32, int64 = np.dtype(np.int32), np.dtype(np.int64)
    if dtype.kind in "biu":
        if dtype.itemsize < 8:
            return _Totals(int64, None, False, 1, 0, announce_narrow, wait_for_narrow)
        return _Totals(int64, None, False, 2, 0, announce_wide, wait_for_wide)
    if dtype.kind == "f":
        words, numbers = (int64, dtype) if dtype.itemsize == 8 else (int32, np.dtype(np.float32))
        return _Totals(words, numbers, True, 1, -1, announce_float, wait_for_float)
    return _Totals(int32, dtype, False, 1, 0, announce_any, wait_for_any)


@device_func
def announce_blocks(item, words, numbers, seen, number, bits, own, op, group_op, convert, restore, announce, wait_for):
    """Announce the total of a tile, and of the blocks whose last it is; `words[0]` is the counter of tiles."""
    position, group = item.get_local_id(0), item.get_group()
    last = (1 << bits) - 1
    total = own
    index, start, length = number, 1, group.get_group_range(0)
    if position == 0:
        announce(words, numbers, start + index, total)
    while index & last == last:
        before = own
        if position < last:
            before = wait_for(words, numbers, start + index - last + position, restore)
        group_barrier(group)
        scan_tile(item, seen, before, op, group_op)
        total = op(convert(seen[last - 1]), total)
        start += length
        length = (length + last) >> bits
        index >>= bits
        if position == 0:
            announce(words, numbers, start + index, total)


@device_func
def number_before(number, bits):
    """Return the number of totals that make up all tiles before one: the sum of its digits."""
    count = 0
    while number > 0:
        count += number & ((1 << bits) - 1)
        number >>= bits
    return count


@device_func
def slot_before(number, tiles, bits, back):
    """The slot of one of these totals, counted from the nearest."""
    last = (1 << bits) - 1
    index, start, length = number, 1, tiles
    while back >= index & last:
        back -= index & last
        start += length
        length = (length + last) >> bits
        index >>= bits
    return start + index - 1 - back


@cache
def _scan_tiles(run: int, bits: int) -> Callable[..., None]:
    """Return the kernel whose work-items take `run` neighbours of a tile each; blocks have `2**bits` totals."""

    def scan_tiles(
        item: NdItem, a, words, numbers, out, tile, seen, is_exclusive: bool, init,
        op, group_op, load, convert, restore, announce, wait_for,
    ) -> None:  # fmt: skip
        """Scan an array; each group takes a tile."""
        position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
        number = 0
        if words is not None:
            number = draw(item, words, 0)
        base = number * (size * run)
        last = min(out.shape[0] - base, size * run) - 1
        # What comes after the last element changes nothing before it.
        held = PrivateArray(run, tile.dtype)
        if last == size * run - 1:
            for j in range(run):
                held[j] = convert(load(a, base + j * size + position))
        else:
            for j in range(run):
                held[j] = convert(load(a, base + min(j * size + position, last)))
        for j in range(run):
            tile[j * size + position] = convert(held[j])
        group_barrier(group)
        value = convert(tile[position * run])
        for j in range(1, run):
            value = op(value, convert(tile[position * run + j]))
        scan_tile(item, seen, value, op, group_op)
        before = convert(seen[max(position - 1, 0)])
        has_before = position > 0
        carry = before
        has_carry = False
        if init is not None:
            carry = init
            has_carry = True
        if words is not None:
            own = convert(seen[size - 1])
            announce_blocks(
                item, words, numbers, seen, number, bits, own, op, group_op, convert, restore, announce, wait_for
            )
            count, done = number_before(number, bits), 0
            while done < count:
                part = min(size, count - done)
                value = own
                if position < part:
                    slot = slot_before(number, group.get_group_range(0), bits, count - 1 - done - position)
                    value = wait_for(words, numbers, slot, restore)
                group_barrier(group)
                scan_tile(item, seen, value, op, group_op)
                found = convert(seen[part - 1])
                carry = op(carry, found) if has_carry else found
                has_carry = True
                done += part
        if has_carry:
            before = op(carry, before) if has_before else carry
            has_before = True
        for j in range(run):
            x = convert(tile[position * run + j])
            after = op(before, x) if has_before or j > 0 else x
            tile[position * run + j] = before if is_exclusive else after
            before = after
        group_barrier(group)
        for j in range(run):
            if j * size + position <= last:
                out[base + j * size + position] = tile[j * size + position]

    return scan_tiles


def scan_tiles_into(
    world: World,
    shape: Shape,
    a: Any,
    out: Any,
    kept: np.dtype[Any],
    op: Any,
    init: Any,
    is_exclusive: bool,
    convert: Any,
    load: Any = element,
) -> tuple[Launchable, NdRange]:
    """Scan what has elements, where groups may wait for groups that have started; it may be the array `out` itself.

    `load` is the device function that gives the element of `a` at an index.

    Returns what ran last.
    """
    tiles = -(-out.shape[0] // shape.tile)
    bits = min(_BITS, shape.local.bit_length() - 1)
    args: list[Any] = [a, out, scratch(kept, shape.tile), scratch(kept, shape.local), is_exclusive]
    constants: dict[str, Any] = {
        "op": op,
        "group_op": op if is_group_operator(op, kept) else None,
        "load": load,
        "convert": convert,
    }
    totals = _totals_of(kept)
    constants |= {"announce": totals.announce, "wait_for": totals.wait_for, "restore": converter(kept, kept)}
    if tiles == 1:
        constants |= {"words": None, "numbers": None}
    else:
        slots = 1 + tiles
        above = tiles
        while above >> bits:
            above = -(-above >> bits)
            slots += above
        numbers = None if totals.numbers is None else world.empty(out, (slots,), totals.numbers)
        if totals.is_view:
            words = world.bits_of(numbers, totals.words)
        else:
            words = world.empty(out, (slots * totals.each,), totals.words)
        groups = min(shape.groups, -(-words.shape[0] // shape.local))
        world.run(clear, NdRange(groups * shape.local, shape.local), (words, totals.fill))
        args.insert(1, words)
        if numbers is None:
            constants["numbers"] = None
        else:
            args.insert(2, numbers)
    if init is None:
        constants["init"] = None
    else:
        args.append(as_element(init, kept))
    space = NdRange(tiles * shape.local, shape.local)
    return world.run(_scan_tiles(shape.run, bits), space, tuple(args), **constants), space
