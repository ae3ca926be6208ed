"""The kernel typing context: what each value, name and operation means in a kernel."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from kapi_sim import AddressSpace
from kapi_sim.language.attributes import MISSING, attribute_of
from kapi_sim.language.intrinsics.records import is_element_dtype
from kapi_sim.language.outside_values import describe_value, is_constant_array, is_constant_record, is_kernel_value
from kapi_types._numba_compat import (
    GPU,
    TypingContext,
    errors,
    from_dtype,
    target_override,
    target_registry,
    templates,
    types,
)
from kapi_types.arrays import ArrayType
from kapi_types.kernel_api import ConstantType, EnumerationType, tuple_of
from kapi_types.kernel_typing.calls import atomics, intrinsic_calls, random_numbers
from kapi_types.kernel_typing.calls import index_space_queries as language
from kapi_types.kernel_typing.calls import vectors as vector_functions
from kapi_types.kernel_typing.calls.device_functions import DeviceFunctionType, is_of_library, python_function
from kapi_types.kernel_typing.calls.prints import PRINT, PrintType, Text
from kapi_types.kernel_typing.descriptions import describe_call, describe_missing_attribute, is_consequence
from kapi_types.kernel_typing.library.number_functions import divmod_
from kapi_types.kernel_typing.problems.problems import CONSEQUENCE, KernelTypeProblem, NoKernelValueError
from kapi_types.kernel_typing.rules import (
    arrays,
    conversions,
    enumerations,
    iteration,
    operators,
    records,
    tuples,
    vectors,
)
from kapi_types.kernel_typing.rules.enumerations import member_type
from kapi_types.kernel_typing.rules.functions import table_function
from kapi_types.kernel_typing.rules.iteration import RangeType
from kapi_types.kernel_typing.rules.numba_integers import declares_numba_integers, numba_unified
from kapi_types.kernel_typing.rules.promotion import is_scalar, unify_scalars
from kapi_types.kernel_typing.rules.records import FieldName, assigned_field
from kapi_types.kernel_typing.rules.tuples import NamedTupleClassType
from kapi_types.kernel_typing.rules.unification import unify_types
from kapi_types.records import RecordRefType
from kapi_types.weak import weak_bool, weak_complex, weak_float, weak_int, wide_int

__all__ = ["TARGET_NAME", "DeviceFunctionCompiler", "KernelTypingContext"]

TARGET_NAME = "kapi_kernel"
"""The name under which Numba's registries know kernel code."""

DeviceFunctionCompiler = Callable[[FunctionType, "tuple[types.Type, ...]"], types.Type]
"""Compiles a function for argument types and returns its return type; a back end provides it."""


class _KernelTarget(GPU):
    """Kernel code, whatever generates machine code from it."""


target_registry[TARGET_NAME] = _KernelTarget


