"""The one module of kapi-numba-offload that touches Numba: its internals by name, and what is patched in it.

Numba runs `init` at the first compile of any njit function in an environment that has this distribution. It costs
little, imports no package of kapi, reads no device, and leaves programs without USM arrays as they were. That Numba
knows the types of USM arrays at all is kapi-types' doing, whose hooks this module installs with its own.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from numba.core import config, ir, types, typing
from numba.core.compiler import (
    Compiler,
    CompilerBase,
    DefaultPassBuilder,
    Flags,
    compile_extra,
    compile_result,
    run_frontend,
)
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typed_passes import type_inference_stage
from numba.core.typing.typeof import typeof
from numba.core.untyped_passes import FixupArgs, IRProcessing, TranslateByteCode
from numba.np.numpy_support import as_dtype, from_dtype, ufunc_find_matching_loop
from numba.np.ufunc.dufunc import DUFunc
from numba.np.ufunc.gufunc import GUFunc
from numba.stencils.stencil import StencilFunc

import _kapi_types_hooks

__all__ = [
    "PATCHES",
    "SUPPORTED_NUMBA",
    "CPUDispatcher",
    "CompilerBase",
    "DUFunc",
    "DefaultPassBuilder",
    "FixupArgs",
    "Flags",
    "FunctionPass",
    "IRProcessing",
    "NumbaError",
    "PassManager",
    "Patch",
    "StencilFunc",
    "TranslateByteCode",
    "are_arrays",
    "as_dtype",
    "as_numpys",
    "compile_extra",
    "compile_result",
    "config",
    "constants_of",
    "flags_of",
    "from_dtype",
    "has_overloads",
    "inferred_return_type",
    "init",
    "install",
    "ir",
    "is_container",
    "is_generic",
    "is_installed",
    "is_of_jitclass",
    "is_untyped",
    "numbas_call",
    "numbas_vectorized_call",
    "overload_of",
    "patch_calls",
    "register_pass",
    "type_key",
    "typeof",
    "remove",
    "restore_calls",
    "run_frontend",
    "types",
    "typing",
    "ufunc_find_matching_loop",
]

SUPPORTED_NUMBA = (">=0.68", "<0.69")
"""The range of Numba versions whose internals this package was written against, lowest and highest."""

_MISSING = object()


class Patch:
    """One attribute of a class of Numba's that kapi replaces.

    Parameters
    ----------
    owner : type
        The class.
    attribute : str
        The attribute.
    why : str
        What it is replaced for, and when.
    """

    def __init__(self, owner: type, attribute: str, why: str) -> None:
        self.owner, self.attribute, self.why = owner, attribute, why
        self._own = vars(owner).get(attribute, _MISSING)
        self.original: Any = getattr(owner, attribute, None)
        """What the attribute was before."""

    def apply(self, replacement: Callable[..., Any]) -> None:
        """Replace the attribute. Replacing twice is replacing once."""
        setattr(self.owner, self.attribute, replacement)

    def undo(self) -> None:
        """Give the class back what it had."""
        if self._own is not _MISSING:
            setattr(self.owner, self.attribute, self._own)
        elif self.attribute in vars(self.owner):
            delattr(self.owner, self.attribute)

    @property
    def is_applied(self) -> bool:
        """Whether the class has something else now."""
        return vars(self.owner).get(self.attribute, _MISSING) is not self._own


_PIPELINES = Patch(Compiler, "define_pipelines", "functions of USM arrays get passes of kapi's, while installed")
_DIAGNOSTICS = Patch(Dispatcher, "offload_diagnostics", "a method that tells what was offloaded, while installed")
_CALLS = Patch(CPUDispatcher, "__call__", "calls with NumPy arrays are offloaded, while a device context is open")
_CONVERSIONS = Patch(
    Dispatcher, "_search_new_conversions", "functions with signatures take USM arrays for NumPy's, while installed"
)
_COMPILES = Patch(
    CPUDispatcher, "_compile_for_args", "arrays of other libraries are refused with what is taken, while installed"
)
_VECTORIZED = Patch(DUFunc, "__call__", "calls of `vectorize` functions with USM arrays are kernels, while installed")
_GENERALISED = Patch(GUFunc, "__call__", "calls of `guvectorize` functions with USM arrays too, while installed")

PATCHES = (_PIPELINES, _DIAGNOSTICS, _CALLS, _COMPILES, _CONVERSIONS, _VECTORIZED, _GENERALISED)
"""All that kapi-numba-offload replaces in Numba."""

_is_removed = False


def init() -> None:
    """What Numba runs by itself: `install`, unless the program has said `remove` before its first compile."""
    _kapi_types_hooks.init()
    if not _is_removed:
        _hook()


def install() -> None:
    """Let `numba.njit` compile calls with USM arrays for offload. A second call changes nothing."""
    global _is_removed
    _is_removed = False
    _kapi_types_hooks.install()
    _hook()


def remove() -> None:
    """Compile functions of USM arrays for the host again; compiled functions stay compiled."""
    global _is_removed
    _is_removed = True
    for each in (_PIPELINES, _DIAGNOSTICS, _COMPILES, _CONVERSIONS, _VECTORIZED, _GENERALISED):
        each.undo()


def is_installed() -> bool:
    """Return whether the package is registered with Numba."""
    return _PIPELINES.is_applied


def patch_calls(call: Callable[..., Any]) -> None:
    """Let each call of an njit function be one of `call`, with the function first."""
    _CALLS.apply(call)


def restore_calls() -> None:
    """Let Numba make its calls itself again."""
    _CALLS.undo()


def numbas_call(dispatcher: Any, *args: Any, **keywords: Any) -> Any:
    """A call as Numba makes it."""
    return _CALLS.original(dispatcher, *args, **keywords)


def is_container(value: Any) -> bool:
    """Whether it is a list or set of Python's: Numba copies it for a call, and its own numbers back after it."""
    return isinstance(value, (list, set))


