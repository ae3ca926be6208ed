"""LLVM IR that orders a launch with all other work on its queue, by the queue's chain (see `chain`)."""

from __future__ import annotations

from kapi_runtime.sycl.native.plan_layout import HANDED_OVER, KEEPER, LAST, REFERENCE, load_at

__all__ = ["MAX_EVENTS", "ORDER_CODE"]

MAX_EVENTS = 1024
"""Most events that one launch can wait for here."""

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
{load_at("reference", "event", REFERENCE)}
  %position = add i64 %count, %index
  %slot = getelementptr ptr, ptr %references, i64 %position
  store ptr %reference, ptr %slot
  br label %next

end:
  ret i64 %sum
}}

; Where the event of the last launch stands in a list of events, or 0: that launch waited for all before it.
define internal i64 @first_that_counts(ptr %events, ptr %last) {{
{load_at("last_reference", "last", REFERENCE)}
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
{load_at("reference", "event", REFERENCE)}
  %identity = load ptr, ptr %reference
  %is_last = icmp eq ptr %identity, %last_identity
  br i1 %is_last, label %found, label %next

found:
  ret i64 %before

none:
  ret i64 0
}}
"""

_DEPENDENCIES = f"""
; What a launch must wait for: how many references were stored, or -1 after an exception. The events live as long as the
; list that is stored in `keeps_alive`, if there is one.
;
; The last launch of the chain waited for all before it. If dpctl does not know of it, nobody has added anything since.
define internal i64 @dependencies(ptr %chain, ptr %references, ptr %keeps_alive) {{
  %call = alloca ptr
  store ptr null, ptr %keeps_alive
  %last = call ptr @PyList_GetItem(ptr %chain, i64 {LAST})
  %handed_over = call ptr @PyList_GetItem(ptr %chain, i64 {HANDED_OVER})
  %is_known = icmp eq ptr %last, %handed_over
  br i1 %is_known, label %ask, label %chained

chained:
{load_at("reference", "last", REFERENCE)}
  store ptr %reference, ptr %references
  ret i64 1

ask:
  %keeper = call ptr @PyList_GetItem(ptr %chain, i64 {KEEPER})
  store ptr %keeper, ptr %call
  %events = call ptr @PyObject_VectorcallMethod(ptr $GET_EVENTS, ptr %call, i64 1, ptr null)
  %is_answer = icmp ne ptr %events, null
  br i1 %is_answer, label %answer, label %failed

answer:
  store ptr %events, ptr %keeps_alive
  %start = call i64 @first_that_counts(ptr %events, ptr %last)
  %count = call i64 @collect(ptr %references, i64 0, ptr %events, i64 %start)
  ret i64 %count

failed:
  ret i64 -1
}}
"""

_HAND_OVER = f"""
; hand_over(chain): tells dpctl of the chain's last launch, if it does not know of it.
define ptr @hand_over(ptr %self, ptr %args, i64 %count) {{
  %call = alloca [3 x ptr]
  %chain = load ptr, ptr %args
  %last = call ptr @PyList_GetItem(ptr %chain, i64 {LAST})
  %handed_over = call ptr @PyList_GetItem(ptr %chain, i64 {HANDED_OVER})
  %is_known = icmp eq ptr %last, %handed_over
  br i1 %is_known, label %end, label %add

add:
  %keeper = call ptr @PyList_GetItem(ptr %chain, i64 {KEEPER})
  store ptr %keeper, ptr %call
  %call.1 = getelementptr ptr, ptr %call, i64 1
  store ptr $DONE, ptr %call.1
  %call.2 = getelementptr ptr, ptr %call, i64 2
  store ptr %last, ptr %call.2
  %is_collecting = call i32 @PyGC_Disable()
  %added = call ptr @PyObject_VectorcallMethod(ptr $ADD_EVENTS, ptr %call, i64 3, ptr null)
  call void @collect_again(i32 %is_collecting)
  %is_added = icmp ne ptr %added, null
  br i1 %is_added, label %remember, label %failed

remember:
  call void @Py_DecRef(ptr %added)
  call void @Py_IncRef(ptr %last)
  %set = call i32 @PyList_SetItem(ptr %chain, i64 {HANDED_OVER}, ptr %last)
  br label %end

end:
  call void @Py_IncRef(ptr $NONE)
  ret ptr $NONE

failed:
  ret ptr null
}}

; Turns the garbage collector on, if it was. While a chain is read and changed it is off: what it destroys may run
; Python, and so let another thread launch in between.
define internal void @collect_again(i32 %was_collecting) {{
  %was_on = icmp ne i32 %was_collecting, 0
  br i1 %was_on, label %on, label %end

on:
  %before = call i32 @PyGC_Enable()
  br label %end

end:
  ret void
}}
"""

ORDER_CODE = _COLLECT + _DEPENDENCIES + _HAND_OVER
