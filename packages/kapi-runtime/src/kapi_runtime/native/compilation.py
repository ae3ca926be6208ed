"""Compilation of native functions in Python to the machine code that kapi-runtime ships, by Numba and LLVM.

``python tools/native_code.py`` writes the files; no launch imports this module.  A file is made in a process with
`SETTINGS` in its environment, so that the code is the same wherever it is made.

The code of an entry point needs no linker: all that it calls of kapi's is inlined, and it finds C functions in the
table that ``self`` holds (see `loading`).  So it runs at any address.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import json
import re
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from kapi_runtime.native.loading import TABLE, TARGETS, WORD

__all__ = ["SETTINGS", "digest_of", "machine_code"]

_COMPILERS = ("numba", "llvmlite")
SETTINGS = {
    # For any processor of the architecture, and as the function was written: LLVM's passes run below.
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_OPT": "0",
}
"""Numba's settings, as environment variables."""

_OWN_SOURCES = ("kapi_runtime.native.language", "kapi_runtime.native.compilation", "kapi_runtime._numba_compat")
_CPU = "x86-64"
_ATTRIBUTES = '"no-builtins" "no-jump-tables"="true"'
"""No calls of ``memcpy`` and the like in the place of loops, and no tables of addresses."""

_LOADED = {".text"}
_NOT_LOADED = {"", ".strtab", ".symtab", ".comment", ".note.GNU-stack", ".eh_frame", ".rela.eh_frame"}
"""Sections of object code that is complete in itself: code, and what linkers and debuggers read."""

_CALL = re.compile(r"^(\s*(?:%\S+ = )?(?:tail )?call [^@\n]*)@([A-Za-z]\w*)\(", re.MULTILINE)
_LINE = 110  # characters of base64


def machine_code(module: str) -> str:
    """Return the text of the file that holds the machine code of a module's entry points.

    - `module`: a module that has `ENTRY_POINTS`, functions that `language.native` made, and `SOURCES`, the names of all
      modules that they are made of.

    Raises `ValueError` if a function raises something, or needs more than its own code and C functions; or if Numba has
    other settings.
    """
    import llvmlite.binding as llvm

    from kapi_runtime import _numba_compat

    settings = _numba_compat.code_settings()
    if settings != SETTINGS:
        raise ValueError(f"machine code must be made with Numba's settings {SETTINGS}, got {settings}")

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    entry_points = import_module(module).ENTRY_POINTS
    language = import_module("kapi_runtime.native.language")
    calls = sorted(language.c_functions)
    for name in calls:
        llvm.add_symbol(name, 1)  # Numba looks it up, and nothing is run here
    texts = _texts(entry_points)
    names = [each.py_func.__name__ for each in entry_points]
    compilers = {each: importlib.metadata.version(each) for each in _COMPILERS}
    made: dict[str, Any] = {
        "made_of": digest_of(module),
        "made_by": {"Python": sys.implementation.cache_tag, **compilers},
        "calls": calls,
    }
    for system, triple in TARGETS.items():
        text = _through_table(str(_linked(llvm, triple, texts, names, calls)), calls)
        made[system] = {name: _wrapped(_code(llvm, triple, text, name)) for name in names}
    return json.dumps(made, indent=1) + "\n"


def digest_of(module: str) -> str:
    """Return a digest of the sources that the machine code of a module's entry points is made of."""
    digest = hashlib.sha256()
    for name in (module, *import_module(module).SOURCES, *_OWN_SOURCES):
        specification = importlib.util.find_spec(name)
        assert specification is not None
        assert specification.origin is not None
        source = Path(specification.origin).read_text("utf-8")  # pytest's loaders have no `get_source`
        digest.update(f"{name}\n{source}\0".encode())
    return digest.hexdigest()


