"""`inclusive_scan` and `exclusive_scan`: the elements up to each one combined."""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kapi_sim.errors import KernelLaunchError
from kapi_sim.language import NdItem, NdRange, PrivateArray
from kapi_sim.language.intrinsics.convergence import group_barrier
from kapi_sim.language.intrinsics.operators import identity, operator_row, plus
from kapi_sim.whole_arrays.group_steps import same, scan_tile
from kapi_sim.whole_arrays.reductions import reduce_pieces
from kapi_sim.whole_arrays.tile_scans import scan_tiles_into
from kapi_sim.whole_arrays.world import (
    Pieces,
    Shape,
    World,
    as_element,
    converter,
    is_group_operator,
    one_dimensional,
    operator_on,
    same_length,
    scratch,
)

__all__ = ["Scans", "scan_into"]

RUN = 4  # the most elements that a work-item holds


def scan_pieces(
    item: NdItem, a, seeds, out, totals, tile, length: int, run: int, is_exclusive: bool, init, op, group_op, convert
) -> None:
    """Scan each piece of an array, one after the other tile; each group takes a piece.

    A work-item combines a run of neighbours, the group scans what they have, and each goes on from there.
    """
    position, size, group = item.get_local_id(0), item.get_local_range(0), item.get_group()
    piece = group.get_group_linear_id()
    if seeds is not None:
        # The last pieces were read last, and may be in a cache yet.
        piece = group.get_group_range(0) - 1 - piece
    start = piece * length
    end = min(start + length, a.shape[0])
    # What comes before the piece.
    carry = convert(a[start])
    has_carry = False
    if init is not None:
        carry = init
        has_carry = True
    if seeds is not None:
        if piece > 0:
            carry = convert(seeds[piece - 1])
            has_carry = True
    held = PrivateArray(RUN, tile.dtype)
    base = start
    while base < end:
        first = base + position * run
        last = min(first + run, end)
        value = carry
        for j in range(RUN):
            if first + j < last:
                held[j] = convert(a[first + j])
        for j in range(RUN):
            if first + j < last:
                value = op(value, held[j]) if j > 0 else convert(held[0])
        scan_tile(item, tile, value, op, group_op)
        if out is not None and first < last:
            before = carry
            has_before = has_carry
            if position > 0:
                before = convert(tile[position - 1])
                if has_carry:
                    before = op(carry, before)
                has_before = True
            for j in range(RUN):
                if first + j < last:
                    after = op(before, held[j]) if has_before else convert(held[j])
                    if is_exclusive:
                        out[first + j] = before
                    else:
                        out[first + j] = after
                    before = after
                    has_before = True
        total = convert(tile[(min(base + size * run, end) - 1 - base) // run])
        carry = op(carry, total) if has_carry else total
        has_carry = True
        base += size * run
        group_barrier(group)
    if totals is not None and position == 0:
        totals[piece] = carry


def scan_alone(item: NdItem, a, seeds, out, totals, length: int, is_exclusive: bool, init, op, convert) -> None:
    """Scan each piece of an array, one element after the other; each work-item takes a piece.

    For the totals, four parts of the piece are combined side by side, so that no sum waits for the one before.
    """
    piece = item.get_global_id(0)
    start = piece * length
    end = min(start + length, a.shape[0])
    if totals is not None:
        quarter = (end - start) // 4
        if quarter > 0:
            first = convert(a[start])
            second = convert(a[start + quarter])
            third = convert(a[start + 2 * quarter])
            fourth = convert(a[start + 3 * quarter])
            for i in range(start + 1, start + quarter):
                first = op(first, convert(a[i]))
                second = op(second, convert(a[i + quarter]))
                third = op(third, convert(a[i + 2 * quarter]))
                fourth = op(fourth, convert(a[i + 3 * quarter]))
            total = op(op(first, second), op(third, fourth))
            for i in range(start + 4 * quarter, end):
                total = op(total, convert(a[i]))
        else:
            total = convert(a[start])
            for i in range(start + 1, end):
                total = op(total, convert(a[i]))
        totals[piece] = total
    if out is not None:
        carry = convert(a[start])
        i = start
        if init is not None:
            carry = init
        elif seeds is None:
            out[start] = carry
            i = start + 1
        if seeds is not None:
            if piece > 0:
                carry = convert(seeds[piece - 1])
            elif init is None:
                out[start] = carry
                i = start + 1
        while i < end:
            x = convert(a[i])
            if is_exclusive:
                out[i] = carry
                carry = op(carry, x)
            else:
                carry = op(carry, x)
                out[i] = carry
            i += 1


class Scans:
    """`inclusive_scan` and `exclusive_scan` in a world.

    - `world`: where kernels run.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    def inclusive_scan(
        self, array: Any, op: Callable[[Any, Any], Any] = plus, init: Any = None, *, dtype: Any = None, out: Any = None
    ) -> Any:
        """Combine, for each element of an array, the elements up to and with it.

        Parameters
        ----------
        array : array of shape (n,)
            Of any platform, with any stride.
        op : function
            An operator of kapi, or a `device_func` of two values. It must be associative; the order is kept, so that
            it need not be commutative. Of two records it returns a record, or a tuple of the fields.
        init : number or record, optional
            Combined before the first element.
        dtype : dtype, optional
            The elements are converted to it first; by default they keep theirs, so that sums of int8 wrap.
        out : array of shape (n,), optional
            Where the results go; `array` itself is allowed.

        Returns
        -------
        array of shape (n,)
            `out`, or a new array of the library of `array`, on its queue. Results on a device are not waited for.

        Raises
        ------
        KernelLaunchError
            If `out` has another length, or `op` is no function for kernels.
        DtypeError
            If an array is none of rank 1, or of records without an `op` of your own.

        Notes
        -----
        Scratch memory is two elements for each work-group, of the pool of the array's library. The array is read twice;
        on NVIDIA GPUs, where work-groups may wait for others, once. The result is deterministic: on one device, equal
        arrays give equal bits, sums of floats too.

        References
        ----------
        C++, [inclusive.scan]; oneDPL, `oneapi::dpl::inclusive_scan`.
        """
        return self._scan(array, op, init, dtype, out, False)

    def exclusive_scan(
        self, array: Any, init: Any = None, op: Callable[[Any, Any], Any] = plus, *, dtype: Any = None, out: Any = None
    ) -> Any:
        """Combine, for each element of an array, the elements before it.

        Parameters
        ----------
        array, op, dtype, out
            As for `inclusive_scan`.
        init : number or record, optional
            The first result, combined before all elements; by default the identity of `op`, as 0 is of `plus`, which
            functions of your own do not have.

        Returns
        -------
        array of shape (n,)
            As of `inclusive_scan`.

        Raises
        ------
        KernelLaunchError
            As by `inclusive_scan`; also if there is no `init` for a function of your own.
        DtypeError
            If an array is none of rank 1, or of records without an `op` of your own.

        References
        ----------
        C++, [exclusive.scan]; oneDPL, `oneapi::dpl::exclusive_scan`.
        """
        if init is None:
            given = one_dimensional(self._world, "array", array)
            kept = given if dtype is None else np.dtype(dtype)
            operator_on(op, kept)
            row = operator_row(op)
            if row is None:
                raise KernelLaunchError(
                    "init must be given where `op` is a function of your own, got None: give what changes nothing",
                    code="algorithm-init",
                )
            init = row.identity if kept.kind == "c" else identity(row, kept)
        return self._scan(array, op, init, dtype, out, True)

    def _scan(self, array: Any, op: Any, init: Any, dtype: Any, out: Any, is_exclusive: bool) -> Any:
        world = self._world
        given = one_dimensional(world, "array", array)
        kept = given if dtype is None else np.dtype(dtype)
        if out is None:
            out = world.empty(array, (array.shape[0],), kept)
        else:
            one_dimensional(world, "out", out)
            same_length("out", out, "array", array)
        if array.shape[0] == 0:
            return out
        convert = converter(kept, None if kept == given else kept)
        shape = world.shape(array, "scan", kept.itemsize)
        scan_into(world, shape, array, out, kept, operator_on(op, kept), init, is_exclusive, convert)
        return out


def scan_into(
    world: World,
    shape: Shape,
    a: Any,
    out: Any,
    kept: np.dtype[Any],
    op: Any,
    init: Any,
    is_exclusive: bool,
    convert: Any,
) -> None:
    """Scan an array that has elements; it may be `out` itself.

    The pieces are combined, their totals scanned, and the pieces scanned from there on.
    """
    if shape.sub_group:
        scan_tiles_into(world, shape, a, out, kept, op, init, is_exclusive, convert)
        return
    pieces = Pieces.of(a.shape[0], shape)
    seeds = None
    if pieces.count > 1:
        totals = world.empty(a, (pieces.count,), kept)
        seeds = world.empty(a, (pieces.count,), kept)
        if is_group_operator(op, kept):  # which are commutative
            wide = world.shape(a, "reduce", kept.itemsize).local
            space = NdRange(pieces.count * wide, wide)
            args = (a, totals, scratch(kept, wide), pieces.length)
            world.run(reduce_pieces, space, args, b=None, init=None, op=op, transform=same, convert=convert)
        else:
            _scan_pieces(world, shape, pieces, a, None, None, totals, kept, None, False, op, convert)
        full = Pieces(1, -(-pieces.count // shape.tile) * shape.tile, Pieces.of(1, shape).space)
        _scan_pieces(world, shape, full, totals, None, seeds, None, kept, init, False, op, converter(kept))
    _scan_pieces(world, shape, pieces, a, seeds, out, None, kept, init, is_exclusive, op, convert)


def _scan_pieces(
    world: World,
    shape: Shape,
    pieces: Pieces,
    a: Any,
    seeds: Any,
    out: Any,
    totals: Any,
    kept: np.dtype[Any],
    init: Any,
    is_exclusive: bool,
    op: Any,
    convert: Any,
) -> None:
    optional = {"seeds": seeds, "out": out, "totals": totals}
    constants = {name: None for name, value in optional.items() if value is None}
    constants |= {"op": op, "convert": convert}
    args = [a, *(value for value in optional.values() if value is not None)]
    if shape.local > 1:
        args += [scratch(kept, shape.local), pieces.length, shape.run, is_exclusive]
        constants["group_op"] = op if is_group_operator(op, kept) else None
    else:
        args += [pieces.length, is_exclusive]
    if init is None:
        constants["init"] = None
    else:
        args.append(as_element(init, kept))
    world.run(scan_pieces if shape.local > 1 else scan_alone, pieces.space, tuple(args), **constants)
