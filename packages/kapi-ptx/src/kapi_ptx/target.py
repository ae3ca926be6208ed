"""PTX as a target: what a module is compiled for, and what its code is made of.

The code itself is written in `kapi_ptx.code`, which is imported when it is first asked for: a launch of a kernel that
was compiled before needs the value alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from kapi_lowering.target import AtomicUpdate, Combination, CombineMode, GroupKind, Target, WorkItemQuery
from kapi_sim import environment_variables

if TYPE_CHECKING:
    from llvmlite import ir


__all__ = ["ARCHITECTURES", "KAPI_DEFAULT_TARGET", "WARP_SIZE", "PtxTarget"]

ARCHITECTURES = {
    75: "6.3",
    80: "7.0",
    86: "7.1",
    87: "7.4",
    88: "9.0",
    89: "7.8",
    90: "7.8",
    100: "8.6",
    103: "8.8",
    110: "9.0",
    120: "8.7",
    121: "8.8",
}
"""Each architecture, by its number after ``sm_``, to the lowest PTX version that knows it."""

_VERSIONS = (
    *("6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8"),
    *("8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"),
)
"""The version that LLVM 22 writes; a driver takes those up to its own."""

_DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"

WARP_SIZE = 32
"""Work-items of a sub-group, but for the last one of a group, which has what is left."""

_FLOATS = {"float16": re.compile(r"\.f16\b"), "float64": re.compile(r"\.f64\b")}
_NOT_CODE = re.compile(r"//[^\n]*|\"[^\"\n]*\"")


@dataclass(frozen=True, slots=True)
class PtxTarget(Target):
    """The architecture that a module is compiled for, and the PTX version that it is written in.

    A device runs the PTX of its own architecture and of those before it, if its driver knows the version.

    Parameters
    ----------
    sm : int
        The architecture: 80 for ``sm_80``, the compute capability 8.0.
    version : str, optional
        PTX version, such as "7.0". Left out, the lowest that knows the architecture, which the most drivers take.
    has_fp64, has_fp16, has_atomic64 : bool
        Whether kernels may compute in float64 and in float16, and have atomics on 64-bit integers. Every device can:
        without one of them, a kernel that needs it is refused with the lines that brought it in.
    sub_group_sizes : tuple of int
        Sizes of sub-groups, in work-items: 32 on every device.
    is_small : bool
        Whether each launch keeps its index space and the extents of its arrays below 2**31 - 2**16, so that ids and
        extents are computed in 32 bits.
    reads_apart : bool
        Whether in each launch the arrays that the kernel only reads share no memory with those that it writes to.

    Raises
    ------
    ValueError
        If the architecture is none that LLVM knows, or the version none that knows the architecture.

    Examples
    --------
    >>> PtxTarget(80).version
    '7.0'
    >>> PtxTarget(90, "6.3")
    Traceback (most recent call last):
    ...
    ValueError: version must be one of 7.8, 8.0, 8.1, 8.2, 8.3, 8.4, 8.5, 8.6, 8.7, 8.8, 9.0 for sm_90, got '6.3'
    """

    sm: int = 75
    version: str = ""
    has_fp64: bool = True
    has_fp16: bool = True
    has_atomic64: bool = True
    sub_group_sizes: tuple[int, ...] = (WARP_SIZE,)
    is_small: bool = False
    reads_apart: bool = False
    keeps_lines: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if type(self.sm) is not int or self.sm not in ARCHITECTURES:
            known = ", ".join(map(str, ARCHITECTURES))
            raise ValueError(f"sm must be one of {known}, got {self.sm!r}: take the largest that the devices have")
        lowest = ARCHITECTURES[self.sm]
        if self.version == "":
            object.__setattr__(self, "version", lowest)
        known_versions = _VERSIONS[_VERSIONS.index(lowest) :]
        if self.version not in known_versions:
            raise ValueError(
                f"version must be one of {', '.join(known_versions)} for sm_{self.sm}, got {self.version!r}"
            )
        if self.sub_group_sizes != (WARP_SIZE,):
            raise ValueError(f"sub_group_sizes must be ({WARP_SIZE},) on every device, got {self.sub_group_sizes!r}")

    @property
    def has_redux(self) -> bool:
        """Whether the sub-groups of a device reduce integers of 32 bits in one instruction."""
        return self.sm >= 80

    # -- what every launch keeps

    @property
    def index_bits(self) -> int:
        return 31 if self.is_small else 64

    def for_any_launch(self) -> PtxTarget:
        return replace(self, is_small=False, reads_apart=False)

    # -- the module

    name = "PTX"
    triple = "nvptx64-nvidia-cuda"
    data_layout = _DATA_LAYOUT
    code = "kapi_ptx.code"
    emission = "kapi_ptx.emission"

    def emission_request(self) -> dict[str, Any]:
        request = {"sm": self.sm, "version": self.version, "reads_apart": self.reads_apart}
        request["is_coarsened"] = self.is_small and self.reads_apart
        return {**request, "cache": "" if environment_variables.CACHE.is_off else environment_variables.cache_folder()}

    def is_sound(self, code: bytes) -> bool:
        return True

    def floats_of(self, code: bytes) -> Collection[str]:
        instructions = _NOT_CODE.sub("", code.decode())
        return [name for name, pattern in _FLOATS.items() if pattern.search(instructions)]

    constant_space = 1  # PTX's own constant memory is read serially where work-items read different elements

    # -- functions

    function_convention = ""

    # Else LLVM may move what all work-items of a group must come to into a branch of some of them. It takes the
    # attribute off again where a function holds nothing of the kind.
    function_attributes = ("convergent",)

    needs_linear_groups = False

    def linear_groups(
        self, builder: ir.IRBuilder, local_size: Sequence[ir.Value], group_count: Sequence[ir.Value]
    ) -> None:
        """Nothing: sub-groups follow linear ids in every work-group."""

    # -- work-items

    def work_item_query(self, builder: ir.IRBuilder, query: WorkItemQuery, axis: ir.Value) -> ir.Value:
        from kapi_ptx.code import work_items

        return work_items.work_item_query(builder, query, axis, self.is_small)

    # -- atomics

    def has_integer_atomic(self, update: AtomicUpdate, width: int) -> bool:
        is_wrapping = update in ("uinc_wrap", "udec_wrap") and width == 32
        return is_wrapping or Target.has_integer_atomic(self, update, width)

    def has_float_atomic(self, update: AtomicUpdate, width: int) -> bool:
        return update == "fadd" and width in (32, 64)

    # -- groups

    has_shuffles = True

    def has_combination(self, combination: Combination) -> bool:
        return True

    def combine(
        self, builder: ir.IRBuilder, group: GroupKind, mode: CombineMode, combination: Combination, value: ir.Value
    ) -> ir.Value:
        from kapi_ptx.code import group_operations

        return group_operations.combine(builder, group, mode, combination, value, self.has_redux)


KAPI_DEFAULT_TARGET = PtxTarget()
"""The default target: sm_75 in PTX 6.3, which every supported device and driver takes."""
