"""The native functions of launches: what checks and packs arrays, and the loop by which threads share work-groups.

They are LLVM IR, compiled when the first of them is needed.  Arrays are read from NumPy's own structure, which is part
of its binary interface: attributes that tell the same take ten times as long.  The loop is native since Ctrl-C must not
come between taking work-groups and running them, and since threads need no GIL to take more.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from kapi_cpu.emission.launch_record import word
from kapi_runtime.native.loading import TABLE, methods, python_function
from kapi_runtime.native.packing_source import Pair
from kapi_sim.forks import block_forks

__all__ = ["SHORT_NS", "ArrayTable", "LaunchCall", "NativeFunctions", "can_read_arrays", "native_functions"]

SHORT_NS = 60_000
"""Nanoseconds for which a launch stays on its thread: waking another one takes a third of that."""

_ASKED = 0x500  # NPY_ARRAY_ALIGNED and NPY_ARRAY_WRITEABLE
_ITEMS = tuple.__basicsize__
_SIZE = object.__basicsize__  # the word behind every object's head is the size of a tuple
_TYPE, _DATA, _RANK, _SHAPE, _STRIDES, _DTYPE, _FLAGS = 8, 16, 24, 32, 40, 56, 64
"""Offsets in a PyArrayObject."""

_NOW = """
declare i32 @clock_gettime(i32, ptr)

