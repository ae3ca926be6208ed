"""What a plan looks like in memory, said once for the Python that fills it in and the native code that reads it."""

from __future__ import annotations

__all__ = [
    "ARGUMENT_WORDS",
    "ARRAY",
    "BOOL",
    "FLOAT",
    "HANDED_OVER",
    "INT",
    "KEEPER",
    "KEPT",
    "LAST",
    "NUMBER",
    "OTHER",
    "PAIR_WORDS",
    "PLAN_WORDS",
    "REFERENCE",
    "TUPLE",
    "WRAPPED_ARRAY",
    "load_at",
    "load_word",
    "word_offset",
]

PLAN_WORDS = (
    "given_count",  # how many arguments
    "arguments",  # how many rows the table has
    "table",  # address of the words of each
    "objects",  # room for the address of each row's object, behind that of the arguments themselves
    "ranges",  # room for the first address of each row's memory, and the one behind its last
    "pairs",  # how many pairs of arrays may not overlap
    "pair_table",  # address of the words of each
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
    "host_event",  # the class of what the host waits for
    "device_event_offset",  # of its slots, in bytes
    "release",  # the object in the slot
    "release_offset",
    "pace",  # the object in the slot
    "pace_offset",
)
"""Words, of 64 bits, that describe a plan."""

ARGUMENT_WORDS = (
    "parent",  # 0 for an argument; for a member of a tuple, one more than the tuple's row
    "position",  # among the arguments, or the members
    "kind",
    "type",  # the Python type of the argument, which must be this very one
    "inner_type",  # that of the array in it
    "element",  # number of the element type of an array; bytes of a number; members of a tuple
    "element_size",  # of an array, in bytes
    "rank",
    "flags_mask",
    "flags",
    "offset",  # in the packed argument, in bytes
    "strides_offset",  # in the packed argument, in bytes; negative where strides are not passed
)
"""Words that describe an argument, or a member of one that is a tuple: a row."""

PAIR_WORDS = (
    "first",  # row
    "second",  # row
    "words",  # how many words of the packed argument are pointer and shape
    "strides",  # how many are strides
    "may_be_one",  # whether they may be one view: elements of one size, in one order
)
"""Words that describe two arrays, of which the kernel writes one: they must be one view, or apart."""

ARRAY, WRAPPED_ARRAY, INT, FLOAT, BOOL, NUMBER, OTHER, TUPLE = range(8)
"""Kinds of rows: dpnp's inner array, the array around it, Python's numbers, NumPy's, what is not packed, and tuples."""

LAST, HANDED_OVER, KEEPER, KEPT = range(4)
"""Places in a chain, which is a list: see `chain`."""

REFERENCE = 16
"""Offset of dpctl's reference in a queue or an event."""


def word_offset(name: str, words: tuple[str, ...]) -> int:
    """Bytes before a word."""
    return 8 * words.index(name)


def load_at(result: str, base: str, offset: int, type_: str = "ptr") -> str:
    """IR that loads what is `offset` bytes behind a pointer."""
    return f"  %{result}.at = getelementptr i8, ptr %{base}, i64 {offset}\n  %{result} = load {type_}, ptr %{result}.at"


def load_word(base: str, name: str, words: tuple[str, ...], type_: str = "i64") -> str:
    """IR that loads a word of that name."""
    return load_at(name, base, word_offset(name, words), type_)
