"""``numba.cuda.errors``: classes of errors that programs catch."""

from __future__ import annotations

__all__ = ["CudaLoweringError", "KernelRuntimeError"]


class KernelRuntimeError(RuntimeError):
    """A kernel failed while it ran, in debug mode.

    Parameters
    ----------
    msg : str
        What failed.
    tid, ctaid : tuple of int, optional
        The thread and its block.
    """

    def __init__(self, msg: str, tid: tuple[int, ...] | None = None, ctaid: tuple[int, ...] | None = None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.tid = tid
        self.ctaid = ctaid


class CudaLoweringError(Exception):
    """The compiler failed."""