define i64 @now() {
  %time = alloca [2 x i64]
  %code = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %ns.at = getelementptr i64, ptr %time, i64 1
  %ns = load i64, ptr %ns.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %ns
  ret i64 %sum
}
"""
_NO_CLOCK = "define i64 @now() {\n  ret i64 0\n}\n"  # on Windows: a launch stays on its thread the first time

_SOURCE = """
; Whether a tuple has as many items, and arrays, as a table says; packs their addresses.
define i64 @pack(ptr %given, ptr %words) {
entry:
  %packed = load ptr, ptr %words
  %table.at = getelementptr i64, ptr %words, i64 1
  %table = load ptr, ptr %table.at
  %size.at = getelementptr i8, ptr %given, i64 SIZE
  %size = load i64, ptr %size.at
  %size.wanted = load i64, ptr %table
  %is.size = icmp eq i64 %size, %size.wanted
  br i1 %is.size, label %look, label %no
look:
  %count.at = getelementptr i64, ptr %table, i64 1
  %count = load i64, ptr %count.at
  %first = getelementptr i64, ptr %table, i64 2
  br label %arrays
arrays:
  %i = phi i64 [0, %look], [%i.next, %stored]
  %row = phi ptr [%first, %look], [%row.next, %stored]
  %is.array = icmp slt i64 %i, %count
  br i1 %is.array, label %array, label %pairs.begin
array:
  %item.offset = load i64, ptr %row
  %item.at = getelementptr i8, ptr %given, i64 %item.offset
  %object = load ptr, ptr %item.at
  %type.at = getelementptr i8, ptr %object, i64 TYPE
  %type = load i64, ptr %type.at
  %type.row = getelementptr i64, ptr %row, i64 1
  %type.wanted = load i64, ptr %type.row
  %is.type = icmp eq i64 %type, %type.wanted
  br i1 %is.type, label %structure, label %no
structure:
  %dtype.at = getelementptr i8, ptr %object, i64 DTYPE
  %dtype = load i64, ptr %dtype.at
  %dtype.row = getelementptr i64, ptr %row, i64 2
  %dtype.wanted = load i64, ptr %dtype.row
  %is.dtype = icmp eq i64 %dtype, %dtype.wanted
  %flags.at = getelementptr i8, ptr %object, i64 FLAGS
  %flags = load i32, ptr %flags.at
  %flags.asked = and i32 %flags, ASKED
  %flags.row = getelementptr i64, ptr %row, i64 3
  %flags.wanted = load i32, ptr %flags.row
  %is.flags = icmp eq i32 %flags.asked, %flags.wanted
  %rank.at = getelementptr i8, ptr %object, i64 RANK
  %rank = load i32, ptr %rank.at
  %rank.row = getelementptr i64, ptr %row, i64 4
  %rank.wanted = load i32, ptr %rank.row
  %is.rank = icmp eq i32 %rank, %rank.wanted
  %is.two = and i1 %is.dtype, %is.flags
  %is.three = and i1 %is.two, %is.rank
  br i1 %is.three, label %axes.begin, label %no
axes.begin:
  %axes = zext i32 %rank to i64
  %shape.at = getelementptr i8, ptr %object, i64 SHAPE
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %object, i64 STRIDES
  %strides = load ptr, ptr %strides.at
  %shape.row = getelementptr i64, ptr %row, i64 6
  %strides.row = getelementptr i64, ptr %shape.row, i64 %axes
  %row.next = getelementptr i64, ptr %strides.row, i64 %axes
  br label %axis.head
axis.head:
  %axis = phi i64 [0, %axes.begin], [%axis.next, %axis.body]
  %is.axis = icmp slt i64 %axis, %axes
  br i1 %is.axis, label %axis.body, label %stored
axis.body:
  %extent.at = getelementptr i64, ptr %shape, i64 %axis
  %extent = load i64, ptr %extent.at
  %extent.row = getelementptr i64, ptr %shape.row, i64 %axis
  %extent.wanted = load i64, ptr %extent.row
  %is.extent = icmp eq i64 %extent, %extent.wanted
  %stride.at = getelementptr i64, ptr %strides, i64 %axis
  %stride = load i64, ptr %stride.at
  %stride.row = getelementptr i64, ptr %strides.row, i64 %axis
  %stride.wanted = load i64, ptr %stride.row
  %is.stride = icmp eq i64 %stride, %stride.wanted
  %is.both = and i1 %is.extent, %is.stride
  %axis.next = add i64 %axis, 1
  br i1 %is.both, label %axis.head, label %no
stored:
  %data.at = getelementptr i8, ptr %object, i64 DATA
  %data = load i64, ptr %data.at
  %target.row = getelementptr i64, ptr %row, i64 5
  %target.offset = load i64, ptr %target.row
  %target = getelementptr i8, ptr %packed, i64 %target.offset
  store i64 %data, ptr %target
  %i.next = add i64 %i, 1
  br label %arrays
pairs.begin:
  %pairs = load i64, ptr %row
  %pair.first = getelementptr i64, ptr %row, i64 1
  br label %pair.head
pair.head:
  %j = phi i64 [0, %pairs.begin], [%j.next, %pair.next]
  %pair = phi ptr [%pair.first, %pairs.begin], [%pair.row.next, %pair.next]
  %is.pair = icmp slt i64 %j, %pairs
  br i1 %is.pair, label %pair.body, label %yes
pair.body:
  %one.offset = load i64, ptr %pair
  %one.at = getelementptr i8, ptr %packed, i64 %one.offset
  %one = load i64, ptr %one.at
  %other.row = getelementptr i64, ptr %pair, i64 1
  %other.offset = load i64, ptr %other.row
  %other.at = getelementptr i8, ptr %packed, i64 %other.offset
  %other = load i64, ptr %other.at
  %low.row = getelementptr i64, ptr %pair, i64 2
  %low.reach = load i64, ptr %low.row
  %high.row = getelementptr i64, ptr %pair, i64 3
  %high.reach = load i64, ptr %high.row
  %low.other.row = getelementptr i64, ptr %pair, i64 4
  %low.other.reach = load i64, ptr %low.other.row
  %high.other.row = getelementptr i64, ptr %pair, i64 5
  %high.other.reach = load i64, ptr %high.other.row
  %alike.row = getelementptr i64, ptr %pair, i64 6
  %alike = load i64, ptr %alike.row
  %low = add i64 %one, %low.reach
  %high = add i64 %one, %high.reach
  %low.other = add i64 %other, %low.other.reach
  %high.other = add i64 %other, %high.other.reach
  %is.below = icmp ule i64 %high, %low.other
  %is.above = icmp ule i64 %high.other, %low
  %is.apart = or i1 %is.below, %is.above
  %is.one = icmp eq i64 %one, %other
  %may.be.one = icmp ne i64 %alike, 0
  %is.view = and i1 %is.one, %may.be.one
  %distance = sub i64 %other, %one
  %distance.row = getelementptr i64, ptr %pair, i64 7
  %distance.planned = load i64, ptr %distance.row
  %is.planned = icmp eq i64 %distance, %distance.planned
  %is.known = or i1 %is.view, %is.planned
  %is.right = or i1 %is.apart, %is.known
  %pair.row.next = getelementptr i64, ptr %pair, i64 8
  br i1 %is.right, label %pair.next, label %no
pair.next:
  %j.next = add i64 %j, 1
  br label %pair.head
yes:
  ret i64 0
no:
  ret i64 -1
}

