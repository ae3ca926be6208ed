"""The exceptions that a kernel may raise in debug mode, by name: the only classes that a compiled kernel leads to.

A kernel's failures cross processes and files as names.  A name is looked up here and nowhere else, so that no file can
name another function of Python's.
"""

from __future__ import annotations

from types import MappingProxyType

from kapi_sim.short_repr import short_repr

__all__ = ["RAISABLE", "made_exception"]

_CLASSES: tuple[type[Exception], ...] = (
    ArithmeticError, AssertionError, AttributeError, BlockingIOError, BrokenPipeError, BufferError, BytesWarning,
    ChildProcessError, ConnectionAbortedError, ConnectionError, ConnectionRefusedError, ConnectionResetError,
    DeprecationWarning, EOFError, EncodingWarning, Exception, FileExistsError, FileNotFoundError, FloatingPointError,
    FutureWarning, ImportError, ImportWarning, IndentationError, IndexError, InterruptedError, IsADirectoryError,
    KeyError, LookupError, MemoryError, ModuleNotFoundError, NameError, NotADirectoryError, NotImplementedError,
    OSError, OverflowError, PendingDeprecationWarning, PermissionError, ProcessLookupError, RecursionError,
    ReferenceError, ResourceWarning, RuntimeError, RuntimeWarning, StopAsyncIteration, StopIteration, SyntaxError,
    SyntaxWarning, SystemError, TabError, TimeoutError, TypeError, UnboundLocalError, UnicodeError, UnicodeWarning,
    UserWarning, ValueError, Warning, ZeroDivisionError,
)  # fmt: skip

RAISABLE = MappingProxyType({each.__name__: each for each in _CLASSES})
"""Python's own exceptions, without those that end a program and those that need objects for arguments."""


def made_exception(name: str, args: tuple[str | int | float | bool | None, ...]) -> Exception:
    """Return an exception of the table.

    Parameters
    ----------
    name : str
        Name of its class.
    args : tuple
        Its arguments, constants.

    Raises
    ------
    ValueError
        If the table has no such class, or the class does not take these arguments.

    Examples
    --------
    >>> made_exception("ValueError", ("too large",))
    ValueError('too large')
    >>> made_exception("exec", ("print(1)",))
    Traceback (most recent call last):
    ...
    ValueError: exception of a kernel must be one of Python's own that kernels raise, got 'exec'
    """
    class_ = RAISABLE.get(name)
    if class_ is None:
        raise ValueError(f"exception of a kernel must be one of Python's own that kernels raise, got {name!r}")
    try:
        return class_(*args)
    except (TypeError, ValueError) as error:
        raise ValueError(f"arguments of {name} must be those that it takes, got {short_repr(args)}: {error}") from error
