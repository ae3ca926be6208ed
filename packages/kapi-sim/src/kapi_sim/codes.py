"""The table of problem codes: a row for each cause of an error, from which the documentation is printed.

The code of an error stays, so that programs, tests and searches can rely on it; the words of its message get better
from version to version.  A code says what was given, in two to four words, and names no class: one cause has one code
in the simulator, in the compiler and on a device.  Rows are added where a cause is new; none changes its meaning.
"""

from __future__ import annotations

__all__ = ["CODES", "FAMILIES"]

_CHECKS = {
    "argument-not-uniform": "work-items of one group gave a group algorithm different arguments",
    "data-race": "two work-items that nothing orders use one element, and one of them writes",
    "endless-loop": "a loop did not end within the turns that it is allowed",
    "fence-scopes-differ": "work-items of one group gave a barrier different fence scopes",
    "index-out-of-bounds": "an index is not below the extent of its axis",
    "loop-without-change": "a loop comes round to where it was, and nothing was written",
    "meeting-groups-differ": "some work-items gave the work-group, others the sub-group",
    "meeting-missed": "a part of the group did not come to a barrier or group algorithm",
    "meeting-words-differ": "work-items of one group called different group algorithms at once",
    "meetings-differ": "work-items of one group wait at different lines",
    "meetings-in-calls-differ": "work-items of one group wait in different calls of one function",
    "meetings-in-turns-differ": "work-items of one group wait in different turns of a loop",
    "negative-index": "an index is below 0, and kernels know no wrap-around",
    "no-such-work-item": "a group algorithm names a work-item that the group does not have",
    "read-before-write": "an element was read that nobody has written",
    "undefined-value": "a value was used that comes from a work-item that does not exist",
    "waits-for-other": "a loop waits for a work-item or work-group that may run only afterwards",
}

_ARRAYS = {
    "array-as-condition": "an array stands where a number or bool is needed",
    "array-attribute": "an attribute of NumPy's arrays is used that kernels lack",
    "array-dtype": "memory was asked for with a dtype that kernels do not have",
    "array-shape": "memory was asked for with a shape that is not one to six integers of at least 1",
    "dim-out-of-range": "a dimension was asked for that the launch does not have",
    "imaginary-part": "a complex number is stored in an array of real ones",
    "in-array": "`in` is used with an array",
    "index-type": "an index is no integer",
    "none-stored": "None is stored in an array",
    "private-memory-too-large": "the private arrays of a work-item have more bytes than a kernel may use",
    "too-many-indices": "an index has more components than the array has axes",
    "whole-array": "a whole array is used, or assigned, as one value",
}

_NUMBERS = {
    "integer-too-wide": "a Python integer needs more than 64 bits",
    "number-text": "a text that is no number is converted to one",
    "number-unfit": "a Python number does not fit the type that it meets",
}

_GROUPS_AND_ATOMICS = {
    "atomic-address-space": "the address space of an AtomicRef is not that of its array",
    "atomic-by-variable": "AtomicRef is called by way of a variable",
    "atomic-dtype": "the elements of an AtomicRef are of a type without atomics",
    "atomic-expected": "`expected` of compare_exchange is no array of one axis and of the element's type",
    "atomic-index": "the index of an AtomicRef does not name one element",
    "atomic-needs-integer": "an operation of an AtomicRef that integers alone have is used on others",
    "atomic-order": "an operation of an AtomicRef cannot have this memory order",
    "atomic-ref": "an AtomicRef is made of what is no array",
    "atomic-value": "the value of an atomic operation does not become the element's type",
    "barrier-in-comprehension": "a barrier stands in a comprehension",
    "barrier-in-lambda": "a barrier or group algorithm stands in a lambda",
    "foreign-group": "a barrier or group algorithm is given a group that is not the work-item's own",
    "group-integer": "an id, delta or mask of a group algorithm is no integer",
    "group-operator": "the operator of a reduction or scan is none of kapi's",
    "group-operator-type": "the operator of a reduction or scan does not take values of this type",
    "group-predicate": "the predicate of a group algorithm is no bool and no real number",
    "group-value": "the value given to a group algorithm is no number and no bool",
    "needs-nd-range": "a kernel with a barrier or group algorithm is launched over a Range",
    "no-enum-member": "a value is not a member of the enumeration that is asked for",
    "no-sub-group": "an algorithm of sub-groups is given another group",
    "outside-kernel": "a name of the kernel language is used outside of a kernel",
    "word-by-other-name": "a barrier or group algorithm is reached by a call that cannot be followed",
}

