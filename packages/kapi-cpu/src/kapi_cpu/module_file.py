"""A compiled kernel as bytes, for a file: the format of kapi-lowering, with object code in it."""

from __future__ import annotations

from kapi_cpu.emission.object_code import ObjectCode
from kapi_cpu.module import CpuModule
from kapi_cpu.target import CpuTarget
from kapi_lowering.files.module_format import ModuleFormat

__all__ = ["read_module", "write_module"]


def _entry_points(code: bytes) -> tuple[str, ...]:
    return ObjectCode.of(code).entry_points


_FORMAT = ModuleFormat("CPU", 1, CpuModule, CpuTarget, _entry_points, {})


def write_module(module: CpuModule, key: str = "") -> bytes:
    """Return the bytes of a file that holds `module`.

    Parameters
    ----------
    module : CpuModule
        The compiled kernel.
    key : str
        What it was compiled of, such as a digest; `read_module` compares it.

    Raises
    ------
    ModuleFileError
        If an exception that the kernel may raise has an argument that is no text, number or None, or the module is
        larger than files may be.
    """
    return _FORMAT.write(module, key)


def read_module(data: bytes, key: str | None = None) -> CpuModule:
    """Return the module that `write_module` made bytes of.

    Nothing in the bytes is run, evaluated, imported or looked up by name, whoever wrote them. To *launch* the module is
    to run its code, as with any program.

    Parameters
    ----------
    data : bytes
        The whole file.
    key : str, optional
        What the module must have been compiled of; left out, any.

    Raises
    ------
    ModuleFileError
        If it is of another format, cut short, changed, of another key, or says what no compiled kernel has.
    """
    return _FORMAT.read(data, key)
