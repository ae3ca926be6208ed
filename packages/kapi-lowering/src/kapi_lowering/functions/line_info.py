"""The lines of the source in LLVM IR, as debug metadata: directives for profilers, and nothing for debuggers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

__all__ = ["FunctionLines", "function_lines"]


class FunctionLines:
    """Gives the metadata of lines in one function.

    - `function`: what the lines are of; it gets a subprogram.
    - `name`: what its author called it.
    - `filename`: the file that it is written in.
    - `line`: where it begins.
    """

    __slots__ = ("_module", "_subprogram")

    def __init__(self, function: ir.Function, name: str, filename: str, line: int) -> None:
        module = self._module = function.module
        # No assembler of NVIDIA's takes a quotation mark in a name, however it is written.
        file = module.add_debug_info("DIFile", {"filename": filename.replace('"', "'"), "directory": ""})
        unit = module.add_debug_info(
            "DICompileUnit",
            {
                "language": ir.DIToken("DW_LANG_C_plus_plus"),  # there is a word for Python, which tools do not know
                "file": file,
                "producer": "kapi",
                "runtimeVersion": 0,
                "isOptimized": True,
                "emissionKind": ir.DIToken("DebugDirectivesOnly"),
            },
            is_distinct=True,
        )
        if "llvm.dbg.cu" not in module.namedmetadata:
            flags = module.add_named_metadata("llvm.module.flags")
            for flag, number in (("Dwarf Version", 2), ("Debug Info Version", 3)):
                flags.add(module.add_metadata([ir.Constant(_I32, 2), flag, ir.Constant(_I32, number)]))
        module.add_named_metadata("llvm.dbg.cu").add(unit)
        kind = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([None])})
        self._subprogram = module.add_debug_info(
            "DISubprogram",
            {
                "name": name,
                "linkageName": function.name,
                "scope": file,
                "file": file,
                "line": line,
                "type": kind,
                "scopeLine": line,
                "isLocal": False,
                "isDefinition": True,
                "isOptimized": True,
                "unit": unit,
            },
            is_distinct=True,
        )
        function.set_metadata("dbg", self._subprogram)

    def at(self, line: int) -> Any:
        """The metadata of instructions that a line is made of."""
        return self._module.add_debug_info("DILocation", {"line": line, "column": 1, "scope": self._subprogram})


_I32 = ir.IntType(32)


def function_lines(context: Any, function: ir.Function, name: str, filename: str, line: int) -> FunctionLines | None:
    """Return the source of line metadata for a function, or None if the option or the target does without."""
    if not context.options.lineinfo or not context.kernel_target.keeps_lines:
        return None
    return FunctionLines(function, name, filename, line)
