"""SPIR-V as a target: what a module is compiled for, and what its code is made of.

The code itself is written in `kapi_spirv.code`, which is imported when it is first asked for: a launch of a kernel that
was compiled before needs the value alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kapi_lowering.target import AtomicUpdate, Combination, LocalMemory, Target
from kapi_spirv import contraction
from kapi_spirv.binary_reader import read_header
from kapi_spirv.duplicate_ids import has_duplicate_ids

if TYPE_CHECKING:
    from llvmlite import ir


__all__ = ["KAPI_DEFAULT_TARGET", "SpirvTarget"]

_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")
_FLOAT_WIDTHS = (16, 32, 64)
ALIASING = "SPV_INTEL_memory_access_aliasing"
"""The extension by which a module says that accesses do not alias."""

_DATA_LAYOUT = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1"


@dataclass(frozen=True, slots=True)
class SpirvTarget(Target):
    """The SPIR-V dialect and the abilities of the devices that a module may need.

    Parameters
    ----------
    version : str
        SPIR-V version, "1.0" to "1.6".
    extensions : tuple of str
        SPIR-V extensions that the module may use, such as "SPV_KHR_expect_assume"; those of the float atomics below
        need not be named.
    has_fp64, has_fp16 : bool
        Whether the devices compute in float64 and in float16; a kernel that needs what they lack is refused, with the
        lines that brought it in.
    has_atomic64 : bool
        Whether they have atomics on 64-bit integers.
    float_atomic_add : tuple of int
        Widths of the floats, in bits, whose atomic addition they have; the others are done by compare-exchange.
    float_atomic_min_max : tuple of int
        The same for atomic minimum and maximum.
    sub_group_sizes : tuple of int
        Sizes that the sub-groups of a kernel can be made to have, in work-items; empty where they are not known.
    is_small : bool
        Whether all extents of each launch, of the index space and of arrays, are below 2**31 - 2**16.
    reads_apart : bool
        Whether in each launch the arrays that the kernel only reads share no memory with those that it writes to. With
        the extension "SPV_INTEL_memory_access_aliasing" the driver is told, too.

    Raises
    ------
    ValueError
        If the version is none that exists, an extension's name is not one, or a width or size cannot be.

    Examples
    --------
    >>> SpirvTarget().version
    '1.2'
    >>> SpirvTarget(float_atomic_add=(32, 64)).all_extensions
    ('SPV_EXT_shader_atomic_float_add',)
    >>> SpirvTarget(version="7.0")
    Traceback (most recent call last):
    ...
    ValueError: version must be one of 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, got '7.0'
    """

    version: str = "1.2"
    extensions: tuple[str, ...] = ()
    has_fp64: bool = True
    has_fp16: bool = True
    has_atomic64: bool = True
    float_atomic_add: tuple[int, ...] = ()
    float_atomic_min_max: tuple[int, ...] = ()
    sub_group_sizes: tuple[int, ...] = ()
    is_small: bool = False
    reads_apart: bool = False

    def __post_init__(self) -> None:
        if self.version not in _VERSIONS:
            raise ValueError(f"version must be one of {', '.join(_VERSIONS)}, got {self.version!r}")
        for extension in self.extensions:
            is_text = isinstance(extension, str)
            if not is_text or not extension.startswith("SPV_") or not extension.replace("_", "").isalnum():
                raise ValueError(f"extension must be the name of a SPIR-V extension (SPV_...), got {extension!r}")
        for name in ("float_atomic_add", "float_atomic_min_max"):
            object.__setattr__(self, name, _widths(name, getattr(self, name)))
        if any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in self.sub_group_sizes):
            raise ValueError(f"sub_group_sizes must be integers of at least 1, got {self.sub_group_sizes!r}")

    @property
    def triple(self) -> str:
        """LLVM's name of the target."""
        return f"spirv64v{self.version}-unknown-unknown"

    @property
    def all_extensions(self) -> tuple[str, ...]:
        """The extensions by name, and those that the float atomics need."""
        needed = []
        if self.float_atomic_add:
            needed.append("SPV_EXT_shader_atomic_float_add")
        if 16 in self.float_atomic_add:
            needed.append("SPV_EXT_shader_atomic_float16_add")
        if self.float_atomic_min_max:
            needed.append("SPV_EXT_shader_atomic_float_min_max")
        return tuple(dict.fromkeys((*self.extensions, *needed)))

    # -- what every launch keeps

    def for_any_launch(self) -> SpirvTarget:
        return replace(self, is_small=False, reads_apart=False)

    # -- the module

    name = "SPIR-V"
    data_layout = _DATA_LAYOUT
    code = "kapi_spirv.code"
    emission = "kapi_spirv.emission"

    def emission_request(self) -> dict[str, Any]:
        # LLVM says aloud that it does not know this one, whose words `contraction` writes when LLVM is done.
        extensions = [name for name in self.all_extensions if name != contraction.EXTENSION]
        return {"extensions": extensions, "is_small": self.is_small, "reads_apart": self.reads_apart}

    def is_sound(self, code: bytes) -> bool:
        return not has_duplicate_ids(code)

    def floats_of(self, code: bytes) -> Collection[str]:
        return [each.lower() for each in read_header(code).capabilities if each in ("Float16", "Float64")]

    constant_space = 2

    # -- functions

    function_convention = "spir_func"
    function_attributes = ()

    def local_memory(self, builder: ir.IRBuilder, wanted: Sequence[LocalMemory]) -> Sequence[ir.Value]:
        return builder.function.args[1:]  # type: ignore[no-any-return]  # the launch gives each as an argument

    needs_linear_groups = True

    # -- atomics

    def has_float_atomic(self, update: AtomicUpdate, width: int) -> bool:
        return width in (self.float_atomic_add if update == "fadd" else self.float_atomic_min_max)

    # -- groups

    @property
    def has_shuffles(self) -> bool:
        return self.version >= "1.3"

    def has_combination(self, combination: Combination) -> bool:
        from kapi_spirv.code import group_operations

        return combination in group_operations.COMBINATIONS or group_operations.EXTENSION in self.all_extensions


def _widths(name: str, given: Iterable[int]) -> tuple[int, ...]:
    widths = tuple(sorted(set(given)))
    if not set(widths) <= set(_FLOAT_WIDTHS):
        raise ValueError(f"{name} must be some of 16, 32 and 64, got {given!r}")
    return widths


KAPI_DEFAULT_TARGET = SpirvTarget()
"""The default target: SPIR-V 1.2 without extensions, for devices with fp64 and fp16."""
