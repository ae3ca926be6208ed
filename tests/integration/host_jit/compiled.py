"""Host code of a kernel's IR, and how it is called."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import re
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from host_jit.host_ir import NotOnHost, host_ir
from kapi_sim.language import KernelOptions
from kapi_spirv import SpirvModule, compile_kernel
from kapi_types import ItemType, UsmArrayType, typeof_argument
from kapi_types.kernel_api import tuple_of

__all__ = ["HostKernel", "host_kernel"]

_POSITIONS = {name: (ctypes.c_int64 * 3)(1, 1, 1) for name in ("kapi.id", "kapi.size")}
_HALVES = ctypes.CFUNCTYPE(ctypes.c_uint16, ctypes.c_uint16, ctypes.c_uint16)


def _next_half(start: int, end: int) -> int:
    x, y = np.array([start, end], np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        return int(np.array([np.nextafter(x, y)]).view(np.uint16)[0])


_NEXT_HALF = _HALVES(_next_half)


def _narrowed(x: float) -> float:
    """The float16 of a double, in the low half of a float: that is where compiled code looks for it."""
    with np.errstate(all="ignore"):
        bits = np.array([x]).astype(np.float16).view(np.uint16).astype(np.uint32)
    return float(bits.view(np.float32)[0])


_NARROWED = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_double)(_narrowed)


def _prepare() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently(ctypes.util.find_library("m") or "libm.so.6")
    for name, where in _POSITIONS.items():
        llvm.add_symbol(name, ctypes.addressof(where))
    llvm.add_symbol("kapi_nextafter_half", ctypes.cast(_NEXT_HALF, ctypes.c_void_p).value)
    # Processors without float16 arithmetic call it, and no library of Python's process has it.
    llvm.add_symbol("__truncdfhf2", ctypes.cast(_NARROWED, ctypes.c_void_p).value)
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=1,
        codemodel="jitdefault",
        jit=True,
    )


class HostKernel:
    """A module's kernel as a function of the host.

    Parameters
    ----------
    module : SpirvModule
        Of a kernel over a Range.
    optimised : bool
        Whether to run the IR as it went into SPIR-V, or as it was lowered.

    Raises
    ------
    NotOnHost
        If the kernel uses what is not covered.
    """

    def __init__(self, module: SpirvModule, optimised: bool = True) -> None:
        if module.index_space != "item":
            raise NotOnHost("a kernel over an NdRange has no code for the host")
        if module.failures:
            raise NotOnHost("a record of failures has no code for the host")
        if any(each.kind == "local" for each in module.parameters):
            raise NotOnHost("local memory has no code for the host")
        self.module = module
        machine = _prepare()
        layout = str(machine.target_data)
        texts = [module.optimized_llvm_ir] if optimised else _modules(module.llvm_ir)
        made = None
        for text in texts:
            parsed = llvm.parse_assembly(host_ir(text, module.entry_point, machine.triple, layout))
            if made is None:
                made = parsed
            else:
                made.link_in(parsed)
        assert made is not None
        made.verify()
        self.llvm_ir = str(made)
        self._engine = llvm.create_mcjit_compiler(made, machine)
        self._engine.finalize_object()
        address = self._engine.get_function_address(module.entry_point)
        self._function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)

    def __call__(self, extents: Sequence[int], *arguments: Any) -> None:
        """Run once for each work-item, one after the other; NumPy arrays are changed in place."""
        packed = ctypes.create_string_buffer(self._packed(extents, arguments))
        position, size = _POSITIONS["kapi.id"], _POSITIONS["kapi.size"]
        size[:] = [*reversed(extents), 1, 1][:3]
        for ids in itertools.product(*map(range, extents)):
            position[:] = [*reversed(ids), 0, 0][:3]
            self._function(ctypes.addressof(packed))

    def _packed(self, extents: Sequence[int], arguments: Sequence[Any]) -> bytes:
        leaves = list(_leaves(arguments))
        owners = {each.name: leaf for each, leaf in zip(self.module.parameters, leaves, strict=True)}
        owners["range"] = tuple(extents)
        taken: dict[tuple[str, str], int] = {}
        values = []
        for each in self.module.layout.fields:
            place = taken.get((each.owner, each.role), 0)
            taken[each.owner, each.role] = place + 1
            values.append(_value(owners[each.owner], each.role, place))
        return self.module.layout.pack(values)


def host_kernel(
    function: Any, extents: Sequence[int], arguments: Sequence[Any], options: KernelOptions, optimised: bool = True
) -> HostKernel:
    """Compile a function for NumPy arrays and numbers; needs no device."""
    signature = [ItemType(len(extents)), *map(_type_of, arguments)]
    return HostKernel(compile_kernel(function, signature, options=options), optimised)


def _type_of(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple_of(value, tuple(map(_type_of, value)))
    if not isinstance(value, np.ndarray):
        return typeof_argument(value)
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
    # The type that NumPy's is to kernels.
    element = typeof_argument(value.dtype.type(0))
    return UsmArrayType(element, value.ndim, layout)


def _value(owner: Any, role: str, place: int) -> Any:
    if role == "range":
        return owner[place]
    if role == "pointer":
        return owner.ctypes.data
    if role == "shape":
        return owner.shape[place]
    if role == "stride":
        return owner.strides[place] // owner.itemsize
    if isinstance(owner, (complex, np.complexfloating)):
        return owner.imag if place else owner.real
    return owner.item() if isinstance(owner, np.generic) else owner


def _leaves(arguments: Any) -> Any:
    for each in arguments:
        if isinstance(each, tuple):
            yield from _leaves(each)
        else:
            yield each


def _modules(text: str) -> list[str]:
    """The modules that were lowered, whose texts stand one after the other."""
    return [f"; ModuleID{part}" for part in re.split(r"^; ModuleID", text, flags=re.MULTILINE)[1:]]
