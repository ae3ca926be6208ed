"""Rows of the intrinsic table, and the names that they use for types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["PARAMETER_WORDS", "RESULT_WORDS", "VECTOR_LENGTHS", "Family", "Intrinsic", "Parameter"]

Parameter = tuple[str, str, "object | None"]
"""Name, type word, and default (`None`: the argument is required)."""

Family = Literal["index", "convergence", "memory", "group", "atomic", "bits", "random", "vector", "math"]
Kind = Literal["method", "property", "function"]

VECTOR_LENGTHS = (2, 3, 4, 8, 16)
"""The numbers of elements that vectors may have: SYCL's."""

PARAMETER_WORDS: dict[str, str] = {
    "dimension": "an integer from 0 to the index space's last dimension",
    "float": "a real number, strong or weak",
    "complex": "a number, real or complex, strong or weak",
    "scalar": "a number or bool, strong or weak: a weak one counts as int64, float64 or bool",
    "number": "a scalar that the operator of the same call takes (`OPERATORS`)",
    "predicate": "a bool; a number counts as true if it is not 0",
    "integer": "an integer, strong or weak",
    "bound": "an integer of a type whose numbers all fit int64, strong or weak",
    "bits": "an integer, strong or weak, whose type decides how many bits there are",
    "factor": "an integer; of two, both become the integers of NumPy's common type",
    "uniform integer": "an integer, strong or weak, the same for all work-items of the group",
    "operator": "one of `OPERATORS`, known when the kernel is compiled",
    "group": "a Group or a SubGroup",
    "SubGroup": "a SubGroup",
    "MemoryOrder": "a member of the enumeration, known when the kernel is compiled",
    "MemoryScope": "a member of the enumeration, known when the kernel is compiled",
    "AddressSpace": "a member of the enumeration, known when the kernel is compiled",
    "atomic array": "an array in global or local memory whose dtype is one of `ATOMIC_DTYPES`",
    "index": "an integer for an array of one axis, or a tuple of as many integers as there are axes",
    "element": "a scalar, converted to the dtype of the AtomicRef's array as storing it there would",
    "array of element": "an array in any memory, with one axis and the dtype of the AtomicRef's array",
    "shape": "an integer or a tuple of integers of at least 1, known when the kernel is compiled",
    "dtype": "a NumPy dtype or scalar type, or `x.dtype` of an array, known when the kernel is compiled",
    "float type": "numpy.float32 or numpy.float64, or such an array's `x.dtype`, known when the kernel is compiled",
    "constant bool": "True or False, known when the kernel is compiled",
    "elements": "2, 3, 4, 8 or 16 numbers or bools in all; a vector stands for its elements",
    "vector": "a vector; of two, both have as many elements",
    "array of vectors": "an array in any memory, whose last axis runs through the elements of each vector",
    "index of a vector": "an index of all axes but the last: an integer, or a tuple of as many integers as there are",
    "vector length": "2, 3, 4, 8 or 16, known when the kernel is compiled",
}
"""The requirement on an argument, by its word in the table."""

RESULT_WORDS: dict[str, str] = {
    "weak int": "a weak integer",
    "bool": "a bool",
    "none": "nothing",
    "argument": "the type of the argument `x`, weak if it is weak",
    "argument float": "the argument's float type; weak if it is weak, float64 for strong integers",
    "argument complex": "the complex type of the argument's floats; weak if it is weak",
    "argument float, weak int": "a tuple of the argument's float type and a weak integer",
    "argument float, argument float": "a tuple of two of the argument's float type",
    "NumPy's": "the type that NumPy's function returns, Python numbers alone being its default types",
    "product": "the common type of both factors, weak if both are",
    "float type": "the type that `dtype` names, strong",
    "four words": "a tuple of four uint32",
    "element": "the dtype of the AtomicRef's array",
    "Group": "the work-item's Group",
    "SubGroup": "the work-item's SubGroup",
    "AtomicRef": "a reference to one element, of the array's dtype, order, scope and space",
    "private array": "an array in private memory, of the shape and dtype given",
    "vector": "a vector whose elements have the one type that holds them all; weak if all are weak",
    "vector's": "what the operators and functions that it consists of give",
}
"""The description of a result, by its word in the table."""


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One name of the kernel language.

    Attributes
    ----------
    name : str
        As kernels spell it.
    family : str
        ``"index"``, ``"convergence"``, ``"memory"``, ``"group"``, ``"atomic"``, ``"bits"``, ``"random"``, ``"vector"``
        or ``"math"``.
    owner : str or None
        Class or module that it belongs to; `None` for kapi's own functions and classes.
    kind : str
        ``"method"``, ``"property"`` or ``"function"``; a class that kernels call is a function.
    parameters : tuple of (str, str, object)
        Name, word of `PARAMETER_WORDS` and default of each parameter; default `None` means required.
        A member of an enumeration is written as kernels write it: ``"MemoryScope.WORK_GROUP"``.
    returns : str
        Word of `RESULT_WORDS`.
    meaning : str
        One line.
    sycl : str
        Section of the SYCL 2020 specification.
    spirv : str
        Operation, or variable decorated as BuiltIn, that it becomes; ``"composed"`` of several where it is none.
    ulp : float or None
        Largest error for float32, in units in the last place; `None` where OpenCL names none.
    """

    name: str
    family: Family
    owner: str | None
    kind: Kind
    parameters: tuple[Parameter, ...]
    returns: str
    meaning: str
    sycl: str
    spirv: str
    ulp: float | None = None

    @property
    def key(self) -> str:
        """Unique name: ``owner.name``, or the name alone where there is no owner."""
        return f"{self.owner}.{self.name}" if self.owner else self.name
