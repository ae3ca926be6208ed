"""The type of a function that a kernel calls, one compilation for each list of argument types."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from numba.extending import is_jitted

from kapi_sim import AddressSpace, DeviceFunction
from kapi_types._numba_compat import templates, types
from kapi_types.kernel_typing.problems import KernelTypeProblem, spell_type
from kapi_types.usm_array import UsmArrayType

__all__ = ["holds_private_array", "DeviceFunctionType", "python_function"]


def python_function(value: object) -> FunctionType | None:
    """The Python function behind something that a kernel may call: a device, `njit` or plain function."""
    if isinstance(value, DeviceFunction):
        return value.py_func  # type: ignore[return-value]  # declared as a callable; it is a function
    if is_jitted(value):
        value = value.py_func  # type: ignore[attr-defined]  # what Numba compiled for the host is written in Python, too
    return value if isinstance(value, FunctionType) else None


class DeviceFunctionType(types.Callable, types.Opaque):
    """A function written in the kernel language, generic over its argument types.

    Parameters
    ----------
    function : types.FunctionType
        The Python function.
    """

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.parameters = inspect.signature(function)
        super().__init__(f"device_function({function.__module__}.{function.__qualname__})")

    @property
    def key(self) -> FunctionType:
        """The Python function: two closures of one definition are two functions."""
        return self.function

    def get_call_type(self, context: Any, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Any:
        """The signature of a call, found by compiling the function for these argument types."""
        try:
            bound = self.parameters.bind(*args, **kws)
        except TypeError as error:
            raise KernelTypeProblem(f"{self.function.__name__}(): {error}") from None
        for name, parameter in self.parameters.parameters.items():
            if name not in bound.arguments:
                raise KernelTypeProblem(
                    f"{self.function.__name__}() must be given every argument in a kernel, got none for {name!r}; "
                    "defaults and *args are not part of the kernel language"
                )
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise KernelTypeProblem(f"{self.function.__name__}() must have named parameters, got *{name}")
        types_ = tuple(bound.arguments.values())
        returned = context.type_device_function(self.function, types_)
        if holds_private_array(returned):
            raise KernelTypeProblem(
                f"{self.function.__name__}() must not return a PrivateArray, whose memory is the function's own; "
                "make it in the caller, and give it as an argument"
            )
        return templates.signature(returned, *types_).replace(pysig=self.parameters)

    def get_call_signatures(self) -> tuple[tuple[Any, ...], bool]:
        """No fixed signatures: the function is generic."""
        return (), True

    def get_impl_key(self, sig: Any) -> tuple[FunctionType, tuple[types.Type, ...]]:
        """What the compiled function is registered under."""
        return self.function, sig.args

    def __repr__(self) -> str:
        return f"{self.function.__name__}({', '.join(spell_type(p) for p in self.parameters.parameters)})"


def holds_private_array(type_: types.Type) -> bool:
    """Whether a value of this type is a private array, or a tuple that has one in it."""
    if isinstance(type_, types.BaseTuple):
        return any(map(holds_private_array, type_.types))
    return isinstance(type_, UsmArrayType) and type_.address_space is AddressSpace.PRIVATE
