"""LLVM IR of a launch: arguments compared with a plan, packed, and submitted; compiled in `submission`.

The functions have CPython's fast calling convention, ``PyObject *f(PyObject *self, PyObject *const *args, Py_ssize_t
nargs)``, are called with the GIL held, and hold it all along: two threads never pack into one plan, or go on with one
chain, at the same time.
"""

from __future__ import annotations

from kapi_runtime.sycl.native.order_code import MAX_EVENTS, ORDER_CODE
from kapi_runtime.sycl.native.packing_code import PACKING_CODE
from kapi_runtime.sycl.native.plan_layout import KEPT, LAST, PLAN_WORDS, load_word, word_offset

__all__ = ["submission_code"]


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


def _plan(name: str, type_: str = "i64") -> str:
    return load_word("plan", name, PLAN_WORDS, type_)


_SUBMIT = f"""
; Waits for what the chain says, and for `more_events`; becomes the chain's last launch, which keeps `owners`.
define internal ptr @submit(ptr %plan, ptr %chain, ptr %more_events, ptr %owners) {{
  %references = alloca [{MAX_EVENTS} x ptr]
  %keeps_alive = alloca ptr
  %some = call i64 @dependencies(ptr %chain, ptr %references, ptr %keeps_alive)
  %events = load ptr, ptr %keeps_alive
  %few = icmp ule i64 %some, {MAX_EVENTS}
  br i1 %few, label %collect_more, label %too_many

collect_more:
  %count = call i64 @collect(ptr %references, i64 %some, ptr %more_events, i64 0)
  %fit = icmp ule i64 %count, {MAX_EVENTS}
  br i1 %fit, label %submit_it, label %too_many

too_many:  ; or the question has failed
  call void @Py_DecRef(ptr %events)
  %is_failure = icmp slt i64 %some, 0
  br i1 %is_failure, label %failed, label %refused

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
  %global_range = getelementptr i8, ptr %plan, i64 {word_offset("global_range", PLAN_WORDS)}
  %local_range = getelementptr i8, ptr %plan, i64 {word_offset("local_range", PLAN_WORDS)}
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
  br i1 %is_made, label %go_on, label %leaked

go_on:
  call void @Py_IncRef(ptr %object)
  %set = call i32 @PyList_SetItem(ptr %chain, i64 {LAST}, ptr %object)
  %kept = call ptr @PyList_GetItem(ptr %chain, i64 {KEPT})
  %pair = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %object, ptr %owners)
  %is_pair = icmp ne ptr %pair, null
  br i1 %is_pair, label %keep, label %lost

keep:
  %failed_to = call i32 @PyList_Append(ptr %kept, ptr %pair)
  call void @Py_DecRef(ptr %pair)
  %is_kept = icmp eq i32 %failed_to, 0
  br i1 %is_kept, label %done, label %lost

done:
  ret ptr %object

lost:
  call void @Py_DecRef(ptr %object)
  br label %leaked

leaked:  ; there is no memory to remember the launch in: what it uses is never let go
  call void @Py_IncRef(ptr %owners)
  br label %failed

failed:
  ret ptr null

refused:
  call void @Py_IncRef(ptr $NONE)
  ret ptr $NONE
}}
"""


_EVENTS = f"""
; The host's event and the device's, of which this is the latter; takes the reference to it.
define internal ptr @events(ptr %plan, ptr %event) {{
{_plan("host_event", "ptr")}
{_plan("device_event_offset")}
{_plan("release", "ptr")}
{_plan("release_offset")}
{_plan("pace", "ptr")}
{_plan("pace_offset")}
  %is_event = icmp ne ptr %event, $NONE
  br i1 %is_event, label %make, label %none

none:
  ret ptr %event

make:
  %host = call ptr @PyType_GenericAlloc(ptr %host_event, i64 0)
  %is_made = icmp ne ptr %host, null
  br i1 %is_made, label %fill, label %failed

fill:
  call void @Py_IncRef(ptr %event)
  call void @Py_IncRef(ptr %release)
  call void @Py_IncRef(ptr %pace)
  %event.slot = getelementptr i8, ptr %host, i64 %device_event_offset
  store ptr %event, ptr %event.slot
  %release.slot = getelementptr i8, ptr %host, i64 %release_offset
  store ptr %release, ptr %release.slot
  %pace.slot = getelementptr i8, ptr %host, i64 %pace_offset
  store ptr %pace, ptr %pace.slot
  %pair = call ptr (i64, ...) @PyTuple_Pack(i64 2, ptr %host, ptr %event)
  call void @Py_DecRef(ptr %host)
  call void @Py_DecRef(ptr %event)
  ret ptr %pair

failed:
  call void @Py_DecRef(ptr %event)
  ret ptr null
}}
"""


def _arguments(*names: str) -> str:
    """IR that takes the arguments of an entry point apart; the first is the plan's address, an int."""
    lines = ["  %number = load ptr, ptr %args", "  %plan = call ptr @PyLong_AsVoidPtr(ptr %number)"]
    for position, name in enumerate(names, 1):
        lines += [f"  %{name}.at = getelementptr ptr, ptr %args, i64 {position}"]
        lines += [f"  %{name} = load ptr, ptr %{name}.at"]
    return "\n".join(lines)


_GO = """
  %is_collecting = call i32 @PyGC_Disable()
  %event = call ptr @submit(ptr %plan, ptr %chain, ptr %more, ptr %owners)
  call void @collect_again(i32 %is_collecting)
  %is_answer = icmp ne ptr %event, null
  br i1 %is_answer, label %answer, label %failed

answer:
  %events = call ptr @events(ptr %plan, ptr %event)
  ret ptr %events

failed:
  ret ptr null
"""

_ENTRY_POINTS = f"""
; launch(plan, arguments, owners, chain, more_events): host event and device event, or None if the arguments are not the
; plan's, or the driver refuses.
define ptr @launch(ptr %self, ptr %args, i64 %count) {{
{_arguments("given", "owners", "chain", "more")}
  %matches = call i1 @match_and_pack(ptr %plan, ptr %given)
  br i1 %matches, label %matched, label %differs

matched:{_GO}
differs:
  call void @Py_IncRef(ptr $NONE)
  ret ptr $NONE
}}

; pack(plan, arguments): whether the arguments are the plan's, in which case they are packed.
define ptr @pack(ptr %self, ptr %args, i64 %count) {{
{_arguments("given")}
  %matches = call i1 @match_and_pack(ptr %plan, ptr %given)
  %truth = zext i1 %matches to i64
  %object = call ptr @PyBool_FromLong(i64 %truth)
  ret ptr %object
}}

; send(plan, owners, chain, more_events): the events of a launch with what was packed, or None if the driver refuses.
define ptr @send(ptr %self, ptr %args, i64 %count) {{
{_arguments("owners", "chain", "more")}{_GO}}}
"""

_DECLARATIONS = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"

_CODE = _DECLARATIONS + PACKING_CODE + ORDER_CODE + _SUBMIT + _EVENTS + _ENTRY_POINTS
