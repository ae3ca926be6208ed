"""A compiled kernel as bytes, for a file: the format of kapi-lowering, with SPIR-V in it."""

from __future__ import annotations

from kapi_lowering.files.header_checks import texts
from kapi_lowering.files.module_format import ModuleFormat
from kapi_spirv.binary import entry_points
from kapi_spirv.module import SpirvModule
from kapi_spirv.target import SpirvTarget

__all__ = ["read_module", "write_module"]

_FORMAT = ModuleFormat(
    "SPIR-V", 4, SpirvModule, SpirvTarget, entry_points, {"capabilities": texts, "extensions": texts}
)


def write_module(module: SpirvModule, key: str = "") -> bytes:
    """Return the bytes of a file that holds `module`.

    Parameters
    ----------
    module : SpirvModule
        The compiled kernel.
    key : str
        What it was compiled of, such as a digest; `read_module` compares it.

    Raises
    ------
    ModuleFileError
        If an exception that the kernel may raise has an argument that is no text, number or None, or the module is
        larger than files may be.

    Examples
    --------
    >>> from numba import types
    >>> from kapi_spirv import compile_kernel
    >>> from kapi_types import ItemType, ArrayType
    >>> def double(item, x):
    ...     x[item.get_id(0)] *= 2
    >>> module = compile_kernel(double, [ItemType(1), ArrayType(types.float32, 1, "C")])
    >>> read_module(write_module(module)).code == module.code
    True
    """
    return _FORMAT.write(module, key)


def read_module(data: bytes, key: str | None = None) -> SpirvModule:
    """Return the module that `write_module` made bytes of.

    Nothing in the bytes is run, evaluated, imported or looked up by name, whoever wrote them.  To *launch* the module
    is to run its code, as with any program.

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

    Examples
    --------
    >>> read_module(b"something else")
    Traceback (most recent call last):
    ...
    kapi_sim.errors.ModuleFileError: data must be a kapi SPIR-V module of format 4, got something else \
[module-file-format]
    """
    return _FORMAT.read(data, key)