; A builtin's function, of a bytes object with the structure: packs, and runs work-groups for some time without the GIL.
define ptr @launch(ptr %self, ptr %given) {
entry:
  %words = getelementptr i8, ptr %self, i64 TABLE
  %code.at = getelementptr i64, ptr %words, i64 2
  %record.at = getelementptr i64, ptr %words, i64 3
  %groups.at = getelementptr i64, ptr %words, i64 4
  %packed = load ptr, ptr %words
  %code = load ptr, ptr %code.at
  %record = load ptr, ptr %record.at
  %groups = load i64, ptr %groups.at
  %progress.at = getelementptr i8, ptr %record, i64 END
  store i64 0, ptr %progress.at
  %unlike = call i64 @pack(ptr %given, ptr %words)
  %is.like = icmp eq i64 %unlike, 0
  br i1 %is.like, label %run, label %out
run:
  %state = call ptr inttoptr (i64 SAVE to ptr)()
  %next = call i64 @advance(ptr %code, ptr %packed, ptr %record, i64 0, i64 %groups, i64 SHORT)
  call void inttoptr (i64 RESTORE to ptr)(ptr %state)
  br label %out
out:
  %result = phi i64 [%unlike, %entry], [%next, %run]
  %object = call ptr inttoptr (i64 NUMBER to ptr)(i64 %result)
  ret ptr %object
}

; Runs work-groups until none is left or some time is over, and returns the first that is left.
define i64 @advance(ptr %run, ptr %packed, ptr %record, i64 %begin, i64 %groups, i64 %time) {
entry:
  %first.at = getelementptr i8, ptr %record, i64 FIRST
  %end.at = getelementptr i8, ptr %record, i64 END
  %start = call i64 @now()
  br label %head
head:
  %first = phi i64 [%begin, %entry], [%end, %late]
  %step = phi i64 [1, %entry], [%step.next, %late]
  %is.any = icmp slt i64 %first, %groups
  br i1 %is.any, label %do, label %out
do:
  %far = add i64 %first, %step
  %is.whole = icmp slt i64 %far, %groups
  %end = select i1 %is.whole, i64 %far, i64 %groups
  store i64 %first, ptr %first.at
  store i64 %end, ptr %end.at
  call void %run(ptr %packed, ptr %record)
  br i1 %is.whole, label %late, label %all
late:
  %clock = call i64 @now()
  %elapsed = sub i64 %clock, %start
  %is.late = icmp sgt i64 %elapsed, %time
  %step.next = shl i64 %step, 1
  br i1 %is.late, label %some, label %head
some:
  ret i64 %end
all:
  ret i64 %groups
out:
  ret i64 %first
}

; Does the steps of a graph until one is a launch that takes long, and returns that one; the first group that is left of
; it comes after the rows.
define i64 @replay(ptr %rows, i64 %first, i64 %count) {
entry:
  %size = shl i64 %count, 2
  %left.at = getelementptr i64, ptr %rows, i64 %size
  br label %head
head:
  %i = phi i64 [%first, %entry], [%i.next, %done]
  %is.any = icmp slt i64 %i, %count
  br i1 %is.any, label %step, label %out
step:
  %offset = shl i64 %i, 2
  %code.at = getelementptr i64, ptr %rows, i64 %offset
  %packed.at = getelementptr i64, ptr %code.at, i64 1
  %record.at = getelementptr i64, ptr %code.at, i64 2
  %groups.at = getelementptr i64, ptr %code.at, i64 3
  %code = load ptr, ptr %code.at
  %packed = load ptr, ptr %packed.at
  %record = load ptr, ptr %record.at
  %groups = load i64, ptr %groups.at
  %is.copy = icmp eq ptr %code, null
  br i1 %is.copy, label %copy, label %run
copy:
  call ptr @memmove(ptr %packed, ptr %record, i64 %groups)
  br label %done
run:
  %next = call i64 @advance(ptr %code, ptr %packed, ptr %record, i64 0, i64 %groups, i64 SHORT)
  %is.left = icmp slt i64 %next, %groups
  br i1 %is.left, label %left, label %done
left:
  store i64 %next, ptr %left.at
  ret i64 %i
done:
  %i.next = add i64 %i, 1
  br label %head
out:
  ret i64 %count
}

declare ptr @memmove(ptr, ptr, i64)