_LANGUAGE = {
    "attribute-unknown": "a value does not have an attribute, or kernels do not have it",
    "attribute-assigned": "a kernel assigns to an attribute",
    "call-arguments": "a function is called with arguments that it does not have in a kernel",
    "class-in-kernel": "a kernel defines a class",
    "comprehension": "a kernel has a comprehension",
    "computed-attribute": "a kernel takes a property or method of an object outside for a constant",
    "del-in-kernel": "a kernel uses del",
    "dict-in-kernel": "a kernel makes a dict",
    "dtype-as-text": "a dtype is given as a text in a kernel",
    "ellipsis": "a kernel uses `...`",
    "function-parameters": "a function that a kernel calls has * or ** parameters",
    "function-passed": "a kernel passes a function as an argument",
    "function-unknown": "a kernel calls a function that kernels do not have",
    "generator": "a kernel has a generator expression",
    "global-changed": "a kernel changes a global",
    "indexed-value": "what is indexed is no array and no tuple",
    "import-in-kernel": "a kernel imports",
    "kernel-in-kernel": "a kernel calls a kernel",
    "kernel-parameters": "a kernel has * or keyword-only parameters",
    "list-in-kernel": "a kernel makes a list",
    "local-accessor-made": "a kernel makes a LocalAccessor",
    "local-function-call": "a local function is called with *",
    "local-function-parameters": "a local function has * or keyword-only parameters",
    "match-pattern": "a pattern of `match` is no constant",
    "module-attribute": "a module does not have an attribute, or kernels do not have it",
    "name-undefined": "a name is not defined",
    "operator-operands": "an operator has operands for which NumPy does not have it",
    "operator-unknown": "a kernel uses an operator that kernels do not have",
    "outer-variable-changed": "a local function changes a variable of the function around it",
    "outside-array": "a kernel takes an array from outside, which must be an argument",
    "outside-collection": "a kernel takes a list, dict or set from outside",
    "outside-object": "a kernel takes an object from outside that is no constant",
    "outside-text": "a kernel takes a text from outside",
    "recursion": "a function calls itself",
    "return-value": "a kernel returns a value",
    "set-in-kernel": "a kernel makes a set",
    "shape-unknown": "the shape of a PrivateArray is not known when the kernel is compiled",
    "source-changed": "the source of a function is no longer that of which it was made",
    "source-missing": "the source of a function with a barrier cannot be had",
    "starred-name": "a kernel assigns to a starred name",
    "text-in-kernel": "a kernel makes a text",
    "try-in-kernel": "a kernel uses try",
    "type-in-kernel": "a kernel defines a type",
    "type-parameters": "a local function has type parameters",
    "work-item-as-value": "a work-item or group is used as a number or an array",
    "with-in-kernel": "a kernel uses with",
    "yield-or-await": "a kernel yields or awaits",
}

_DEFINITIONS = {
    "device-function-form": "what @device_func decorates is no plain function",
    "kernel-form": "what @kernel decorates is no plain function",
    "kernel-without-item": "a kernel has no parameter for the work-item",
    "option-bool": "an option that is True or False is given something else",
    "option-fastmath": "option fastmath is no bool and no set of its flags",
    "option-inline": "option inline is neither 'always' nor 'never'",
    "option-number": "an option that is a positive integer is given something else",
    "option-unknown": "a kernel or device function has no option of this name",
    "option-work-group-size": "option work_group_size is not one to three positive integers",
    "option-work-group-sizes": "option work_group_size has more work-items than max_work_group_size",
}

