"""LLVM IR of a launch: arguments compared with a plan, packed, and submitted; compiled in `_submission`.

What a plan looks like in memory is said once, by the constants below; `plan` fills it in.  The three functions have
CPython's fast calling convention, ``PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t nargs)``, are called
with the GIL held, and hold it all along: two threads never pack into one plan at the same time.
"""

from __future__ import annotations

__all__ = [
    "ARGUMENT_WORDS",
    "ARRAY",
    "BOOL",
    "FLOAT",
    "INT",
    "MAX_EVENTS",
    "NUMBER",
    "OTHER",
    "PLAN_WORDS",
    "WRAPPED_ARRAY",
    "submission_code",
]

PLAN_WORDS = (
    "arguments",  # how many
    "table",  # address of the words of each
    "packed",  # address of the packed argument
    "packed_size",  # in bytes
    "queue",  # the dpctl.SyclQueue
    "queue_ref",
    "kernel_ref",
    "native",  # address of the addresses of what is submitted: room for the packed argument's, and local memory
    "native_types",  # address of the types of these
    "natives",  # how many
    "has_local_range",
    "dimensions",
    "global_range",  # three words
    "global_range_1",
    "global_range_2",
    "local_range",  # three words
    "local_range_1",
    "local_range_2",
)
"""Words, of 64 bits, that describe a plan."""

ARGUMENT_WORDS = (
    "kind",
    "type",  # the Python type of the argument, which must be this very one
    "inner_type",  # that of the array in it
    "element",  # number of the element type of an array; bytes of a number
    "rank",
    "flags_mask",
    "flags",
    "offset",  # in the packed argument, in bytes
    "strides_offset",  # in the packed argument, in bytes; negative where strides are not passed
)
"""Words that describe an argument."""

ARRAY, WRAPPED_ARRAY, INT, FLOAT, BOOL, NUMBER, OTHER = range(7)
"""Kinds of arguments: dpnp's inner array, the array around it, Python's numbers, NumPy's, and what is not packed."""

MAX_EVENTS = 1024
"""Most events that one launch can wait for here."""

_INNER = 16  # offset of the inner array in dpnp's
_NUMBER = 16  # offset of the value in a NumPy scalar
_REFERENCE = 16  # offset of dpctl's reference in a queue or an event
_QUEUE = 48  # offset of the queue in a USM allocation

# Offsets in the array struct that dpnp documents in its header `_usmarray.h`.
_DATA, _RANK, _SHAPE, _STRIDES, _ELEMENT, _FLAGS, _BASE = 24, 32, 40, 48, 56, 60, 64


def submission_code(addresses: dict[str, int], objects: dict[str, int]) -> str:
    """Return the IR, with the functions that it calls at these addresses.

    Parameters
    ----------
    addresses : dict of str to int
        Address of each C function, by name.
    objects : dict of str to int
        Address of each object: ``NONE``; ``DONE``, an event that is over; the names of the methods ``GET_EVENTS`` and
        ``ADD_EVENTS``.
    """
    text = _CODE
    for name, address in addresses.items():
        text = text.replace(f"@{name}(", f"inttoptr (i64 {address} to ptr)(")
    for name, address in objects.items():
        text = text.replace(f"${name}", f"inttoptr (i64 {address} to ptr)")
    return text


def _word(name: str, words: tuple[str, ...]) -> int:
    return 8 * words.index(name)


def _load(result: str, base: str, offset: int, type_: str = "ptr") -> str:
    """IR that loads what is `offset` bytes behind a pointer."""
    return f"  %{result}.at = getelementptr i8, ptr %{base}, i64 {offset}\n  %{result} = load {type_}, ptr %{result}.at"


def _plan(name: str, type_: str = "i64", result: str = "") -> str:
    return _load(result or name, "plan", _word(name, PLAN_WORDS), type_)


def _argument(name: str, type_: str = "i64") -> str:
    return _load(name, "argument", _word(name, ARGUMENT_WORDS), type_)