; Takes work-groups that no other thread has taken, and runs them, until none is left or some time is over.
define void @share(ptr %run, ptr %packed, ptr %record, ptr %shared, i64 %time) {
entry:
  %start = call i64 @now()
  %left = getelementptr i64, ptr %shared, i64 1
  %count.at = getelementptr i64, ptr %shared, i64 2
  %count = load i64, ptr %count.at
  %chunk.at = getelementptr i64, ptr %shared, i64 3
  %chunk = load i64, ptr %chunk.at
  %first.at = getelementptr i8, ptr %record, i64 FIRST
  %end.at = getelementptr i8, ptr %record, i64 END
  br label %take
take:
  %taken = phi i64 [1, %entry], [%more, %do]  ; doubled each time, so that the last one takes no longer than all before
  %first = atomicrmw add ptr %shared, i64 %taken monotonic
  %is.any = icmp slt i64 %first, %count
  br i1 %is.any, label %do, label %out
do:
  %far = add i64 %first, %taken
  %is.whole = icmp slt i64 %far, %count
  %end = select i1 %is.whole, i64 %far, i64 %count
  store i64 %first, ptr %first.at
  store i64 %end, ptr %end.at
  call void %run(ptr %packed, ptr %record)
  %done = sub i64 %end, %first
  %before = atomicrmw sub ptr %left, i64 %done acq_rel
  %clock = call i64 @now()
  %elapsed = sub i64 %clock, %start
  %is.late = icmp sgt i64 %elapsed, %time
  %double = shl i64 %taken, 1
  %is.less = icmp slt i64 %double, %chunk
  %more = select i1 %is.less, i64 %double, i64 %chunk
  br i1 %is.late, label %out, label %take
out:
  ret void
}
"""


@dataclass(frozen=True, slots=True)
class NativeFunctions:
    """The native functions.

    - `pack`: takes a tuple of arguments, and the address of a `LaunchCall`.  -1 if the tuple and its arrays are not as
      the table says.  Else their addresses are packed, and it returns 0.
    - `launch`: makes a builtin of the bytes of a `LaunchCall`, which takes a third of the time of a call by `ctypes`.
      Given the tuple, it packs, and has `advance` run the code for a short time: it returns what these do.
    - `advance`: takes the addresses of compiled code, of packed arguments and of a thread's record; the first
      work-group to run, the number of all, and a time in nanoseconds.  Runs them one after the other until the time is
      over, and returns the first that is left.
    - `replay`: takes the address of a graph's rows, the step to begin with, and the number of steps.  Runs them until
      one takes long, and returns that one.
    - `share`: takes the addresses of compiled code, of packed arguments, of a thread's record, and of four words: the
      first work-group that nobody has taken, how many are not done yet, how many there are, and the most that are taken
      at once; and a time in nanoseconds.  Runs groups until none is left to be taken, or the time is over.
    """

    pack: Callable[[tuple[Any, ...], int], int]
    launch: Callable[[bytes], Callable[[tuple[Any, ...]], int]]
    advance: Callable[[int, int, int, int, int, int], int]
    share: Callable[[int, int, int, int, int], None]
    replay: Callable[[int, int, int], int]


@cache
def native_functions() -> NativeFunctions:
    """Return the native functions, compiled at the first call."""
    with block_forks():  # LLVM's lock
        return _compiled()


def _compiled() -> NativeFunctions:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    clock = getattr(time, "CLOCK_MONOTONIC", None)
    source = _SOURCE + (_NO_CLOCK if clock is None else _NOW.replace("CLOCK", str(clock)))
    numbers = {"FIRST": word("first_group"), "END": word("end_group"), "ASKED": _ASKED, "TYPE": _TYPE, "DATA": _DATA}
    numbers |= {
        "SIZE": _SIZE,
        "SHORT": SHORT_NS,
        "RANK": _RANK,
        "SHAPE": _SHAPE,
        "STRIDES": _STRIDES,
        "DTYPE": _DTYPE,
        "FLAGS": _FLAGS,
        "TABLE": TABLE,
        "SAVE": python_function("PyEval_SaveThread"),
        "RESTORE": python_function("PyEval_RestoreThread"),
        "NUMBER": python_function("PyLong_FromLongLong"),
    }
    for name, number in numbers.items():
        source = re.sub(rf"\b{name}\b", str(number), source)
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="static", codemodel="large", jit=True)
    linker = llvm.create_lljit_compiler(machine, use_jit_link=False, suppress_errors=False)
    builder = llvm.JITLibraryBuilder().add_current_process().add_ir(source)
    for name in ("pack", "launch", "advance", "share", "replay"):
        builder = builder.export_symbol(name)
    library = builder.link(linker, "kapi.launches")
    _held.extend((linker, library))
    address, word_ = ctypes.c_void_p, ctypes.c_int64
    pack = ctypes.CFUNCTYPE(word_, ctypes.py_object, address)
    advance = ctypes.CFUNCTYPE(word_, address, address, address, word_, word_, word_)
    share = ctypes.CFUNCTYPE(None, address, address, address, address, word_)
    replay = ctypes.CFUNCTYPE(word_, address, word_, word_)
    return NativeFunctions(
        pack(library["pack"]),
        methods("launch", library["launch"]),
        advance(library["advance"]),
        share(library["share"]),
        replay(library["replay"]),
    )


_held: list[object] = []


class ArrayTable:
    """The form that the arrays of a launch must have, for `NativeFunctions.pack`.

    - `size`: the number of arguments.
    - `arrays`: the index of each array among the arguments, an array like it, and where its address is packed, in
      bytes.
    - `pairs`: the pairs of which one is written, named by where their addresses are packed, in bytes.
    """

    __slots__ = ("_held", "_words", "address")

    def __init__(
        self, size: int, arrays: Sequence[tuple[int, np.ndarray[Any, Any], int]], pairs: Sequence[Pair]
    ) -> None:
        words = [size, len(arrays)]
        for index, array, offset in arrays:
            words += (_ITEMS + 8 * index, id(type(array)), id(array.dtype), _flags_of(array), array.ndim, offset)
            words += (*array.shape, *array.strides)
        words.append(len(pairs))
        for one, other, reach, other_reach, may_be_one, distance in pairs:
            words += (one, other, *reach, *other_reach, int(may_be_one), distance)
        # They stay where they are, and nothing else comes there.
        self._held = [(type(array), array.dtype) for _, array, _ in arrays]
        self._words = (ctypes.c_int64 * len(words))(*words)
        self.address = ctypes.addressof(self._words)


class LaunchCall:
    """The structure that `NativeFunctions.pack` and `launch` read besides the arguments.

    - `packed`: the address of the packed arguments.
    - `table`: of the arrays among them.
    - `code`, `record`, `groups`: the addresses of compiled code and of a thread's record, and the number of
      work-groups, if it is to run.
    """

    __slots__ = ("_words", "address")

    def __init__(self, packed: int, table: ArrayTable, code: int = 0, record: int = 0, groups: int = 0) -> None:
        self._words = (ctypes.c_uint64 * 5)(packed, table.address, code, record, groups)
        self.address = ctypes.addressof(self._words)

    def method(self) -> Callable[[tuple[Any, ...]], int]:
        """Return a builtin that launches and runs; the table must stay."""
        return native_functions().launch(bytes(self._words))


def _flags_of(array: np.ndarray[Any, Any]) -> int:
    return 0x100 * array.flags.aligned | 0x400 * array.flags.writeable


@cache
def can_read_arrays() -> bool:
    """Whether NumPy's arrays, and tuples, are laid out as the native functions read them."""
    if sys.implementation.name != "cpython" or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False
    text = b"\x01\x02\x03"
    if bytes.__basicsize__ != TABLE + 1 or ctypes.string_at(id(text) + TABLE, len(text)) != text:
        return False
    array = np.arange(24, dtype=np.float32).reshape(4, 6)[1:, ::2]
    given = (None, array)
    if ctypes.c_uint64.from_address(id(given) + _ITEMS + 8).value != id(array):
        return False
    if ctypes.c_int64.from_address(id(given) + _SIZE).value != len(given):
        return False
    words = {at: ctypes.c_uint64.from_address(id(array) + at).value for at in (_TYPE, _DATA, _SHAPE, _STRIDES, _DTYPE)}
    found = (*(words[at] for at in (_TYPE, _DATA, _DTYPE)), ctypes.c_int.from_address(id(array) + _RANK).value)
    if found != (id(np.ndarray), array.__array_interface__["data"][0], id(array.dtype), 2):
        return False
    extents = [tuple((ctypes.c_int64 * 2).from_address(words[at])) for at in (_SHAPE, _STRIDES)]
    flags = []
    for is_writable in (True, False):
        array.flags.writeable = is_writable
        flags.append((ctypes.c_int.from_address(id(array) + _FLAGS).value & _ASKED, _flags_of(array)))
    return extents == [array.shape, array.strides] and all(one == other for one, other in flags)