def _texts(entry_points: Sequence[Any]) -> list[str]:
    """LLVM IR of the entry points by Numba, and last what gives each its name and C's calling convention."""
    from llvmlite import ir

    from kapi_runtime import _numba_compat

    texts, module = [], ir.Module()
    word, pointer = ir.IntType(64), ir.PointerType(ir.IntType(8))
    for each in entry_points:
        text, name = _numba_compat.compiled(each, (_numba_compat.types.intp,) * 3)  # self, arguments, how many
        texts.append(text)
        kind = ir.FunctionType(ir.IntType(32), [word.as_pointer(), pointer.as_pointer(), word, word, word])
        inner = ir.Function(module, kind, name)
        outer = ir.Function(module, ir.FunctionType(word, [word] * 3), each.py_func.__name__)
        outer.args[0].name = "self"
        builder = ir.IRBuilder(outer.append_basic_block())
        result, error = builder.alloca(word), builder.alloca(pointer)
        builder.call(inner, [result, error, *outer.args])
        builder.ret(builder.load(result))
    return [*texts, re.sub(r"^(define .*)$", rf"\1 {_ATTRIBUTES}", str(module), flags=re.MULTILINE)]


def _linked(llvm: Any, triple: str, texts: Sequence[str], names: Sequence[str], calls: Sequence[str]) -> Any:
    """The entry points as one module, with all that they call inlined but C functions."""
    module, *others, wrappers = (llvm.parse_assembly(text) for text in texts)
    for each in others:
        module.link_in(each)
    _optimised(llvm, triple, module)  # drops what is never raised
    if any(".const.picklebuf" in variable.name for variable in module.global_variables):
        raise ValueError("native functions must raise nothing, got one that does")
    module.link_in(wrappers)
    for function in module.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
            function.add_function_attribute("alwaysinline")
    _optimised(llvm, triple, module)
    declared = {each.name for each in module.functions if each.is_declaration and not each.name.startswith("llvm.")}
    if unknown := sorted(declared - set(calls)):
        raise ValueError(f"native functions must call what is declared, got {', '.join(unknown)}")
    return module


def _optimised(llvm: Any, triple: str, module: Any) -> None:
    machine = _machine(llvm, triple)
    module.triple, module.data_layout = triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # Vectors want constants in memory; the loops are over a few axes.
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    module.verify()


def _machine(llvm: Any, triple: str) -> Any:
    return llvm.Target.from_triple(triple).create_target_machine(cpu=_CPU, opt=2, reloc="static", codemodel="small")


def _through_table(text: str, calls: Sequence[str]) -> str:
    """The module's text with each C function called by its address in the table that ``self`` holds."""

    def call(found: re.Match[str]) -> str:
        before, name = found.groups()
        if name not in calls:
            return found.group()
        at = TABLE + WORD * (1 + calls.index(name))
        register = f"%table.{found.start()}"
        return (
            f"  {register}.at = add i64 %self, {at}\n"
            f"  {register}.in = inttoptr i64 {register}.at to ptr\n"
            f"  {register} = load ptr, ptr {register}.in\n"
            f"{before}{register}("
        )

    return _CALL.sub(call, text)


def _code(llvm: Any, triple: str, text: str, name: str) -> bytes:
    """The machine code of one entry point."""
    module = llvm.parse_assembly(text)
    for function in module.functions:
        if not function.is_declaration and function.name != name:
            function.linkage = "internal"  # so that it is dropped
    _optimised(llvm, triple, module)
    sections = llvm.ObjectFileRef.from_data(_machine(llvm, triple).emit_object(module)).sections()
    loaded: dict[str, bytes] = {each.name().decode(): bytes(each.data()) for each in sections if each.name()}
    needed = loaded.keys() - _NOT_LOADED
    if needed != _LOADED:
        raise ValueError(f"the native function {name} must need nothing but its code, got {', '.join(sorted(needed))}")
    return loaded[".text"]


def _wrapped(code: bytes) -> list[str]:
    """Base64 in lines."""
    return textwrap.wrap(base64.b64encode(code).decode(), _LINE)