_MATCH = f"""
define internal i1 @match_and_pack(ptr %plan, ptr %given) {{
  %overflow = alloca i32
{_plan("arguments")}
{_plan("table", "ptr")}
{_plan("packed", "ptr")}
{_plan("queue", "ptr")}
{_plan("queue_ref", "ptr")}
  %count = call i64 @PyTuple_Size(ptr %given)
  %as_many = icmp eq i64 %count, %arguments
  br i1 %as_many, label %next, label %differs

next:
  %index = phi i64 [0, %0], [%index.next, %packed.one]
  %is_more = icmp ult i64 %index, %arguments
  br i1 %is_more, label %one, label %matches

one:
  %index.next = add i64 %index, 1
  %argument = getelementptr [{len(ARGUMENT_WORDS)} x i64], ptr %table, i64 %index
  %object = call ptr @PyTuple_GetItem(ptr %given, i64 %index)
{_argument("kind")}
{_argument("type", "ptr")}
{_argument("element")}
{_argument("offset")}
  %target = getelementptr i8, ptr %packed, i64 %offset
{_load("object_type", "object", 8)}
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
  ]

wrapped:
{_load("inner", "object", _INNER)}
{_argument("inner_type", "ptr")}
{_load("object_inner_type", "inner", 8)}
  %is_inner_type = icmp eq ptr %object_inner_type, %inner_type
  br i1 %is_inner_type, label %array, label %differs

array:
  %data_of = phi ptr [%object, %typed], [%inner, %wrapped]
{_load("data", "data_of", _DATA)}
{_load("rank32", "data_of", _RANK, "i32")}
{_load("shape", "data_of", _SHAPE)}
{_load("strides", "data_of", _STRIDES)}
{_load("element32", "data_of", _ELEMENT, "i32")}
{_load("flags32", "data_of", _FLAGS, "i32")}
{_load("base", "data_of", _BASE)}
{_load("its_queue", "base", _QUEUE)}
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
{_load("its_queue_ref", "its_queue", _REFERENCE)}
  %is_equal = call zeroext i1 @DPCTLQueue_AreEq(ptr %its_queue_ref, ptr %queue_ref)
  br i1 %is_equal, label %pointer, label %differs

pointer:
  store ptr %data, ptr %target
{_argument("strides_offset")}
  %strides_target = getelementptr i8, ptr %packed, i64 %strides_offset
  %has_strides = icmp sge i64 %strides_offset, 0
  %are_strides_stored = icmp ne ptr %strides, null
  br label %axis

axis:
  %dimension = phi i64 [0, %pointer], [%dimension.next, %axis.end]
  %dense = phi i64 [1, %pointer], [%dense.next, %axis.end]
  %is_axis = icmp ult i64 %dimension, %rank
  br i1 %is_axis, label %extent, label %packed.one

extent:
  %dimension.next = add i64 %dimension, 1
  %extent.at = getelementptr i64, ptr %shape, i64 %dimension
  %length = load i64, ptr %extent.at
  %extent.target = getelementptr i64, ptr %target, i64 %dimension.next
  store i64 %length, ptr %extent.target
  %dense.next = mul i64 %dense, %length
  br i1 %has_strides, label %stride, label %axis.end

stride:
  br i1 %are_strides_stored, label %stored, label %store_stride

stored:
  %stride.at = getelementptr i64, ptr %strides, i64 %dimension
  %stored_stride = load i64, ptr %stride.at
  br label %store_stride

store_stride:  ; without strides of its own, an array that needs them has its first axis the fastest
  %step = phi i64 [%dense, %stride], [%stored_stride, %stored]
  %stride.target = getelementptr i64, ptr %strides_target, i64 %dimension
  store i64 %step, ptr %stride.target
  br label %axis.end

axis.end:
  br label %axis

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

matches:
  ret i1 true

differs:
  ret i1 false
}}
"""

