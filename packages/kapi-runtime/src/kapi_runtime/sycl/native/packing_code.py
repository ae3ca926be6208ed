"""LLVM IR that compares the arguments of a launch with a plan, and packs them."""

from __future__ import annotations

from kapi_runtime.sycl.native.plan_layout import (
    ARGUMENT_WORDS,
    ARRAY,
    BOOL,
    FLOAT,
    INT,
    NUMBER,
    PAIR_WORDS,
    PLAN_WORDS,
    REFERENCE,
    TUPLE,
    WRAPPED_ARRAY,
    load_at,
    load_word,
)

__all__ = ["PACKING_CODE"]

_INNER = 16  # offset of the inner array in dpnp's
_NUMBER = 16  # offset of the value in a NumPy scalar
_QUEUE = 48  # offset of the queue in a USM allocation

# Offsets in the array struct that dpnp documents in its header `_usmarray.h`.
_DATA, _RANK, _SHAPE, _STRIDES, _ELEMENT, _FLAGS, _BASE = 24, 32, 40, 48, 56, 60, 64


def _plan(name: str, type_: str = "i64") -> str:
    return load_word("plan", name, PLAN_WORDS, type_)


def _argument(name: str, type_: str = "i64") -> str:
    return load_word("argument", name, ARGUMENT_WORDS, type_)


