"""The command line of a code generator: a kernel in a file and a signature in, a file of code out."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType
from typing import Any, Generic, TypeVar

from kapi_lowering.compiler import TargetCompiler
from kapi_lowering.target import Target
from kapi_sim.errors import KapiError, KernelCompilationError
from kapi_sim.language import KernelOptions
from kapi_sim.language.launchables.device_function import DeviceFunction
from kapi_sim.language.launchables.launchable import Launchable
from kapi_sim.tracebacks import from_program

__all__ = ["CommandLine", "run"]

T = TypeVar("T", bound=Target)

_NAME = "__kapi_file__"
"""Of the file's module, which may have the name of another one."""


@dataclass(frozen=True, slots=True)
class CommandLine(Generic[T]):
    """The command line of a target's package.

    - `compiler`: the package's own.
    - `suffix`: the ending of its files.
    - `add_options`: adds the options that choose a target to a parser.
    - `make_target`: makes a target of the options that were given; raises ValueError where they make none.
    """

    compiler: TargetCompiler[T, Any]
    suffix: str
    add_options: Callable[[argparse.ArgumentParser], object]
    make_target: Callable[[argparse.Namespace], T]

    @property
    def package(self) -> str:
        """The package's name, after ``python -m``."""
        return type(self.compiler).__module__.partition(".")[0]


def run(command_line: CommandLine[Any], arguments: Sequence[str] | None = None) -> int:
    """Compile as the command line says, and return the exit status: 1 if the kernel cannot be compiled.

    - `command_line`: that of the package.
    - `arguments`: as after ``python -m kapi_spirv``; those of the program if left out.
    """
    parser = _parser(command_line)
    given = parser.parse_args(arguments)
    try:
        target = command_line.make_target(given)
    except ValueError as error:
        parser.error(str(error))
    file, _, name = given.kernel.rpartition(":")
    if not file or not Path(file).is_file():
        missing = f"there is no file {file!r}" if file and name.isidentifier() else "no kernel is named"
        parser.error(f"a kernel must be given as FILE.py:KERNEL, got {given.kernel!r}: {missing}")
    try:
        names = _imported(Path(file))
    except Exception as error:  # the file's own
        print(f"{from_program(error, file)}\n{file} cannot be imported", file=sys.stderr)
        return 1
    try:
        function, options = _found(Path(file), name, names)
        chosen = {name: getattr(given, name) for name in ("debug", "boundscheck", "fastmath") if getattr(given, name)}
        if chosen:
            options = replace(options, **chosen)
        module = command_line.compiler.compile_kernel(function, given.signature, target=target, options=options)
    except KapiError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    output = given.output or Path(f"{module.name}{command_line.suffix}")
    try:
        output.write_bytes(module.code)
    except OSError as error:
        parser.error(f"{output} cannot be written: {error.strerror}")
    print(f"{output}: {module.summary()}")
    return 0


def _parser(command_line: CommandLine[Any]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {command_line.package}",
        description=f"Compile a kernel to {command_line.compiler.format.name}. Needs no device.",
        epilog="The file is imported, so a program in it belongs under `if __name__ == '__main__':`.",
    )
    parser.add_argument("kernel", metavar="FILE.py:KERNEL", help="the file, and the name of a kernel or function in it")
    parser.add_argument(
        "-s",
        "--signature",
        required=True,
        help='a type for each parameter: "item1, float32, float32[:]"; nd_item2 for work-groups, "strided f8[:, :]" '
        'for an array with steps, "local float32[64]" for local memory',
    )
    parser.add_argument("-o", "--output", type=Path, help=f"the file to write; KERNEL{command_line.suffix} if left out")
    parser.add_argument("--debug", action="store_true", help="compile asserts, raises and checks of indices in")
    parser.add_argument("--boundscheck", action="store_true", help="compile checks of indices in")
    parser.add_argument("--fastmath", action="store_true", help="let floats be reassociated and contracted")
    command_line.add_options(parser)
    return parser


def _found(path: Path, name: str, names: dict[str, Any]) -> tuple[FunctionType, KernelOptions]:
    """Return the function of that name in a file, and the options of the kernel that it is."""
    kernel = names.get(name)
    options = kernel.options if isinstance(kernel, Launchable) else KernelOptions()
    function = kernel.py_func if isinstance(kernel, (Launchable, DeviceFunction)) else kernel
    if not isinstance(function, FunctionType):
        known = [key for key, value in names.items() if isinstance(value, Launchable)]
        others = [key for key, value in names.items() if isinstance(value, FunctionType) and not key.startswith("_")]
        raise KernelCompilationError(
            f"{path} must have a kernel or function {name!r}, got a file with "
            f"{', '.join(known or others) or 'none at all'}",
            code="kernel-absent",
        )
    return function, options


def _imported(path: Path) -> dict[str, Any]:
    """Import a file as a module, with its folder on the path as for a program."""
    specification = importlib.util.spec_from_file_location(_NAME, path.resolve())
    if specification is None or specification.loader is None:
        raise ImportError("a Python file must end in .py")
    module = importlib.util.module_from_spec(specification)
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[_NAME] = module
    specification.loader.exec_module(module)
    return vars(module)
