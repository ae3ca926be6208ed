"""Kernels whose code kapi did not compile: SPIR-V of other compilers, and OpenCL C source."""

from __future__ import annotations

import array
import sys
from collections.abc import Sequence
from typing import Any

from dpctl.program import SyclProgramCompilationError, create_program_from_source, create_program_from_spirv

from kapi_runtime.platform.interface import ForeignCode
from kapi_runtime.sycl.devices.device_summary import describe_device
from kapi_runtime.sycl.programs.build_log import build_log
from kapi_runtime.sycl.programs.program import SyclKernel
from kapi_sim.errors import DriverError, KernelCompilationError
from kapi_sim.short_repr import short_repr
from kapi_spirv import entry_points

__all__ = ["built_foreign", "checked_code"]

_MAGIC = bytes.fromhex("03022307" if sys.byteorder == "little" else "07230203")  # begins a SPIR-V module


def checked_code(form: str, code: Any, entry: str) -> bytes | str:
    """Return SPIR-V (form "spirv") in this machine's byte order, or OpenCL C source (form "opencl").

    Raises `KernelCompilationError` if it is not of this form, is cut short, or a SPIR-V module has no kernel of this
    name.
    """
    if form == "opencl":
        if not isinstance(code, str):
            raise KernelCompilationError(
                f"source of kernel `{entry}` must be a text, got {type(code).__name__}: SPIR-V is for `load_spirv`",
                code="precompiled-code",
            )
        return code
    if form != "spirv":
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be SPIR-V or OpenCL C on SYCL, got {form}", code="precompiled-code"
        )
    if not isinstance(code, (bytes, bytearray, memoryview)):
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be the bytes of a SPIR-V module, or a SpirvModule, got "
            f"{short_repr(code)}: read a "
            "file by `pathlib.Path(name).read_bytes()`",
            code="precompiled-code",
        )
    return _checked_spirv(bytes(code), entry)


def _checked_spirv(code: bytes, entry: str) -> bytes:
    if code[:4] == _MAGIC[::-1] and len(code) % 4 == 0:  # of a machine with the other byte order
        words = array.array("I", code)
        words.byteswap()
        code = words.tobytes()
    if code[:4] != _MAGIC:
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be a SPIR-V module, which begins with 0x07230203, got {len(code)} bytes",
            code="precompiled-code",
        )
    try:
        names = entry_points(code)
    except ValueError as error:
        raise KernelCompilationError(
            f"code of kernel `{entry}` must be a whole SPIR-V module, got {len(code)} bytes: {error}",
            code="precompiled-code",
        ) from error
    if entry not in names:
        raise KernelCompilationError(
            f"entry must be the name of a kernel in the SPIR-V module, {', '.join(names) or 'which has none'}, got "
            f"{short_repr(entry)}",
            code="entry-absent",
        )
    return code


def built_foreign(code: ForeignCode, parameters: Sequence[str], queue: Any) -> SyclKernel:
    """Build foreign code for the device of a queue; see `ProgramBuilder.built_foreign`."""
    device = queue.sycl_device
    try:
        if isinstance(code.code, bytes):
            program = create_program_from_spirv(queue, code.code, code.options)
        else:
            program = create_program_from_source(queue, code.code, code.options)
    except SyclProgramCompilationError as error:
        raise DriverError(
            f"code of kernel `{code.entry}` must be accepted by the driver of {describe_device(device)}, got "
            f"its refusal:\n{build_log(code.code, device, code.options)}",
            code="build-refused",
        ) from error
    if not program.has_sycl_kernel(code.entry):
        # Asking for a missing kernel gives a null reference, which ends the process when it is submitted.
        names = entry_points(code.code) if isinstance(code.code, bytes) else ()
        raise DriverError(
            f"code of kernel `{code.entry}` must have an entry point of this name, got "
            f"{', '.join(names) or 'none'}: give the kernel's name as `entry`",
            code="entry-absent",
        )
    kernel = program.get_sycl_kernel(code.entry)
    if kernel.num_args != len(parameters):
        # Too few arguments would be launched with those of the launch before.
        raise DriverError(
            f"parameters of kernel `{code.entry}` must be as many as its code has, {kernel.num_args}, got "
            f"{len(parameters)}: {', '.join(parameters) or 'none'}",
            code="parameter-count",
        )
    return SyclKernel(
        name=code.entry,
        native=kernel,
        max_work_group_size=min(device.max_work_group_size, kernel.work_group_size),
        max_work_item_sizes=tuple(device.max_work_item_sizes3d),
        local_mem_size=device.local_mem_size,
    )