_COLLECT = f"""
; Adds the references of a list of events, those from `start` on, behind the first `count`; returns how many there are.
define internal i64 @collect(ptr %references, i64 %count, ptr %events, i64 %start) {{
  %length = call i64 @PyList_Size(ptr %events)
  %more = sub i64 %length, %start
  %sum = add i64 %count, %more
  %fit = icmp ule i64 %sum, {MAX_EVENTS}
  br i1 %fit, label %next, label %end

next:
  %index = phi i64 [0, %0], [%index.next, %one]
  %is_more = icmp ult i64 %index, %more
  br i1 %is_more, label %one, label %end

one:
  %index.next = add i64 %index, 1
  %place = add i64 %start, %index
  %event = call ptr @PyList_GetItem(ptr %events, i64 %place)
{_load("reference", "event", _REFERENCE)}
  %position = add i64 %count, %index
  %slot = getelementptr ptr, ptr %references, i64 %position
  store ptr %reference, ptr %slot
  br label %next

end:
  ret i64 %sum
}}

; Where the event of the last launch stands in a list of events, or 0: that launch waited for all before it.
define internal i64 @first_that_counts(ptr %events, ptr %last) {{
{_load("last_reference", "last", _REFERENCE)}
  %last_identity = load ptr, ptr %last_reference
  %length = call i64 @PyList_Size(ptr %events)
  br label %next

next:
  %index = phi i64 [%length, %0], [%before, %one]
  %is_more = icmp sgt i64 %index, 0
  br i1 %is_more, label %one, label %none

one:
  %before = sub i64 %index, 1
  %event = call ptr @PyList_GetItem(ptr %events, i64 %before)
{_load("reference", "event", _REFERENCE)}
  %identity = load ptr, ptr %reference
  %is_last = icmp eq ptr %identity, %last_identity
  br i1 %is_last, label %found, label %next

found:
  ret i64 %before

none:
  ret i64 0
}}
"""

_SUBMIT = f"""
; Waits for what counts of the queue's events, and for `more_events`; adds its own to those of the queue.
;
; Between asking for the events and adding one, no other thread runs Python, so that whatever stands before the added
; event is what it waits for. So the next launch waits for it and what follows it, and not for each event before.
define internal ptr @submit(ptr %plan, ptr %order, ptr %cell, ptr %more_events) {{
  %references = alloca [{MAX_EVENTS} x ptr]
  %call = alloca [3 x ptr]
  store ptr %order, ptr %call
  %events = call ptr @PyObject_VectorcallMethod(ptr $GET_EVENTS, ptr %call, i64 1, ptr null)
  %is_answer = icmp ne ptr %events, null
  br i1 %is_answer, label %answer, label %failed

answer:
  %last = call ptr @PyList_GetItem(ptr %cell, i64 0)
  %start = call i64 @first_that_counts(ptr %events, ptr %last)
  %some = call i64 @collect(ptr %references, i64 0, ptr %events, i64 %start)
  %few = icmp ule i64 %some, {MAX_EVENTS}
  br i1 %few, label %collect_more, label %too_many

collect_more:
  %count = call i64 @collect(ptr %references, i64 %some, ptr %more_events, i64 0)
  %fit = icmp ule i64 %count, {MAX_EVENTS}
  br i1 %fit, label %submit_it, label %too_many

too_many:
  call void @Py_DecRef(ptr %events)
  br label %refused

submit_it:
{_plan("queue_ref", "ptr")}
{_plan("kernel_ref", "ptr")}
{_plan("native", "ptr")}
{_plan("native_types", "ptr")}
{_plan("natives")}
{_plan("dimensions")}
{_plan("has_local_range")}
{_plan("packed", "ptr")}
{_plan("packed_size")}
  ; dpctl copies the bytes here, and SYCL when it submits
  %raw = call ptr @DPCTLRawKernelArg_Create(ptr %packed, i64 %packed_size)
  store ptr %raw, ptr %native
  %global_range = getelementptr i8, ptr %plan, i64 {_word("global_range", PLAN_WORDS)}
  %local_range = getelementptr i8, ptr %plan, i64 {_word("local_range", PLAN_WORDS)}
  %is_nd = icmp ne i64 %has_local_range, 0
  br i1 %is_nd, label %nd_range, label %range

nd_range:
  %nd_event = call ptr @DPCTLQueue_SubmitNDRange(ptr %kernel_ref, ptr %queue_ref, ptr %native, ptr %native_types, \
i64 %natives, ptr %global_range, ptr %local_range, i64 %dimensions, ptr %references, i64 %count)
  br label %submitted

range:
  %range_event = call ptr @DPCTLQueue_SubmitRange(ptr %kernel_ref, ptr %queue_ref, ptr %native, ptr %native_types, \
i64 %natives, ptr %global_range, i64 %dimensions, ptr %references, i64 %count)
  br label %submitted

submitted:
  %event = phi ptr [%nd_event, %nd_range], [%range_event, %range]
  call void @DPCTLRawKernelArg_Delete(ptr %raw)
  call void @Py_DecRef(ptr %events)
  %is_refused = icmp eq ptr %event, null
  br i1 %is_refused, label %refused, label %wrap

wrap:
  %object = call ptr @SyclEvent_Make(ptr %event)
  call void @DPCTLEvent_Delete(ptr %event)
  %is_made = icmp ne ptr %object, null
  br i1 %is_made, label %add, label %failed

add:
  %call.1 = getelementptr ptr, ptr %call, i64 1
  store ptr $DONE, ptr %call.1
  %call.2 = getelementptr ptr, ptr %call, i64 2
  store ptr %object, ptr %call.2
  %added = call ptr @PyObject_VectorcallMethod(ptr $ADD_EVENTS, ptr %call, i64 3, ptr null)
  %is_added = icmp ne ptr %added, null
  br i1 %is_added, label %remember, label %not_added

not_added:
  call void @Py_DecRef(ptr %object)
  br label %failed

remember:
  call void @Py_DecRef(ptr %added)
  call void @Py_IncRef(ptr %object)
  %set = call i32 @PyList_SetItem(ptr %cell, i64 0, ptr %object)
  ret ptr %object

failed:
  ret ptr null

refused:
  call void @Py_IncRef(ptr $NONE)
  ret ptr $NONE
}}
"""

