"""A radix sort whose passes read and write the elements once: work-groups wait for the counts of the tiles before.

One launch counts all digits of all elements. Then there is a launch for each digit: a group ranks the elements of its
tile by the digit, learns from the tiles before it how many elements of each digit they have, and moves its own.

The keys of a radix sort are bits of numbers, as unsigned integers that have the order of the numbers: not-a-number of
any sign comes last, and -0.0 is 0.0, as NumPy's sort has it.

References
----------
Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from kapi_sim.language import NdItem, NdRange, PrivateArray
from kapi_sim.language.intrinsics.atomics import AtomicRef
from kapi_sim.language.intrinsics.bits import popcount
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.group_algorithms import (
    exclusive_scan_over_group,
    group_broadcast,
    reduce_over_group,
)
from kapi_sim.language.intrinsics.memory import AddressSpace, MemoryOrder, MemoryScope
from kapi_sim.language.intrinsics.operators import bit_or, plus
from kapi_sim.language.launchables.device_function import device_func
from kapi_sim.whole_arrays.group_steps import add_one
from kapi_sim.whole_arrays.tile_scans import clear, draw
from kapi_sim.whole_arrays.world import Pieces, Shape, World, known_dtype, scratch

__all__ = ["RADIX_KINDS", "digit_of", "key_of", "onesweep"]

_DIGITS, _DIGIT_BITS = 256, 8
_OWN, _UP_TO = 1, 2  # what a group has announced of a digit: the count of its tile, or that of all tiles up to it
_BATCH = 4  # tiles that a work-item asks at a time


RADIX_KINDS = frozenset("biuf")
"""Kinds of dtypes whose elements have such keys."""


@device_func
def unsigned_key(bits):
    """An unsigned integer, or a bool."""
    return bits


def _signed(width: int) -> Any:
    type_ = np.dtype(f"uint{width}").type
    sign = type_(1 << (width - 1))

    @device_func
    def signed_key(bits):
        """A signed integer, moved up by half of the range."""
        return bits ^ sign

    return signed_key


def _floating(width: int, infinity: int) -> Any:
    type_ = np.dtype(f"uint{width}").type
    sign, most, all_, infinite = (
        type_(1 << (width - 1)), type_((1 << (width - 1)) - 1), type_((1 << width) - 1), type_(infinity),
    )  # fmt: skip

    @device_func
    def floating_key(bits):
        """A float: those below zero are turned round, which orders them among themselves."""
        magnitude = bits & most
        if magnitude > infinite:
            return all_
        if magnitude == type_(0) or bits < sign:
            return magnitude | sign
        return bits ^ all_

    return floating_key


@device_func
def digit_of(bits, shift, mask, inversion, key):
    """The digit of an element; `inversion` reverses the order."""
    return np.int32((key(bits) >> shift) & mask) ^ inversion


_KEYS: dict[tuple[str, int], Callable[[Any], Any]] = {
    **{(kind, size): unsigned_key for kind in "bu" for size in (1, 2, 4, 8)},
    **{("i", size): _signed(8 * size) for size in (1, 2, 4, 8)},
    ("f", 2): _floating(16, 0x7C00),
    ("f", 4): _floating(32, 0x7F800000),
    ("f", 8): _floating(64, 0x7FF0000000000000),
}


def key_of(dtype: np.dtype[Any]) -> Callable[[Any], Any]:
    """Return the function of kernels from the bits of an element to its key."""
    return _KEYS[dtype.kind, dtype.itemsize]


@cache
def _count_all(passes: int) -> Callable[..., None]:
    """Return the kernel that counts so many digits of each element."""

    def count_all(item: NdItem, a, counts, statuses, found, length: int, mask, inversion: int, key) -> None:
        """Count all digits of a piece in local memory, then add them up; each group takes a piece."""
        position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
        for each in range(item.get_global_id(0), statuses.shape[0], item.get_global_range(0)):
            statuses[each] = 0
        for each in range(position, passes * 256, size):
            found[each] = 0
        group_barrier(group)
        piece = group.get_group_linear_id()
        row, end = piece * length, min((piece + 1) * length, a.shape[0])
        while row + 4 * size <= end:
            w, x, y, z = (
                a[row + position],
                a[row + size + position],
                a[row + 2 * size + position],
                a[row + 3 * size + position],
            )
            for number in range(passes):
                add_one(found, number * 256 + digit_of(w, number * 8, mask, inversion, key))
                add_one(found, number * 256 + digit_of(x, number * 8, mask, inversion, key))
                add_one(found, number * 256 + digit_of(y, number * 8, mask, inversion, key))
                add_one(found, number * 256 + digit_of(z, number * 8, mask, inversion, key))
            row += 4 * size
        for i in range(row + position, end, size):
            for number in range(passes):
                add_one(found, number * 256 + digit_of(a[i], number * 8, mask, inversion, key))
        group_barrier(group)
        for each in range(position, passes * 256, size):
            if found[each] > 0:
                AtomicRef(
                    counts, passes + each, MemoryOrder.RELAXED, MemoryScope.DEVICE, AddressSpace.GLOBAL
                ).fetch_add(found[each])

    return count_all


@device_func
def peers_of(sub_group, digit):
    """The work-items of the sub-group that have the same digit, a bit for each."""
    peers = ~np.uint32(0) >> np.uint32(32 - sub_group.get_local_range())
    own = np.uint32(1) << np.uint32(sub_group.get_local_id())
    for bit in range(8):
        is_zero = digit & (1 << bit) == 0
        zeros = reduce_over_group(sub_group, own if is_zero else np.uint32(0), bit_or)
        peers &= zeros if is_zero else ~zeros
    return peers


@device_func
def announce_count(statuses, slot, number, kind):
    """Announce a count of a digit."""
    word = (number << 2) | kind
    AtomicRef(statuses, slot, MemoryOrder.RELAXED, MemoryScope.DEVICE, AddressSpace.GLOBAL).store(word)


@device_func
def announced_count(statuses, slot):
    """Return the word that is announced of a digit, or 0."""
    return AtomicRef(statuses, slot, MemoryOrder.RELAXED, MemoryScope.DEVICE, AddressSpace.GLOBAL).load()


@device_func
def count_before(statuses, start, each, tile):
    """Return the number of elements of a digit in the tiles up to `tile`."""
    words = PrivateArray(_BATCH, statuses.dtype)
    found = statuses.dtype.type(0)
    while tile >= 0:
        for back in range(_BATCH):
            words[back] = announced_count(statuses, start + max(tile - back, 0) * 256 + each)
        is_known = True
        for back in range(_BATCH):
            kind = words[back] & 3
            is_known = is_known and kind != 0 and tile >= 0
            if is_known:
                found += words[back] >> 2
                tile = tile - 1 if kind == _OWN else -1
    return found


@cache
def _move_tiles(run: int) -> Callable[..., None]:
    """Return the kernel whose work-items take `run` elements of a tile each."""

    def move_tiles(
        item: NdItem, a, values, counts, statuses, out, values_out, tile, tile_values, counters, totals, targets,
        number: int, counted: int, start: int, following: int, shift, mask, inversion: int, key,
    ) -> None:  # fmt: skip
        """Sort the tiles of an array by a digit, and move their elements to their places; each group takes a tile."""
        position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
        sub_group = item.get_sub_group()
        rows, row, width = sub_group.get_group_range(), sub_group.get_group_id() * 256, sub_group.get_local_range()
        below = (np.uint32(1) << np.uint32(sub_group.get_local_id())) - np.uint32(1)
        own_tile = draw(item, counts, number)
        base = own_tile * (size * run)
        filled = min(a.shape[0] - base, size * run)
        first = sub_group.get_group_id() * sub_group.get_max_local_range() * run + sub_group.get_local_id()
        inside = np.int32(run)  # elements of the work-item that the array has
        held, ranks = PrivateArray(run, a.dtype), PrivateArray(run, np.int32)
        if filled == size * run:
            for j in range(run):
                held[j] = a[base + first + j * width]
        else:
            inside = np.int32((filled - first + width - 1) // width)
            for j in range(run):
                held[j] = a[base + min(first + j * width, filled - 1)]
        for each in range(position, rows * 256, size):
            # The digit stands above its count: a rank with its digit is then one number, and in one register.
            counters[each] = np.int32(each & 255) << 16
        if following >= 0:
            for each in range(position, 256, size):
                statuses[following + own_tile * 256 + each] = 0
        group_barrier(group)
        # Work-items that have a digit in common count it together.
        spare = rows * 256 + position
        for j in range(run):
            digit = digit_of(held[j], shift, mask, inversion, key)
            if j >= inside:
                digit = np.int32(_DIGITS - 1)  # after all elements of the tile, and moved nowhere
            peers = peers_of(sub_group, digit)
            before = counters[row + digit]
            among = np.int32(popcount(peers & below))
            group_barrier(sub_group, MemoryScope.SUB_GROUP)
            # The others write as well: around a branch, the compiler would keep the parts of a rank until all are used.
            counters[row + digit if among == 0 else spare] = before + np.int32(popcount(peers))
            group_barrier(sub_group, MemoryScope.SUB_GROUP)
            ranks[j] = before + among
        group_barrier(group)
        in_tile, in_array = np.int32(0), counts.dtype.type(0)
        for block in range(0, 256, size):
            each = block + position
            total = np.int32(0)
            if each < 256:
                for other in range(rows):
                    total += counters[other * 256 + each] & 0xFFFF
                totals[each] = total
                if own_tile > 0:
                    announce_count(statuses, start + own_tile * 256 + each, statuses.dtype.type(total), _OWN)
            in_tile += exclusive_scan_over_group(group, total, plus)
            if each < 256:
                targets[each] = -in_tile
                following_rank = in_tile
                for other in range(rows):
                    here = counters[other * 256 + each] & 0xFFFF
                    counters[other * 256 + each] = following_rank
                    following_rank += here
            if block + size < 256:
                in_tile = group_broadcast(group, in_tile + total, size - 1)
        if own_tile == 0:
            # What the first tile announces begins where the elements of the digit begin.
            for block in range(0, 256, size):
                each = block + position
                overall = counts[counted + min(each, 255)]
                in_array += exclusive_scan_over_group(group, overall, plus)
                if each < 256:
                    announce_count(statuses, start + each, in_array + totals[each], _UP_TO)
                    targets[each] += in_array
                if block + size < 256:
                    in_array = group_broadcast(group, in_array + overall, size - 1)
        group_barrier(group)
        for j in range(run):
            ranks[j] = (ranks[j] & 0xFFFF) + counters[row + (ranks[j] >> 16)]
            tile[ranks[j]] = held[j]
        if values is not None:
            carried = PrivateArray(run, values.dtype)
            for j in range(run):
                carried[j] = values[base + min(first + j * width, filled - 1)]
            for j in range(run):
                if tile_values is not None:
                    tile_values[ranks[j]] = carried[j]
        if own_tile > 0:
            # As late as possible: the tiles before may have announced more.
            for each in range(position, 256, size):
                before_tile = count_before(statuses, start, each, own_tile - 1)
                announce_count(statuses, start + own_tile * 256 + each, before_tile + totals[each], _UP_TO)
                targets[each] += before_tile
        group_barrier(group)
        for j in range(run):
            i = np.int32(j * size + position)
            if i < filled:
                bits = tile[i]
                to = targets[digit_of(bits, shift, mask, inversion, key)] + i
                out[to] = bits
                if values_out is not None:
                    values_out[to] = tile_values[i]

    return move_tiles


def onesweep(
    world: World,
    shape: Shape,
    bits: Any,
    other: Any,
    values: Any,
    values_other: Any,
    dtype: np.dtype[Any],
    is_descending: bool,
) -> None:
    """Sort an array of numbers by their bits; after an odd number of digits, the result is in the other arrays.

    - `world`: where kernels run; groups may wait there for groups that have started.
    - `shape`: of the launches.
    - `bits`, `other`: the elements as unsigned integers, and as much memory.
    - `values`, `values_other`: what goes with them, and as much memory.
    - `dtype`: of the numbers.
    - `is_descending`: the largest first.
    """
    elements = bits.shape[0]
    unsigned = np.dtype(f"uint{8 * dtype.itemsize}")
    passes = 1 if dtype.kind == "b" else dtype.itemsize
    tiles = -(-elements // shape.tile)
    index = np.dtype(np.int32 if elements < 1 << 29 else np.int64)
    counts = world.empty(bits, (passes * (1 + _DIGITS),), index)
    statuses = world.empty(bits, (2 * tiles * _DIGITS,), index)
    world.run(clear, Pieces.of(counts.shape[0], shape).space, (counts, 0))
    digits = unsigned.type(_DIGITS - 1), np.int32(_DIGITS - 1 if is_descending else 0)
    pieces = Pieces.of(elements, shape)
    key = key_of(dtype)
    found = scratch(np.dtype(np.int32), passes * _DIGITS)
    args: tuple[Any, ...] = (bits, counts, statuses, found, pieces.length, *digits)
    world.run(_count_all(passes), pieces.space, args, key=key)
    local = [scratch(unsigned, shape.tile)]
    constants: dict[str, Any] = {"key": key}
    if values is None:
        constants |= dict.fromkeys(("values", "values_out", "tile_values"))
    else:
        local.append(scratch(known_dtype(world, values), shape.tile))
    local += [scratch(np.dtype(np.int32), -(-shape.local // shape.sub_group) * _DIGITS + shape.local)]
    local += [scratch(np.dtype(np.int32), _DIGITS), scratch(index, _DIGITS)]
    space = NdRange(tiles * shape.local, shape.local)
    for number in range(passes):
        moving = (
            (bits, counts, statuses, other) if values is None else (bits, values, counts, statuses, other, values_other)
        )
        start = number % 2 * tiles * _DIGITS
        following = tiles * _DIGITS - start if number + 1 < passes else -1
        given = number, passes + number * _DIGITS, start, following, unsigned.type(number * _DIGIT_BITS), *digits
        world.run(_move_tiles(shape.run), space, (*moving, *local, *given), **constants)
        bits, other, values, values_other = other, bits, values_other, values