_MATCH = f"""
; Whether the arguments are the plan's; if they are, they are packed.
define internal i1 @match_and_pack(ptr %plan, ptr %given) {{
  %overflow = alloca i32
{_plan("given_count")}
{_plan("arguments")}
{_plan("table", "ptr")}
{_plan("objects", "ptr")}
{_plan("ranges", "ptr")}
{_plan("packed", "ptr")}
{_plan("queue", "ptr")}
{_plan("queue_ref", "ptr")}
  store ptr %given, ptr %objects
  %count = call i64 @PyTuple_Size(ptr %given)
  %as_many = icmp eq i64 %count, %given_count
  br i1 %as_many, label %next, label %differs

next:
  %index = phi i64 [0, %0], [%index.next, %packed.one]
  %is_more = icmp ult i64 %index, %arguments
  br i1 %is_more, label %one, label %all

one:
  %index.next = add i64 %index, 1
  %argument = getelementptr [{len(ARGUMENT_WORDS)} x i64], ptr %table, i64 %index
{_argument("parent")}
{_argument("position")}
  %parent.slot = getelementptr ptr, ptr %objects, i64 %parent
  %holder = load ptr, ptr %parent.slot
  %object = call ptr @PyTuple_GetItem(ptr %holder, i64 %position)
{_argument("kind")}
{_argument("type", "ptr")}
{_argument("element")}
{_argument("offset")}
  %target = getelementptr i8, ptr %packed, i64 %offset
{load_at("object_type", "object", 8)}
  %is_type = icmp eq ptr %object_type, %type
  br i1 %is_type, label %typed, label %differs

typed:
  switch i64 %kind, label %packed.one [
    i64 {ARRAY}, label %array
    i64 {WRAPPED_ARRAY}, label %wrapped
    i64 {INT}, label %int
    i64 {FLOAT}, label %float
    i64 {BOOL}, label %bool
    i64 {NUMBER}, label %number
    i64 {TUPLE}, label %tuple
  ]

tuple:
  %object.slot = getelementptr ptr, ptr %objects, i64 %index.next
  store ptr %object, ptr %object.slot
  %members = call i64 @PyTuple_Size(ptr %object)
  %are_members = icmp eq i64 %members, %element
  br i1 %are_members, label %packed.one, label %differs

wrapped:
{load_at("inner", "object", _INNER)}
{_argument("inner_type", "ptr")}
{load_at("object_inner_type", "inner", 8)}
  %is_inner_type = icmp eq ptr %object_inner_type, %inner_type
  br i1 %is_inner_type, label %array, label %differs

array:
  %data_of = phi ptr [%object, %typed], [%inner, %wrapped]
{load_at("data", "data_of", _DATA)}
{load_at("rank32", "data_of", _RANK, "i32")}
{load_at("shape", "data_of", _SHAPE)}
{load_at("strides", "data_of", _STRIDES)}
{load_at("element32", "data_of", _ELEMENT, "i32")}
{load_at("flags32", "data_of", _FLAGS, "i32")}
{load_at("base", "data_of", _BASE)}
{load_at("its_queue", "base", _QUEUE)}
{_argument("rank")}
{_argument("flags_mask")}
{_argument("flags")}
  %its_rank = zext i32 %rank32 to i64
  %its_element = zext i32 %element32 to i64
  %its_flags = zext i32 %flags32 to i64
  %masked = and i64 %its_flags, %flags_mask
  %is_rank = icmp eq i64 %its_rank, %rank
  %is_element = icmp eq i64 %its_element, %element
  %are_flags = icmp eq i64 %masked, %flags
  %is_both = and i1 %is_rank, %is_element
  %is_alike = and i1 %is_both, %are_flags
  br i1 %is_alike, label %placed, label %differs

placed:
  %is_queue = icmp eq ptr %its_queue, %queue
  br i1 %is_queue, label %pointer, label %other_queue

other_queue:  ; two objects may stand for one queue
{load_at("its_queue_ref", "its_queue", REFERENCE)}
  %is_equal = call zeroext i1 @DPCTLQueue_AreEq(ptr %its_queue_ref, ptr %queue_ref)
  br i1 %is_equal, label %pointer, label %differs

pointer:
  store ptr %data, ptr %target
{_argument("strides_offset")}
{_argument("element_size")}
  %strides_target = getelementptr i8, ptr %packed, i64 %strides_offset
  %has_strides = icmp sge i64 %strides_offset, 0
  %are_strides_stored = icmp ne ptr %strides, null
  br label %axis

axis:
  %dimension = phi i64 [0, %pointer], [%dimension.next, %axis.end]
  %dense = phi i64 [1, %pointer], [%dense.next, %axis.end]
  %before = phi i64 [0, %pointer], [%before.next, %axis.end]
  %behind = phi i64 [1, %pointer], [%behind.next, %axis.end]
  %is_axis = icmp ult i64 %dimension, %rank
  br i1 %is_axis, label %extent, label %range

extent:
  %dimension.next = add i64 %dimension, 1
  %extent.at = getelementptr i64, ptr %shape, i64 %dimension
  %length = load i64, ptr %extent.at
  %extent.target = getelementptr i64, ptr %target, i64 %dimension.next
  store i64 %length, ptr %extent.target
  %dense.next = mul i64 %dense, %length
  br i1 %are_strides_stored, label %stored, label %step_is_known

stored:
  %stride.at = getelementptr i64, ptr %strides, i64 %dimension
  %stored_stride = load i64, ptr %stride.at
  br label %step_is_known

step_is_known:  ; without strides of its own, an array that needs them has its first axis the fastest
  %step = phi i64 [%dense, %extent], [%stored_stride, %stored]
  %steps = sub i64 %length, 1
  %reach = mul i64 %steps, %step
  %is_forward = icmp sgt i64 %reach, 0
  %forward = select i1 %is_forward, i64 %reach, i64 0
  %backward = select i1 %is_forward, i64 0, i64 %reach
  %behind.next = add i64 %behind, %forward
  %before.next = add i64 %before, %backward
  br i1 %has_strides, label %store_stride, label %axis.end

store_stride:
  %stride.target = getelementptr i64, ptr %strides_target, i64 %dimension
  store i64 %step, ptr %stride.target
  br label %axis.end

axis.end:
  br label %axis

range:  ; an array without elements overlaps with none
  %is_empty = icmp eq i64 %dense, 0
  %before.bytes = mul i64 %before, %element_size
  %behind.bytes = mul i64 %behind, %element_size
  %address = ptrtoint ptr %data to i64
  %low.there = add i64 %address, %before.bytes
  %high.there = add i64 %address, %behind.bytes
  %low = select i1 %is_empty, i64 -1, i64 %low.there
  %high = select i1 %is_empty, i64 0, i64 %high.there
  %range.slot = getelementptr [2 x i64], ptr %ranges, i64 %index
  store i64 %low, ptr %range.slot
  %high.slot = getelementptr i64, ptr %range.slot, i64 1
  store i64 %high, ptr %high.slot
  br label %packed.one

int:
  store i32 0, ptr %overflow
  %integer = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  %overflowed = load i32, ptr %overflow
  %fits = icmp eq i32 %overflowed, 0
  br i1 %fits, label %int.fits, label %differs

int.fits:
  store i64 %integer, ptr %target
  br label %packed.one

float:
  %double = call double @PyFloat_AsDouble(ptr %object)
  store double %double, ptr %target
  br label %packed.one

bool:
  %truth = call i64 @PyLong_AsLong(ptr %object)
  %truth8 = trunc i64 %truth to i8
  store i8 %truth8, ptr %target
  br label %packed.one

number:
  %value = getelementptr i8, ptr %object, i64 {_NUMBER}
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %value, i64 %element, i1 false)
  br label %packed.one

packed.one:
  br label %next

all:
  %apart = call i1 @are_apart(ptr %plan)
  ret i1 %apart

differs:
  ret i1 false
}}
"""