_ENTRY_POINTS = """
; launch(plan, arguments, order, cell, more_events): the event, or None if the arguments are not the plan's, or the
; driver refuses.
define ptr @launch(ptr %self, ptr %args, i64 %count) {
  %number = load ptr, ptr %args
  %plan = call ptr @PyLong_AsVoidPtr(ptr %number)
  %given.at = getelementptr ptr, ptr %args, i64 1
  %given = load ptr, ptr %given.at
  %matches = call i1 @match_and_pack(ptr %plan, ptr %given)
  br i1 %matches, label %matched, label %differs

matched:
  %order.at = getelementptr ptr, ptr %args, i64 2
  %order = load ptr, ptr %order.at
  %cell.at = getelementptr ptr, ptr %args, i64 3
  %cell = load ptr, ptr %cell.at
  %more.at = getelementptr ptr, ptr %args, i64 4
  %more = load ptr, ptr %more.at
  %event = call ptr @submit(ptr %plan, ptr %order, ptr %cell, ptr %more)
  ret ptr %event

differs:
  call void @Py_IncRef(ptr $NONE)
  ret ptr $NONE
}

; pack(plan, arguments): whether the arguments are the plan's, in which case they are packed.
define ptr @pack(ptr %self, ptr %args, i64 %count) {
  %number = load ptr, ptr %args
  %plan = call ptr @PyLong_AsVoidPtr(ptr %number)
  %given.at = getelementptr ptr, ptr %args, i64 1
  %given = load ptr, ptr %given.at
  %matches = call i1 @match_and_pack(ptr %plan, ptr %given)
  %truth = zext i1 %matches to i64
  %object = call ptr @PyBool_FromLong(i64 %truth)
  ret ptr %object
}

; send(plan, order, cell, more_events): the event of a launch with what was packed, or None if the driver refuses.
define ptr @send(ptr %self, ptr %args, i64 %count) {
  %number = load ptr, ptr %args
  %plan = call ptr @PyLong_AsVoidPtr(ptr %number)
  %order.at = getelementptr ptr, ptr %args, i64 1
  %order = load ptr, ptr %order.at
  %cell.at = getelementptr ptr, ptr %args, i64 2
  %cell = load ptr, ptr %cell.at
  %more.at = getelementptr ptr, ptr %args, i64 3
  %more = load ptr, ptr %more.at
  %event = call ptr @submit(ptr %plan, ptr %order, ptr %cell, ptr %more)
  ret ptr %event
}
"""

_CODE = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" + _MATCH + _COLLECT + _SUBMIT + _ENTRY_POINTS