class KernelTypingContext(TypingContext):
    """Numba's type inference, over weak and strong types and the kernel language only.

    None of Numba's own declarations of operators or functions are loaded, for they widen where NumPy does not.
    """

    def __init__(self) -> None:
        with target_override(TARGET_NAME):
            super().__init__()
            self._load_builtins()
        self._device_functions: dict[tuple[FunctionType, tuple[types.Type, ...]], types.Type] = {}
        self._running: list[FunctionType] = []
        self._has_numba_integers = False
        self._compile_device_function: DeviceFunctionCompiler | None = None

    def _load_builtins(self) -> None:
        modules = (
            operators, conversions, arrays, records, tuples, enumerations, iteration, language, intrinsic_calls,
            atomics, random_numbers, vectors, vector_functions,
        )  # fmt: skip
        for module in modules:
            self.install_registry(module.registry)

    @contextmanager
    def compiling(
        self, device_function_compiler: DeviceFunctionCompiler, root: FunctionType | None = None
    ) -> Iterator[None]:
        """Compile one kernel, `root`: device functions called in it are compiled by `device_function_compiler`."""
        self._has_numba_integers = root is not None and declares_numba_integers(root)
        self._device_functions = {}
        self._compile_device_function = device_function_compiler
        try:
            with target_override(TARGET_NAME):
                yield
        finally:
            self._has_numba_integers = False
            self._device_functions = {}
            self._compile_device_function = None

    @property
    def has_numba_integers(self) -> bool:
        """Whether integers of the function at hand have Numba's types; the library's own functions have NumPy's."""
        return self._has_numba_integers and not (self._running and is_of_library(self._running[-1]))

    def unify_numbers(self, first: types.Type, second: types.Type) -> types.Type | None:
        """The one type of a variable that is assigned two scalars; None if no type holds both."""
        return numba_unified(first, second) if self.has_numba_integers else unify_scalars(first, second)

    def type_device_function(self, function: FunctionType, args: tuple[types.Type, ...]) -> types.Type:
        """The type that `function` returns for these argument types, compiling it if it is new."""
        if self._compile_device_function is None:
            raise KernelTypeProblem(
                "outside-kernel", f"{function.__name__}() is called outside of a kernel's compilation"
            )
        key = (function, args)
        if function in self._running or self.callstack.match(function, args) is not None:
            first = self._running.index(function) if function in self._running else len(self._running)
            between = [each.__name__ for each in self._running[first + 1 :]]
            calls = (
                ", which calls ".join(f"{name}()" for name in (*between, function.__name__)) if between else "itself"
            )
            raise KernelTypeProblem(
                "recursion", f"{function.__name__}() calls {calls}, and kernels have no recursion: write a loop"
            )
        if key not in self._device_functions:
            self._running.append(function)
            try:
                self._device_functions[key] = self._compile_device_function(function, args)
            finally:
                self._running.pop()
        return self._device_functions[key]

    def resolve_value_type(self, val: Any) -> types.Type:
        """The type of a constant, global or closure value in a kernel.

        Raises
        ------
        ValueError
            If kernels have no such values.
        """
        if callable(val) and isinstance(val, Hashable):
            val = _SAME_AS.get(val, val)
        known = self._lookup_global(val)
        if known is not None:
            return known
        if val is None:
            return types.none
        of_table = table_function(val)
        if of_table is not None:
            return of_table
        if isinstance(val, (ConstantType, ArrayType)):
            return val
        if val is PRINT:
            return PrintType()
        if isinstance(val, (Text, FieldName)):
            return ConstantType(val)
        if type(val) is int and val > _WEAK_INT_MAX:
            return wide_int  # a weak int would be negative
        if type(val) in _WEAK_OF:
            return _WEAK_OF[type(val)]
        if is_constant_array(val):
            return ArrayType(from_dtype(val.dtype), val.ndim, "C", readonly=True, address_space=AddressSpace.PRIVATE)
        if is_constant_record(val):
            return from_dtype(val.dtype)
        if isinstance(val, np.dtype) and is_element_dtype(val):
            return types.DType(from_dtype(val))
        if isinstance(val, tuple):
            return tuple_of(val, tuple(self.resolve_value_type(each) for each in val))
        if isinstance(val, enum.Enum):
            return member_type(val)
        if isinstance(val, type) and issubclass(val, enum.Enum):
            return EnumerationType(val)
        if isinstance(val, type) and issubclass(val, tuple) and hasattr(val, "_fields"):
            return NamedTupleClassType(val)
        if isinstance(val, ModuleType):
            return types.Module(val)
        if type(val) is range and all(-(2**63) <= each < 2**63 for each in (val.start, val.stop, val.step)):
            return RangeType()
        function = python_function(val)
        if function is not None and is_kernel_value(function):
            return DeviceFunctionType(function)
        if isinstance(val, tuple(_WEAK_OF)) and not isinstance(val, np.generic):
            raise NoKernelValueError(describe_value(val))  # of a class of the user's, which NumPy knows nothing of
        try:
            resolved = super().resolve_value_type(val)
        except ValueError:
            raise NoKernelValueError(describe_value(val)) from None
        if is_scalar(resolved) or isinstance(resolved, (types.NumberClass, types.DType)):
            return resolved
        raise NoKernelValueError(describe_value(val))

    def resolve_function_type(self, func: Any, args: tuple[Any, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call; a `KernelTypeProblem` in the author's words if there is none."""
        if is_consequence(func, *args, *dict(kws).values()):
            raise KernelTypeProblem(*CONSEQUENCE)
        try:
            signature = super().resolve_function_type(func, args, kws)
        except errors.TypingError as error:
            problem = _kernel_problem(error)
            if problem is not None:
                raise problem from None
            signature = None
        if signature is None and func != "static_getitem":
            raise KernelTypeProblem(*describe_call(func, args, dict(kws)))
        return signature

    def resolve_setitem(self, target: types.Type, index: types.Type, value: types.Type) -> Any:
        """The signature of `target[index] = value`."""
        if isinstance(value, ConstantType) and isinstance(value.value, int):
            value = weak_int  # a member of one of the language's own enumerations
        return self.resolve_function_type(_SETITEM, (target, index, value), {})

    def resolve_static_setitem(self, target: types.Type, index: Any, value: types.Type) -> Any:
        """The signature of an assignment to a field by its name; None of others, which are typed as any index is."""
        if isinstance(index, str) and isinstance(target, (RecordRefType, types.Record)):
            return templates.signature(types.none, target, types.literal(index), assigned_field(target, index, value))
        return None

    def resolve_setattr(self, target: types.Type, attr: str, value: types.Type) -> Any:
        """The signature of `target.attr = value`, of a field."""
        return templates.signature(types.none, target, assigned_field(target, attr, value))

    def resolve_getattr(self, typ: types.Type, attr: str) -> types.Type | None:
        """The type of `typ.attr`; a `KernelTypeProblem` if there is no such attribute."""
        if is_consequence(typ):
            raise KernelTypeProblem(*CONSEQUENCE)
        try:
            found = super().resolve_getattr(typ, attr)
        except AttributeError:
            found = None
        if found is None and attr != "__call__":
            raise KernelTypeProblem(*describe_missing_attribute(typ, attr))
        return found

    def resolve_module_constants(self, typ: types.Module, attr: str) -> types.Type | None:
        """The type of a module's attribute, None where kernels have no such value."""
        value = attribute_of(typ.pymod, attr)
        if value is MISSING:
            return None  # and what is said of it is said where all attributes are looked up
        try:
            return self.resolve_value_type(value)
        except NoKernelValueError as error:
            raise KernelTypeProblem(error.finding.code, f"{typ.pymod.__name__}.{attr} {error}") from None

    def unify_pairs(self, first: types.Type, second: types.Type) -> types.Type:
        """The one type of a variable assigned values of both types; a `KernelTypeProblem` if there is none."""
        return unify_types(first, second, self.unify_numbers, super().unify_pairs)


_SETITEM = operator.setitem
_SAME_AS: dict[Any, Any] = {pow: operator.pow, divmod: divmod_}
"""Builtins that are other names of an operator, or functions of the library."""
_WEAK_INT_MAX = 2**63 - 1
_WEAK_OF: dict[type, types.Type] = {int: weak_int, float: weak_float, complex: weak_complex, bool: weak_bool}


def _kernel_problem(error: BaseException | None) -> KernelTypeProblem | None:
    """The problem that an error of Numba's wraps, if it wraps one."""
    while error is not None:
        if isinstance(error, KernelTypeProblem):
            return error
        error = error.__cause__
    return None
