"""Every error and warning of kapi, under one root, with its cause and its cure.

All packages raise from here, so one ``except KapiError`` holds them all.  Each class is also
the builtin that fits it best, so code that knows nothing of kapi catches it too.  `ERRORS` is the
table of the classes, from which the documentation is printed; `kapi_sim.codes.CODES` is that of the causes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from kapi_sim.tracebacks import is_full, rendered

__all__ = [
    "ERRORS",
    "BarrierDivergenceError",
    "BenignRaceWarning",
    "CollectiveMismatchError",
    "DataRaceError",
    "DeadlockError",
    "DeviceNotFoundError",
    "DivisionByZeroError",
    "DriverError",
    "DtypeError",
    "ErrorRow",
    "ExecutionPlacementError",
    "Finding",
    "ForkError",
    "ImplicitCopyWarning",
    "KapiError",
    "KapiWarning",
    "KernelAssertionError",
    "KernelCompilationError",
    "KernelLaunchError",
    "KernelProblem",
    "LimitError",
    "ModuleFileError",
    "OperandError",
    "OutOfBoundsError",
    "LimitWarning",
    "MixedTypesWarning",
    "PartialRunWarning",
    "ScheduleDependenceWarning",
    "SimulatorOnlyWarning",
    "UninitializedReadError",
    "UsmAllocationError",
    "code_of",
    "message_of",
]


class KapiError(Exception):
    """Root of every error that kapi raises on purpose.

    Parameters
    ----------
    message : str
        What must be, what was given, and the remedy.
    code : str
        A row of `kapi_sim.codes.CODES`, which says the cause. Nothing is shown of an empty one.

    Attributes
    ----------
    code : str
        The same from version to version, as the words of the message are not.
    message : str
        The message without the code, with which ``str()`` ends.

    Examples
    --------
    >>> import kapi_sim as kapi
    >>> try:
    ...     kapi.Range(-1)
    ... except kapi.KapiError as error:
    ...     print(error.code)
    ...     print(error)
    range-extent
    extents of a Range must be integers of at least 0, got (-1,) [range-extent]
    """

    def __init__(self, message: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]" if self.code else self.message

    @property
    def _render_traceback_(self) -> Callable[[], list[str]]:
        """The lines that IPython shows; absent where all frames are wanted."""
        if is_full():
            raise AttributeError("_render_traceback_")
        return lambda: rendered(self)


class DataRaceError(KapiError, RuntimeError):
    """Two work-items used one memory location, at least one wrote, and nothing orders them.

    Cure: a `group_barrier` between the two lines if the work-items share a work-group; one writer
    for each element, an atomic, or two launches if they do not.
    """

    race: Any = None  # what a picture of it needs: `kapi_sim.checks.races.Race`


class OutOfBoundsError(KapiError, IndexError):
    """An index lies outside its axis.  Negative indices do: kernels know no wrap-around.

    Cure: guard the access (``if i < a.shape[0]``), or launch the range that the array has.
    """


class UninitializedReadError(KapiError, RuntimeError):
    """Local or private memory was read before anything was written to it.

    Cure: write each cell before it is read, with a `group_barrier` between if another work-item
    writes it.
    """


class BarrierDivergenceError(KapiError, RuntimeError):
    """A barrier was reached by a part of its group only, or different barriers were reached at once.

    Cure: move the barrier out of the branch, or make the condition the same for the whole group.
    """


class CollectiveMismatchError(KapiError, RuntimeError):
    """A group algorithm was reached by a part of its group, or with arguments that differ.

    Cure: call it where all work-items of the group come by, with the same uniform arguments.
    """


class DeadlockError(KapiError, RuntimeError):
    """A work-item waits for something that no schedule can bring about.

    Cure: do not spin on another work-group; split the work into two launches.
    """


class LimitError(KapiError, ValueError):
    """A launch asks for more than the language or the device allows.

    Cure: a smaller work-group or less local memory, as the message says.
    """


class DtypeError(KapiError, TypeError):
    """A value has a type that kernels do not take, or does not fit the other operand's type.

    Cure: convert the array or number before the launch, or choose a wider type.
    """


class DivisionByZeroError(KapiError, ZeroDivisionError):
    """An integer, or one of Python's own floats, was divided by zero.

    Cure: guard the divisor.  NumPy's floats give inf and nan, in the simulator as on a device.
    """


class OperandError(KapiError, ValueError):
    """An operator or a function has no result for the numbers that it was given.

    Cure: guard the operands, as the message says.
    """


class ExecutionPlacementError(KapiError, ValueError):
    """The array arguments of a launch are on different queues.

    Cure: copy explicitly, with ``to_device`` or ``asarray(device=...)``.
    """


class Finding(NamedTuple):
    """A problem of a part of a kernel, before its source location is known.

    Attributes
    ----------
    code : str
        A row of `kapi_sim.codes.CODES`.
    text : str
        What is wrong and what to write instead.
    """

    code: str
    text: str

    def at(self, filename: str, line: int) -> KernelProblem:
        """Return it as a problem at a line, from 1, of a source file."""
        return KernelProblem(self.code, filename, line, self.text)


@dataclass(frozen=True, slots=True)
class KernelProblem:
    """One construct that a kernel may not have.

    Attributes
    ----------
    code : str
        A row of `kapi_sim.codes.CODES`.
    filename : str
        Source file.
    line : int
        Line in it, from 1.
    text : str
        What is wrong and what to write instead.
    """

    code: str
    filename: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}: {self.text} [{self.code}]"


class KernelCompilationError(KapiError, RuntimeError):
    """A kernel cannot be compiled; the message lists every problem with its file and line.

    Cure: change the lines that the message names.

    Parameters
    ----------
    message : str
        What must be, what was given, and the remedy; or the list of the problems, each with its code.
    code : str
        The cause. If there are problems, it is the code of the first.
    problems : iterable of KernelProblem
        What the message lists.

    Attributes
    ----------
    problems : tuple of KernelProblem
        Empty if the message is about the whole kernel, or about its options.
    """

    def __init__(self, message: str = "", *, code: str = "", problems: Iterable[KernelProblem] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message, code=self.problems[0].code if self.problems else code)

    def __str__(self) -> str:
        return self.message if self.problems else super().__str__()


class KernelLaunchError(KapiError, RuntimeError):
    """A launch is invalid: index space, kernel and arguments do not fit each other.

    Cure: as the message says.
    """


class ModuleFileError(KapiError, ValueError):
    """Bytes are not a valid compiled kernel: another format, cut short, changed or inconsistent.

    Cure: write the file again, with `write_module` of the kapi that reads it.
    """


class KernelAssertionError(KapiError, AssertionError):
    """An ``assert`` in a kernel failed on a device in debug mode.

    Cure: run the kernel in the simulator, which stops at the line with all its variables.
    """


class DeviceNotFoundError(KapiError, RuntimeError):
    """No usable device was found; the message names the places of the search.

    Cure: install a driver, for instance ``pip install "kapi-runtime[opencl-cpu]"``.
    """


class DriverError(KapiError, RuntimeError):
    """The device driver refused or failed.

    Cure: ``python -m kapi_runtime`` shows devices and versions, and what is wrong with them.
    """


class UsmAllocationError(KapiError, MemoryError):
    """Memory on a device could not be had.

    Cure: smaller arrays, or fewer alive at once.
    """


class ForkError(KapiError, RuntimeError):
    """A child used a device that its parent had used, or compiled although a compilation was cut in two by the fork.

    Cure: start processes with the ``spawn`` method.
    """


class KapiWarning(UserWarning):
    """Root of every warning that kapi gives.

    Silence one with ``warnings.filterwarnings("ignore", category=kapi_sim.errors.<its class>)``.
    """


class BenignRaceWarning(KapiWarning):
    """Two work-items wrote equal values to one location, and nothing orders them."""


class ImplicitCopyWarning(KapiWarning):
    """A NumPy array was copied to a device and back for one launch; `device_context` was asked to warn."""


class LimitWarning(KapiWarning):
    """A launch asks for more than the smallest devices have, and no profile says which device it is for."""


class MixedTypesWarning(KapiWarning):
    """Control-flow paths give a kernel's variable numbers of different types, and a device has one type for all."""


