"""The type of a function that a kernel calls, one compilation for each list of argument types."""

from __future__ import annotations

import inspect
from types import CodeType, FunctionType
from typing import Any

from numba.extending import is_jitted

from kapi_sim import AddressSpace, DeviceFunction
from kapi_sim.language.launchables.declared_signatures import signatures_of
from kapi_sim.language.unsupported_syntax import PARAMETERS_OF_FUNCTION
from kapi_types._numba_compat import templates, types
from kapi_types.arrays import ArrayType
from kapi_types.kernel_typing.calls.declared_functions import declared_for
from kapi_types.kernel_typing.problems.problems import KernelTypeProblem, NoKernelValueError, ProblemsFound, spell_type
from kapi_types.kernel_typing.rules.rule_registry import GenericCallableType
from kapi_types.records import RecordRefType

__all__ = ["DeviceFunctionType", "holds_private_array", "is_of_library", "python_function"]

_LIBRARY = "kapi_types.kernel_typing.library."
"""Of functions here, whose lines say nothing to the author of a kernel: what they refuse is the call."""


def is_of_library(function: FunctionType) -> bool:
    """Whether a function is one that is written here in the kernel language, not one of the author's."""
    # What `exec` defines may have no module.
    return (function.__module__ or "").startswith(_LIBRARY)


def python_function(value: object) -> FunctionType | None:
    """The Python function behind something that a kernel may call: a device, `njit` or plain function."""
    if isinstance(value, DeviceFunction):
        return value.py_func  # type: ignore[return-value]  # declared as a callable; it is a function
    if is_jitted(value):
        value = value.py_func  # type: ignore[attr-defined]  # what Numba compiled for the host is written in Python, too
    return value if isinstance(value, FunctionType) else None


class DeviceFunctionType(GenericCallableType):
    """A function written in the kernel language, generic over its argument types."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        # Defaults and code may be replaced in place. The objects live as long as the type, so ids are their own.
        given = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        self._key = (function, function.__code__, tuple(map(id, given)))
        self._held = given
        self.parameters = inspect.signature(function)
        self._as_numba_binds = _by_position(self.parameters)
        super().__init__(f"device_function({function.__module__}.{function.__qualname__})")

    @property
    def key(self) -> tuple[FunctionType, CodeType, tuple[int, ...]]:
        """The Python function as it is now: two closures of one definition are two functions."""
        return self._key

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call, found by compiling the function for these argument types."""
        try:
            bound = self.parameters.bind(*args, **kws)
        except TypeError as error:
            raise KernelTypeProblem("call-arguments", f"{self.function.__name__}(): {error}") from None
        for parameter in self.parameters.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                said = f"{self.function.__name__}(): {PARAMETERS_OF_FUNCTION.text}"
                raise KernelTypeProblem(PARAMETERS_OF_FUNCTION.code, said)
        types_ = tuple(
            bound.arguments[name] if name in bound.arguments else self._type_of_default(context, name)
            for name in self.parameters.parameters
        )
        signatures = signatures_of(self.function)
        if signatures and declared_for(self.function, types_) is None:
            given = ", ".join(map(spell_type, types_))
            raise KernelTypeProblem(
                "call-arguments",
                f"arguments of device function `{self.function.__name__}` must be those of a signature, "
                f"{' or '.join(map(str, signatures))}, got ({given}): convert them, or leave the signatures out",
            )
        try:
            returned = context.type_device_function(self.function, types_)
        except ProblemsFound:
            if not is_of_library(self.function):
                raise
            given = ", ".join(map(spell_type, types_))
            raise KernelTypeProblem(
                "call-arguments",
                f"{self.function.__name__.rstrip('_')}() does not take these arguments in a kernel: ({given})",
            ) from None
        if holds_private_array(returned):
            raise KernelTypeProblem(
                "private-array-returned",
                f"{self.function.__name__}() cannot return a PrivateArray, whose memory ends with the call: "
                "create it in the caller and pass it as an argument",
            )
        return templates.signature(returned, *types_).replace(pysig=self._as_numba_binds)

    def _type_of_default(self, context: Any, name: str) -> types.Type:
        default = self.parameters.parameters[name].default
        try:
            found: types.Type = context.resolve_value_type(default)
        except NoKernelValueError as error:
            said = f"default of {name!r} of {self.function.__name__}() {error}"
            raise KernelTypeProblem(error.finding.code, said) from None
        return found

    def get_impl_key(self, sig: Any) -> tuple[FunctionType, tuple[types.Type, ...]]:
        """The key of the compiled function in the registry."""
        return self.function, sig.args

    def __repr__(self) -> str:
        return f"{self.function.__name__}({', '.join(spell_type(p) for p in self.parameters.parameters)})"


def _by_position(parameters: inspect.Signature) -> inspect.Signature:
    """The same parameters, all of which may be given by position.

    Numba takes the last arguments for those that are by name only, also where they were given by name. Whether a call
    fits has been asked of the function's own signature; a default that one without must have here is never used.
    """
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    made: list[inspect.Parameter] = []
    for each in parameters.parameters.values():
        needs_default = each.default is empty and any(before.default is not empty for before in made)
        made.append(inspect.Parameter(each.name, kind, default=None if needs_default else each.default))
    return inspect.Signature(made)


def holds_private_array(type_: types.Type) -> bool:
    """Whether a value of this type is a private array, or a tuple that has one in it."""
    if isinstance(type_, types.BaseTuple):
        return any(map(holds_private_array, type_.types))
    return isinstance(type_, (ArrayType, RecordRefType)) and type_.address_space is AddressSpace.PRIVATE
