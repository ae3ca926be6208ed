"""Signatures as text: from ``"item1, float32, float32[:]"`` to the types that a kernel is compiled for."""

from __future__ import annotations

from kapi_sim import AddressSpace
from kapi_sim.language.launchables.signature_parser import ParameterType, parameter_types
from kapi_types._numba_compat import from_dtype, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import ConstantType, ItemType, NdItemType
from kapi_types.weak import weak_bool, weak_complex, weak_float, weak_int

__all__ = ["parse_signature"]

_WEAK = {str(each): each for each in (weak_bool, weak_int, weak_float, weak_complex)}


def parse_signature(signature: str) -> tuple[types.Type, ...]:
    """Return the types that a text lists, one for each parameter of a kernel.

    Parameters
    ----------
    signature : str
        As `kapi_sim.language.launchables.signature_parser.parameter_types` takes it.

    Returns
    -------
    tuple of numba.types.Type

    Raises
    ------
    KernelCompilationError
        If a part of the text is no type that kernels have.

    Examples
    --------
    >>> parse_signature("item1, float32, float32[:], local int32[16]")
    (Item(1d), float32, array(float32, 1d, C), local_array(int32, 16, C))
    """
    return tuple(map(_type_of, parameter_types(signature)))


def _type_of(parsed: ParameterType) -> types.Type:
    if parsed.kind == "item":
        return ItemType(parsed.ndim)
    if parsed.kind == "nd_item":
        return NdItemType(parsed.ndim)
    if parsed.kind == "weak":
        return _WEAK[parsed.text]
    if parsed.kind == "tuple":
        return types.Tuple(tuple(map(_type_of, parsed.members)))
    if parsed.kind == "none":
        return ConstantType(None)
    element = from_dtype(parsed.dtype)
    if parsed.kind == "scalar":
        return element
    is_local = parsed.kind == "local"
    return ArrayType(
        element,
        parsed.ndim,
        parsed.layout,
        readonly=parsed.is_readonly,
        address_space=AddressSpace.LOCAL if is_local else AddressSpace.GLOBAL,
        extents=parsed.extents,
    )
