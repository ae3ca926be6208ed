"""`Target`: everything that a target must answer for kernels to be compiled for it.

A code generator is one subclass. What is lowered alike for every target asks it: which function answers a query of a
work-item, how a barrier is written, which atomics there are. The class is also a value: it is part of every cache key,
and it is imported where a compiled kernel is looked up. So it imports neither llvmlite nor Numba before it is asked
to write code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from llvmlite import ir

    from kapi_sim import MemoryOrder, MemoryScope
    from kapi_sim.language import KernelOptions

__all__ = [
    "SMALL_EXTENT",
    "AtomicUpdate",
    "Combination",
    "GroupKind",
    "LocalMemory",
    "ShuffleKind",
    "SubGroupQuery",
    "Target",
    "CombineMode",
    "WorkItemQuery",
]

SMALL_EXTENT = 2**31 - 2**16
"""Extents of small launches are below this: 31 bits hold them also when a launch is rounded up to whole work-groups."""

WorkItemQuery = Literal["global_id", "global_size", "local_id", "local_size", "group_id", "group_count"]
"""The queries of a work-item for one axis."""

SubGroupQuery = Literal["sub_group_id", "sub_group_count", "local_id", "size", "max_size"]
"""The queries of a work-item about its sub-group."""

GroupKind = Literal["work_group", "sub_group"]

AtomicUpdate = Literal[
    "exchange", "add", "sub", "mul", "inc_wrap", "uinc_wrap", "dec_wrap", "udec_wrap", "min", "max", "umin", "umax",
    "and", "or", "xor", "fadd", "fmul", "fmin", "fmax",
]  # fmt: skip
"""The operations of atomics on an element; those with `u` are of unsigned integers, those with `f` of floats."""

Combination = Literal[
    "add", "min", "umin", "max", "umax", "fadd", "fmin", "fmax", "mul", "fmul", "and", "or", "xor"
]  # fmt: skip
"""The operations of reductions and scans on two values; the same letters."""

ShuffleKind = Literal["down", "up", "xor", "from"]

CombineMode = Literal["reduce", "inclusive_scan", "exclusive_scan"]


@dataclass(frozen=True, slots=True)
class LocalMemory:
    """Local memory that a kernel takes as an argument.

    - `element`: what it holds.
    - `itemsize`: bytes of an element.
    - `count`: the number of elements, where the types of the arguments show it; None where only the launch knows.
    - `counted`: writes code that gives the number of elements, in 64 bits.
    """

    element: ir.Type
    itemsize: int
    count: int | None
    counted: Callable[[ir.IRBuilder], ir.Value]


class Target(ABC):
    """A code generator's target: the abilities of devices, and the code for each operation.

    A subclass is a frozen dataclass, equal to another where the same code serves both, with the abilities below as
    fields.

    Attributes
    ----------
    has_fp64, has_fp16 : bool
        Whether the devices compute in float64 and in float16.
    has_atomic64 : bool
        Whether they have atomics on 64-bit integers.
    sub_group_sizes : tuple of int
        Sizes that the sub-groups of a kernel can be made to have, in work-items; empty where they are not known.
    keeps_lines : bool
        Whether the back end writes the lines of the source into code; for the option `lineinfo`.
    """

    __slots__ = ()

    keeps_lines: ClassVar[bool] = False

    has_fp64: bool
    has_fp16: bool
    has_atomic64: bool
    sub_group_sizes: tuple[int, ...]

    # -- what every launch keeps

    @property
    def index_bits(self) -> int:
        """Bits of ids and extents as they are read: 64, or 31 of a target that `is_small`."""
        return 64

    is_small: bool = False
    """Whether every extent of a launch is below `SMALL_EXTENT`; launches with larger ones get another module."""

    reads_apart: bool = False
    """Whether no launch writes to memory of an array that its kernel only reads."""

    guards_range: ClassVar[bool] = True
    """Whether launches over a Range may be rounded up, so that work-items outside of it return at once."""

    def for_any_launch(self) -> Target:
        """Return the target that takes nothing of this kind for granted."""
        return self

    # -- the module

    name: ClassVar[str]
    """The name in messages, such as "SPIR-V"."""

    @property
    @abstractmethod
    def triple(self) -> str:
        """LLVM's name of the target."""

    @property
    @abstractmethod
    def data_layout(self) -> str:
        """LLVM's data layout: sizes and alignments as front end and back end agree on them."""

    code: ClassVar[str]
    """The sub-package that writes instructions, imported when the first is written.

    It has a function for each method below that takes a builder, or begins or finishes an entry point, with the
    method's name and parameters. A target overrides the methods whose code depends on its abilities.
    """

    @property
    def _instructions(self) -> Any:
        return import_module(self.code)

    emission: ClassVar[str]
    """The sub-package that the helper process loads: LLVM's options, repairs of IR, validation, and the back end.

    It may import llvmlite and itself, and when it needs a file, what finds it; `kapi_lowering.emission.server` says
    what it must define.
    """

    @abstractmethod
    def emission_request(self) -> dict[str, Any]:
        """Return the request to `emission` for this target, as JSON takes it."""

    @abstractmethod
    def is_sound(self, code: bytes) -> bool:
        """Whether emitted code can be used; if not, a new helper process emits it again."""

    @abstractmethod
    def floats_of(self, code: bytes) -> Collection[str]:
        """Return those of "float16" and "float64" that emitted code computes in."""

    constant_space: ClassVar[int]
    """LLVM's number of the address space that constants of a module are in."""

    # -- functions

    function_convention: ClassVar[str]
    """LLVM's name of the calling convention between functions; empty for the default."""

    function_attributes: ClassVar[tuple[str, ...]]
    """LLVM's attributes that each function has, besides those that say what it does."""

    def begin_entry(
        self, module: ir.Module, name: str, packed: ir.Type, local: Sequence[ir.Type]
    ) -> tuple[ir.Function, ir.Value]:
        """Declare the entry point of a kernel.

        Parameters
        ----------
        module : llvmlite.ir.Module
            Gets the function.
        name : str
            What a driver finds it by.
        packed : llvmlite.ir.Type
            The structure of all arguments, which is passed by value.
        local : sequence of llvmlite.ir.Type
            Pointers to local memory, whose size the launch decides.

        Returns
        -------
        function : llvmlite.ir.Function
            Without a block.
        packed : llvmlite.ir.Value
            Pointer to the structure.
        """
        written: tuple[ir.Function, ir.Value] = self._instructions.begin_entry(module, name, packed, local)
        return written

    def local_memory(self, builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
        """The pointers to the local memory that an entry point was given, at its start.

        Parameters
        ----------
        builder : llvmlite.ir.IRBuilder
            Where to write.
        wanted : sequence of LocalMemory
            All of it, in the order of the parameters.
        """
        written: Sequence[ir.Value] = self._instructions.local_memory(builder, wanted)
        return written

    def symbol(self, name: str) -> str:
        """Return the symbol of a kernel's entry point of this name, a Python identifier.

        PTX has the letters of ASCII only, and LLVM prints others in symbols as hexadecimal bytes.
        """
        return "".join(each if each.isascii() else f"_u{ord(each):x}" for each in name)

    def finish_entry(self, function: ir.Function, ndim: int, options: KernelOptions, is_linear: bool) -> None:
        """Add what the driver is to know of a finished entry point: fixed sizes of groups, metadata of the module.

        Parameters
        ----------
        function : llvmlite.ir.Function
            What `begin_entry` gave, with its code.
        ndim : int
            Dimensions of the index space.
        options : KernelOptions
            How it is compiled.
        is_linear : bool
            Whether work-groups are launched as linear ones.
        """
        self._instructions.finish_entry(function, ndim, options, is_linear)

    needs_linear_groups: ClassVar[bool]
    """Whether sub-groups follow linear ids in linear work-groups only.

    Work-groups of more dimensions, in kernels that use sub-groups, are then launched as linear ones.
    """

    def linear_groups(
        self, builder: ir.IRBuilder, local_size: Sequence[ir.Value], group_count: Sequence[ir.Value]
    ) -> None:
        """Say, at the start of an entry point, which extents linear work-groups stand for, the fastest axis first."""
        self._instructions.linear_groups(builder, local_size, group_count)

    # -- work-items

    def work_item_query(self, builder: ir.IRBuilder, query: WorkItemQuery, axis: ir.Value) -> ir.Value:
        """The answer in 64 bits; `axis`, of 32 bits, counts from the fastest one, and need not be constant."""
        return self._instructions.work_item_query(builder, query, axis)

    def sub_group_query(self, builder: ir.IRBuilder, query: SubGroupQuery) -> ir.Value:
        """The answer in 32 bits."""
        return self._instructions.sub_group_query(builder, query)

    # -- order

    def barrier(self, builder: ir.IRBuilder, group: GroupKind, order: MemoryOrder, scope: MemoryScope) -> None:
        """Wait for all work-items of the group, and order memory for `scope`."""
        self._instructions.barrier(builder, group, order, scope)

    def fence(self, builder: ir.IRBuilder, order: MemoryOrder, scope: MemoryScope) -> None:
        """Order memory; `order` is not RELAXED."""
        self._instructions.fence(builder, order, scope)

    # -- atomics, on elements of 32 and 64 bits

    has_narrow_atomics: ClassVar[bool] = False
    """Whether they also take integers of 8 and 16 bits; others are a part of a word of 32 bits."""

    def has_integer_atomic(self, update: AtomicUpdate, width: int) -> bool:
        """Whether there is one operation for integers of this width, in bits; others are made by compare-exchange."""
        is_wide = width >= 32 or self.has_narrow_atomics
        return is_wide and update not in ("mul", "inc_wrap", "uinc_wrap", "dec_wrap", "udec_wrap")

    @abstractmethod
    def has_float_atomic(self, update: AtomicUpdate, width: int) -> bool:
        """Whether there is one operation for floats of this width, in bits; others are made by compare-exchange.

        A product, `fmul`, always is.
        """

    def atomic_load(self, builder: ir.IRBuilder, pointer: ir.Value, order: MemoryOrder, scope: MemoryScope) -> ir.Value:
        """Read; `order` is RELAXED, ACQUIRE or SEQ_CST."""
        return self._instructions.atomic_load(builder, pointer, order, scope)

    def atomic_store(
        self, builder: ir.IRBuilder, pointer: ir.Value, value: ir.Value, order: MemoryOrder, scope: MemoryScope
    ) -> None:
        """Write an integer; `order` is RELAXED, RELEASE or SEQ_CST."""
        self._instructions.atomic_store(builder, pointer, value, order, scope)

    def atomic_update(
        self,
        builder: ir.IRBuilder,
        update: AtomicUpdate,
        pointer: ir.Value,
        value: ir.Value,
        order: MemoryOrder,
        scope: MemoryScope,
    ) -> ir.Value:
        """Read and write at once; returns what was read."""
        return self._instructions.atomic_update(builder, update, pointer, value, order, scope)

    def compare_exchange(
        self,
        builder: ir.IRBuilder,
        pointer: ir.Value,
        expected: ir.Value,
        desired: ir.Value,
        orders: tuple[MemoryOrder, MemoryOrder],
        scope: MemoryScope,
    ) -> ir.Value:
        """Write the integer `desired` where `expected` is read; returns what was read.

        `orders` are those of a success and of a failure.
        """
        return self._instructions.compare_exchange(builder, pointer, expected, desired, orders, scope)

    # -- groups; values are integers of 32 and 64 bits, or floats where an operation says so

    @property
    @abstractmethod
    def has_shuffles(self) -> bool:
        """Whether `shuffle` may be called; if not, values move by broadcasts."""

    def broadcast(
        self, builder: ir.IRBuilder, group: GroupKind, ndim: int, value: ir.Value, linear_id: ir.Value
    ) -> ir.Value:
        """The value of one work-item of the group, the same one for all.

        Parameters
        ----------
        builder : llvmlite.ir.IRBuilder
            Where to write.
        group : {"work_group", "sub_group"}
            Whose.
        ndim : int
            Dimensions of the group.
        value : llvmlite.ir.Value
            What each work-item has.
        linear_id : llvmlite.ir.Value
            The work-item's linear id in the group, in 64 bits.
        """
        return self._instructions.broadcast(builder, group, ndim, value, linear_id)

    def shuffle(self, builder: ir.IRBuilder, kind: ShuffleKind, value: ir.Value, operand: ir.Value) -> ir.Value:
        """The value of another work-item of the sub-group; `operand` is a distance, a mask or a lane, in 32 bits."""
        return self._instructions.shuffle(builder, kind, value, operand)

    @abstractmethod
    def has_combination(self, combination: Combination) -> bool:
        """Whether `combine` knows it; if not, it is made of broadcasts."""

    def combine(
        self, builder: ir.IRBuilder, group: GroupKind, mode: CombineMode, combination: Combination, value: ir.Value
    ) -> ir.Value:
        """Reduce or scan one value of each work-item."""
        return self._instructions.combine(builder, group, mode, combination, value)

    def vote(self, builder: ir.IRBuilder, group: GroupKind, kind: Literal["any", "all"], value: ir.Value) -> ir.Value:
        """Whether a bit is set for any or for all work-items."""
        return self._instructions.vote(builder, group, kind, value)

    # -- functions of numbers, and print

    def library_call(self, builder: ir.IRBuilder, name: str, result: ir.Type, args: Sequence[ir.Value]) -> ir.Value:
        """Call the function of mathematics that OpenCL C calls `name`, for floats of 32 or 64 bits.

        LLVM's intrinsics (``llvm.exp`` and the like) do not come here: passes fold them, and `emission` lowers what
        is left of them.
        """
        return self._instructions.library_call(builder, name, result, args)

    def text(self, builder: ir.IRBuilder, text: str) -> ir.Value:
        """A pointer to a constant text, for `print_formatted`."""
        return self._instructions.text(builder, text)

    def print_formatted(
        self, builder: ir.IRBuilder, format_: str, values: Sequence[ir.Value], codes: Sequence[str]
    ) -> None:
        """Print as C's `printf`; `codes` has for each value "text", "int64", "uint64", "float32" or "float64"."""
        self._instructions.print_formatted(builder, format_, values, codes)
