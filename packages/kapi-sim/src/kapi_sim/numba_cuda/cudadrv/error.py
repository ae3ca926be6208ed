"""Classes of errors that programs catch: nothing here raises them but the program itself."""

from __future__ import annotations

__all__ = [
    "CCSupportError",
    "CudaAPIError",
    "CudaDriverError",
    "CudaRuntimeError",
    "CudaSupportError",
    "DeadMemoryError",
    "LinkerError",
    "NvrtcCompilationError",
    "NvrtcError",
    "NvrtcSupportError",
    "NvvmError",
    "NvvmSupportError",
    "NvvmWarning",
]


class CudaDriverError(Exception):
    """The driver failed."""


class CudaAPIError(CudaDriverError):
    """A call of the driver failed.

    Parameters
    ----------
    code : int
        The driver's.
    msg : str
        What failed.
    """

    def __init__(self, code: int, msg: str) -> None:
        super().__init__(code, msg)
        self.code = code
        self.msg = msg

    def __str__(self) -> str:
        return f"[{self.code}] {self.msg}"


class CudaRuntimeError(Exception):
    """The runtime library failed."""


class CudaSupportError(ImportError):
    """There is no driver."""


class LinkerError(RuntimeError):
    """The driver's linker failed."""


class DeadMemoryError(RuntimeError):
    """Memory is used that was given back."""


class NvvmError(Exception):
    """NVVM failed."""


class NvvmSupportError(ImportError):
    """There is no NVVM."""


class NvvmWarning(Warning):
    """NVVM has something to say."""


class NvrtcError(Exception):
    """NVRTC failed."""


class NvrtcCompilationError(NvrtcError):
    """NVRTC refused a source."""


class NvrtcSupportError(ImportError):
    """There is no NVRTC."""


class CCSupportError(RuntimeError):
    """A compute capability is not supported."""