class PartialRunWarning(KapiWarning):
    """Only some work-groups of a launch ran, as `simulation` was asked: the results of the others are missing."""


class ScheduleDependenceWarning(KapiWarning):
    """A kernel's outputs differ between two orders of its work-items."""


class SimulatorOnlyWarning(KapiWarning):
    """A control of the simulator was used on a device, where it checks nothing."""


def message_of(error: BaseException) -> str:
    """Return what an error says, without its code, for a message that takes it up."""
    return error.message if isinstance(error, KapiError) else str(error)


def code_of(error: BaseException, otherwise: str) -> str:
    """Return the code of an error, or another one where it is none of kapi's."""
    return error.code if isinstance(error, KapiError) else otherwise


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One row of `ERRORS`.

    Attributes
    ----------
    error : type
        The class.
    builtin : type
        The builtin exception that it also is.
    package : str
        Distribution that raises it first.
    cause, cure : str
        One line each: what happened, and the remedy.
    """

    error: type[Exception]
    builtin: type[Exception]
    package: str
    cause: str
    cure: str


_OF_COMPILERS = (KernelCompilationError, ModuleFileError)
_OF_RUNTIME = (
    ExecutionPlacementError, KernelAssertionError, DeviceNotFoundError, DriverError, UsmAllocationError, ForkError,
)  # fmt: skip


def _row(error: type[KapiError]) -> ErrorRow:
    """The row of a class, from the first two paragraphs of its docstring."""
    cause, _, rest = inspect.cleandoc(error.__doc__ or "").partition("\n\nCure: ")
    hint = " ".join(rest.partition("\n\n")[0].split())
    package = "kapi-spirv" if error in _OF_COMPILERS else "kapi-runtime" if error in _OF_RUNTIME else "kapi-sim"
    return ErrorRow(error, error.__bases__[1], package, cause.removesuffix("."), hint.removesuffix("."))


ERRORS: tuple[ErrorRow, ...] = tuple(map(_row, KapiError.__subclasses__()))
"""The table of errors: class, builtin base, package that raises it, cause and cure."""