def is_untyped(value: Any) -> bool:
    """Whether it is a container of which Numba cannot tell the type of an argument: empty, or of lists."""
    if type(value).__module__ in ("numba.typed.typedlist", "numba.typed.typeddict"):
        return not value._typed
    return is_container(value) and (not value or any(map(is_container, value)))


def is_generic(dispatcher: CPUDispatcher) -> bool:
    """Whether a function is compiled for all types, with no signature and no type of a variable given."""
    return bool(dispatcher._can_compile) and not dispatcher.locals


def inferred_return_type(function: Any, args: tuple[Any, ...]) -> Any:
    """The type that Numba itself infers for what a function returns.

    Raises
    ------
    NumbaError
        If it cannot be compiled.
    """
    typing_context, target_context = cpu_target.typing_context, cpu_target.target_context
    typing_context.refresh()
    target_context.refresh()
    return type_inference_stage(typing_context, target_context, run_frontend(function), args, None).return_type


def flags_of(dispatcher: Any) -> Flags:
    """The compiler's flags for the options that a function was given by `numba.njit`."""
    flags = Flags()
    dispatcher.targetdescr.options.parse_as_flags(flags, dispatcher.targetoptions)
    return flags


def constants_of(dispatcher: Any) -> Iterator[Any]:
    """The objects that are constants of what a function was compiled to, for each list of argument types in turn."""
    for compiled in getattr(dispatcher, "overloads", {}).values():
        yield from getattr(compiled.environment, "consts", ())


def are_arrays(function: Any) -> list[bool]:
    """Which arguments of a `guvectorize` function its signatures declare as arrays; empty if it has none."""
    signatures = getattr(getattr(function, "gufunc_builder", None), "_sigs", None) or ()
    return [isinstance(each, types.Array) for each in signatures[0].args] if signatures else []