def _pair(name: str) -> str:
    return load_word("pair", name, PAIR_WORDS)


def _row(which: str, name: str) -> str:
    """IR that loads a word of a row, under a name of its own."""
    offset = 8 * ARGUMENT_WORDS.index(name)
    return load_at(f"{which}.{name}", f"{which}.row", offset, "i64")


def _range(which: str) -> str:
    """IR that loads where a row's memory begins and ends."""
    return f"""
  %{which}.range = getelementptr [2 x i64], ptr %ranges, i64 %{which}
{load_at(f"{which}.low", f"{which}.range", 0, "i64")}
{load_at(f"{which}.high", f"{which}.range", 8, "i64")}"""


_APART = f"""
; Whether two lists of words in the packed argument are equal.
define internal i1 @are_equal(ptr %packed, i64 %first, i64 %second, i64 %count) {{
  %first.at = getelementptr i8, ptr %packed, i64 %first
  %second.at = getelementptr i8, ptr %packed, i64 %second
  br label %next

next:
  %index = phi i64 [0, %0], [%index.next, %one]
  %is_more = icmp ult i64 %index, %count
  br i1 %is_more, label %one, label %end

one:
  %index.next = add i64 %index, 1
  %first.word.at = getelementptr i64, ptr %first.at, i64 %index
  %second.word.at = getelementptr i64, ptr %second.at, i64 %index
  %first.word = load i64, ptr %first.word.at
  %second.word = load i64, ptr %second.word.at
  %is_equal = icmp eq i64 %first.word, %second.word
  br i1 %is_equal, label %next, label %differ

end:
  ret i1 true

differ:
  ret i1 false
}}

; Whether each array that the kernel writes is the same view as another one, or between other addresses.
define internal i1 @are_apart(ptr %plan) {{
{_plan("table", "ptr")}
{_plan("ranges", "ptr")}
{_plan("packed", "ptr")}
{_plan("pairs")}
{_plan("pair_table", "ptr")}
  br label %next

next:
  %index = phi i64 [0, %0], [%index.next, %apart]
  %is_more = icmp ult i64 %index, %pairs
  br i1 %is_more, label %one, label %all

one:
  %index.next = add i64 %index, 1
  %pair = getelementptr [{len(PAIR_WORDS)} x i64], ptr %pair_table, i64 %index
{_pair("first")}
{_pair("second")}
{_range("first")}
{_range("second")}
  %begins_within = icmp ult i64 %first.low, %second.high
  %ends_within = icmp ult i64 %second.low, %first.high
  %overlap = and i1 %begins_within, %ends_within
  br i1 %overlap, label %overlapping, label %apart

overlapping:
{_pair("words")}
{_pair("strides")}
{_pair("may_be_one")}
  %first.row = getelementptr [{len(ARGUMENT_WORDS)} x i64], ptr %table, i64 %first
  %second.row = getelementptr [{len(ARGUMENT_WORDS)} x i64], ptr %table, i64 %second
{_row("first", "offset")}
{_row("second", "offset")}
{_row("first", "strides_offset")}
{_row("second", "strides_offset")}
  %is_alike = icmp ne i64 %may_be_one, 0
  br i1 %is_alike, label %compare, label %not_one

compare:
  %shapes = call i1 @are_equal(ptr %packed, i64 %first.offset, i64 %second.offset, i64 %words)
  %steps = call i1 @are_equal(ptr %packed, i64 %first.strides_offset, i64 %second.strides_offset, i64 %strides)
  %is_one = and i1 %shapes, %steps
  br i1 %is_one, label %apart, label %not_one

apart:
  br label %next

all:
  ret i1 true

not_one:
  ret i1 false
}}
"""

PACKING_CODE = _APART + _MATCH