_LAUNCHES = {
    "argument-by-name": "an argument of a launch is given by name",
    "argument-count": "a kernel is launched with too few or too many arguments",
    "argument-unknown": "a bound launch has no argument of this name",
    "dependent-events": "dependent_events is no iterable of events",
    "index-space-unsuited": "a kernel for Range is launched over an NdRange, or the reverse",
    "kernel-called": "a kernel is called like a function",
    "launch-configuration": "`kernel[...]` is given something else than an index space or two sizes",
    "local-range-dimensions": "local and global range have different numbers of dimensions",
    "local-range-divides": "the local range does not divide the global range",
    "local-range-extent": "an extent of a local range is below 1",
    "no-index-space": "the index space of a launch is neither Range nor NdRange",
    "no-kernel": "what is launched is no kernel of this module",
    "range-dimensions": "a range has none, or more than three dimensions",
    "range-extent": "an extent of a range is no integer, or is negative",
    "range-too-large": "a range has more work-items than 64 bits count",
    "range-type": "what is to be a range is neither Range nor integers",
    "work-group-above-option": "a work-group has more work-items than the kernel's max_work_group_size",
    "work-group-size-in-range": "a kernel with a work_group_size is launched over a Range",
    "work-group-size-other": "a work-group is not of the kernel's work_group_size",
}

_ARGUMENTS = {
    "argument-array-class": "an argument is a matrix or a masked array",
    "argument-dtype": "an array has a dtype that kernels do not have",
    "argument-overlaps-itself": "an array that the kernel writes overlaps itself",
    "argument-read-only": "an array that the kernel writes is read-only",
    "argument-type": "an argument is of a type that kernels do not take",
    "copies-share-memory": "an array that the kernel writes shares memory with another one, and both are copied",
    "local-memory-in-range": "a LocalAccessor is given to a launch over a Range",
    "no-host-copy": "an array in device memory cannot copy itself to the host",
    "too-many-axes": "an array has more than six axes",
}

_DEVICES = {
    "local-memory-too-large": "a work-group needs more local memory than the device has",
    "needs-atomic64": "64-bit atomics are used on a device without them",
    "needs-fp16": "float16 is used on a device without it",
    "needs-fp64": "float64 is used on a device without it",
    "sub-group-size-unknown": "option sub_group_size is none that the device has",
    "work-group-too-large": "a work-group has more work-items than the device allows",
}

_SIMULATOR = {
    "checks-unknown": "`checks` of simulation() names none of the checks",
    "debug-item": "`item` of debug() is no global id",
    "debug-item-absent": "no launch in the block has the work-item of debug()",
    "picture-format": "a picture is to be written to a file of another format",
    "profile-incomplete": "properties of a device lack what a profile is made of",
    "profile-number": "a number of a profile is no positive integer",
    "profile-sub-groups": "a profile names no size of sub-groups",
    "profile-unknown": "`profile` of simulation() is none",
    "simulation-schedules": "`schedules` of simulation() is no positive integer",
    "simulation-seed": "`seed` of simulation() is no integer",
    "simulation-spin-limit": "`spin_limit` of simulation() is no positive integer",
    "trace-empty": "a trace is to be shown in which nothing was launched",
    "trace-limit": "`limit` of trace() is no positive integer",
    "unwritten-no-array": "`uninitialised` of simulation() names what is no array",
}

FAMILIES: dict[str, dict[str, str]] = {
    "What the checks find": _CHECKS,
    "Arrays and indices": _ARRAYS,
    "Numbers": _NUMBERS,
    "Groups, barriers and atomics": _GROUPS_AND_ATOMICS,
    "The kernel language": _LANGUAGE,
    "Kernels and their options": _DEFINITIONS,
    "Launches and index spaces": _LAUNCHES,
    "Arguments": _ARGUMENTS,
    "Devices": _DEVICES,
    "Settings of the simulator": _SIMULATOR,
}
"""The rows by subject, as the documentation lists them."""

CODES: dict[str, str] = {code: meaning for rows in FAMILIES.values() for code, meaning in rows.items()}
"""Each code with the cause that it stands for, in one line."""
