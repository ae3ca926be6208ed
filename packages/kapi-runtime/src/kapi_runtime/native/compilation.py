"""From native functions in Python to object code, by Numba and LLVM; imported only when there is none in the cache."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from kapi_runtime import _numba_compat
from kapi_runtime.native.language import address

__all__ = ["object_code"]

_ENTRY_POINT = (address,) * 3  # self, arguments, how many


def object_code(entry_points: Sequence[Any], known: Collection[str]) -> bytes:
    """Return the object code of functions that `language.native` made.

    Parameters
    ----------
    entry_points : sequence
        Functions that Python is to call; the object code has their names.
    known : collection of str
        The C functions that it may call.

    Raises
    ------
    ValueError
        If a function raises something, or calls what is not known: loading it would end the process.
    """
    module = llvm.parse_assembly(str(_Wrappers(entry_points).module))
    for each in entry_points:
        text, _ = _numba_compat.compiled(each, _ENTRY_POINT)
        module.link_in(llvm.parse_assembly(text))
    names = {each.py_func.__name__ for each in entry_points}
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    for variable in module.global_variables:
        if ".const.picklebuf" in variable.name:
            raise ValueError("native functions must raise nothing, got one that does")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # For any processor of this architecture: the code moves words, and homes are shared by machines.
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2, codemodel="jitdefault", jit=True)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()
    unknown = {each.name for each in module.functions if each.is_declaration and not each.name.startswith("llvm.")}
    unknown -= set(known)
    if unknown:
        raise ValueError(f"native functions must call what is known, got {', '.join(sorted(unknown))}")
    code: bytes = machine.emit_object(module)
    return code


class _Wrappers:
    """LLVM IR that gives each entry point its name and C's calling convention."""

    def __init__(self, entry_points: Sequence[Any]) -> None:
        self.module = ir.Module()
        word = ir.IntType(64)
        place = ir.PointerType(ir.IntType(8))
        for each in entry_points:
            _, name = _numba_compat.compiled(each, _ENTRY_POINT)
            kind = ir.FunctionType(ir.IntType(32), [word.as_pointer(), place.as_pointer(), word, word, word])
            inner = ir.Function(self.module, kind, name)
            outer = ir.Function(self.module, ir.FunctionType(word, [word] * 3), each.py_func.__name__)
            builder = ir.IRBuilder(outer.append_basic_block())
            result, error = builder.alloca(word), builder.alloca(place)
            builder.call(inner, [result, error, *outer.args])
            builder.ret(builder.load(result))