def numbas_vectorized_call(function: Any, *args: Any) -> Any:
    """A call of a `vectorize` function as Numba makes it."""
    call: Callable[..., Any] = _VECTORIZED.original
    return call(function, *args)


def overload_of(function: Any, values: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What an overload of a library's gives in the place of `function` for these arguments; None if it has none.

    An overload is asked with the types of USM arrays first, and then with those of NumPy arrays in their place.
    """
    typing_context = cpu_target.typing_context
    typing_context.refresh()
    templates = _overloads_of(typing_context, function)
    given = tuple(map(typeof, values))
    words = {name: typeof(value) for name, value in keywords.items()}
    for as_asked in (_as_it_is, as_numpys):
        for template in templates:
            own = {name: as_asked(each) for name, each in words.items()}
            found = template._overload_func(*map(as_asked, given), **own)
            if found is not None:
                return found[1] if isinstance(found, tuple) else found
    return None


def type_key(values: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
    """The types of arguments as Numba has them."""
    return (*map(typeof, values), *((name, typeof(value)) for name, value in keywords.items()))


def has_overloads(function: Any) -> bool:
    """Whether a library told Numba what to do in the place of a function of Python's."""
    typing_context = cpu_target.typing_context
    typing_context.refresh()
    return bool(_overloads_of(typing_context, function))


def _overloads_of(typing_context: Any, function: Any) -> list[Any]:
    try:
        known = typing_context.resolve_value_type(function)
    except (NumbaError, ValueError):  # the latter for a function that Numba has no type of
        return []
    return [each for each in getattr(known, "templates", ()) if hasattr(each, "_overload_func")]


def is_of_jitclass(function: Any) -> bool:
    """Whether a function is what Numba writes to call the constructor or a method of a jitclass."""
    return "__numba_cls_" in function.__globals__ or "__numba_self_" in function.__code__.co_varnames


def _hook() -> None:
    _PIPELINES.apply(_define_pipelines_with_offload)
    _DIAGNOSTICS.apply(_offload_diagnostics)
    _COMPILES.apply(_compile_for_args)
    _CONVERSIONS.apply(_search_new_conversions)
    _VECTORIZED.apply(_call_vectorized)
    _GENERALISED.apply(_call_generalised)


def _call_vectorized(function: Any, *args: Any, **keywords: Any) -> Any:
    if any(map(_is_device_array, (*args, *keywords.values()))):
        from kapi_numba_offload.frontend.vectorized import call_vectorized

        return call_vectorized(function, args, keywords)
    return _VECTORIZED.original(function, *args, **keywords)


def _call_generalised(function: Any, *args: Any, **keywords: Any) -> Any:
    if any(map(_is_device_array, (*args, *keywords.values()))):
        from kapi_numba_offload.frontend.vectorized import call_vectorized

        return call_vectorized(function, args, keywords)
    return _GENERALISED.original(function, *args, **keywords)


def _is_device_array(value: Any) -> bool:
    # By names: dpnp is not imported for programs that have none of its arrays.
    return type(value).__name__ == "dpnp_array" and type(value).__module__ == "dpnp.dpnp_array"


def _compile_for_args(dispatcher: Any, *args: Any, **keywords: Any) -> Any:
    """Numba's own method, whose errors say nothing of arrays that it has no type of."""
    try:
        return _COMPILES.original(dispatcher, *args, **keywords)
    except NumbaError:
        names = dispatcher.py_func.__code__.co_varnames
        given = [*zip((*names, *("*args" for _ in args)), args, strict=False), *keywords.items()]
        foreign = [(name, array) for name, each in given for array in _foreign_arrays(each)]
        if not foreign:
            raise
        from kapi_numba_offload.frontend.foreign_arrays import foreign_array_error

        raise foreign_array_error(dispatcher.py_func, *foreign[0]) from None


def _foreign_arrays(value: Any) -> Iterator[Any]:
    """What is an array, by its protocols, and one of which Numba knows no type, in a value or a tuple."""
    if isinstance(value, tuple):
        for each in value:
            yield from _foreign_arrays(each)
    elif _is_foreign_array(value):
        yield value


def _is_foreign_array(value: Any) -> bool:
    is_array = hasattr(value, "__cuda_array_interface__") or hasattr(value, "__dlpack__")
    if not is_array or hasattr(value, "__sycl_usm_array_interface__"):
        return False
    try:
        typeof(value)
    except ValueError:
        return True
    return False


def _search_new_conversions(dispatcher: Any, *args: Any, **keywords: Any) -> bool:
    """Whether a function that has its signatures can be called; USM arrays are compiled for if NumPy's would do."""
    given = tuple(map(dispatcher.typeof_pyval, args))
    if not any(map(_holds_usm_array, given)):
        found: bool = _CONVERSIONS.original(dispatcher, *args, **keywords)
        return found
    on_host = tuple(map(as_numpys, given))
    context = dispatcher.typingctx
    for signature in dispatcher.nopython_signatures:
        formal = signature.args
        if len(formal) == len(given) and all(map(context.can_convert, on_host, formal)):
            break
    else:
        return False
    dispatcher._can_compile = True
    try:
        dispatcher.compile(given)
    finally:
        dispatcher._can_compile = False
    return True


def _as_it_is(type_: Any) -> Any:
    return type_


def as_numpys(type_: Any) -> Any:
    """A type with NumPy arrays in the place of USM arrays."""
    if type(type_).__name__ == "UsmArrayType":
        return types.Array(type_.dtype, type_.ndim, type_.layout)
    if isinstance(type_, types.BaseTuple) and not isinstance(type_, types.BaseNamedTuple):
        return types.Tuple(tuple(map(as_numpys, type_)))
    return type_


def _offload_diagnostics(dispatcher: Any, level: int = 1, file: Any = None) -> None:
    """Print what became of each part of the function: see `kapi_numba_offload.offload_diagnostics`."""
    from kapi_numba_offload.run.diagnostics import offload_diagnostics

    offload_diagnostics(dispatcher, level, file)


def _define_pipelines_with_offload(compiler: Any) -> Any:
    # Only kapi makes these types, so a program without them has not imported the modules that have them.
    if any(map(_holds_usm_array, compiler.state.args)) or _makes_arrays(compiler.state.func_id):
        from kapi_numba_offload.frontend.pipeline import offload_pipelines

        return offload_pipelines(compiler.state)
    return _PIPELINES.original(compiler)


def _holds_usm_array(type_: Any) -> bool:
    # Tuples of tuples are rare, and other types do not hold arrays that a caller passes.
    return type(type_).__name__ in ("UsmArrayType", "IndexSpaceType") or any(
        map(_holds_usm_array, getattr(type_, "types", ()))
    )


def _makes_arrays(identity: Any) -> bool:
    """Whether a function speaks of dpnp or of kernels, which Numba knows nothing of: it needs no argument to tell."""
    function = getattr(identity, "func", None)
    if function is None or not any(name in sys.modules for name in ("dpctl", "dpnp", "kapi_runtime")):
        return False
    outside = function.__globals__
    values = [outside.get(name) for name in _globals_of(function.__code__)]
    values += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return any(map(_is_of_kapi, values))


def _globals_of(code: CodeType) -> Iterator[str]:
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _globals_of(each)


def _is_of_kapi(value: Any) -> bool:
    """Whether a value is dpnp, dpctl or kapi-runtime, or a function or class of theirs."""
    if isinstance(value, ModuleType):
        return value.__name__ in ("dpctl", "dpnp", "kapi_runtime")
    if not callable(value):
        return False
    module = getattr(value, "__module__", None) or type(value).__module__
    return isinstance(module, str) and module.partition(".")[0] in ("dpctl", "dpnp", "kapi_runtime", "kapi_sim")


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # raises where nothing was assigned yet
    except ValueError:
        return False
    return True
