"""Emission of code from LLVM IR, in a helper process: LLVM's back end ends the process it runs in when it gives up.

Each target has a helper of its own, since LLVM's options are a process's. It is started when first needed, and again
after it died.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kapi_lowering.target import Target
from kapi_sim import environment_variables
from kapi_sim.forks import block_forks, in_children, reinit_after_fork

__all__ = ["EmissionError", "Emitted", "HelperEndedError", "HelperNotStartedError", "disassemble", "emit", "prepare"]

Passes = Literal["all", "needed", "none"]

# What the helper runs: the folders of this package and of the target alone, since importing the packages around them
# takes Numba's time: empty modules stand in for these.
_START = """
import importlib.util, signal, sys, types
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal reaches the helper as well
sys.path[:] = {path!r}
def load(name, file, folder):
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folder)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def stand_in(name):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
stand_in("kapi_lowering")
stand_in({name!r}.rpartition(".")[0])
load("kapi_lowering.emission", {shared!r}, [{shared_folder!r}])
from kapi_lowering.emission import server
emission = load({name!r}, {emission!r}, [{folder!r}])
print({ready!r}, flush=True)  # after whatever the environment's own start files print
server.main(emission)
"""
_READY = "kapi's helper is ready"
_LAST_WORDS = 4000  # characters kept of what a dying helper says
_CRASHES = ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS")
"""Signals by which a program ends itself; of the others, somebody else ended it."""
_WITHOUT_MEMORY = ("out of memory", "bad_alloc", "MemoryError")


class EmissionError(Exception):
    """LLVM cannot make code of this.

    - `problems`: each construct that prevents it.
    - `llvm_ir`: the IR it was found in.
    """

    def __init__(self, problems: Sequence[str], llvm_ir: str) -> None:
        self.problems = tuple(problems)
        self.llvm_ir = llvm_ir
        super().__init__("; ".join(self.problems))


class HelperEndedError(Exception):
    """The helper process was ended, again and again, by somebody else or by a lack of memory; the message says how."""

    def __init__(self, how: str) -> None:
        super().__init__(
            f"ended twice: {how}. The kernel is not at fault; the machine may be short of memory: free some, and "
            "launch again"
        )


class HelperNotStartedError(HelperEndedError):
    """The interpreter cannot be started again, as where Python is a part of another program; the message says why."""

    def __init__(self, why: str) -> None:
        Exception.__init__(
            self,
            f"could not be started: {why.rstrip('.')}. The kernel is not at fault; sys.executable must be a "
            f"Python interpreter that can import llvmlite, got {sys.executable!r}: set it where Python is "
            "a part of another program, or precompile the kernel",
        )


@dataclass(frozen=True, slots=True)
class Emitted:
    """The code, and the optimised LLVM IR it was made of."""

    code: bytes
    llvm_ir: str


def emit(modules: Sequence[str], entry_point: str, target: Target, *, passes: Passes = "all") -> Emitted:
    """Link LLVM IR, optimise it and emit code.

    - `modules`: LLVM IR text.
    - `entry_point`: the one function that stays visible.
    - `passes`: LLVM's optimisation; only what makes functions and structures disappear, which the back end may end the
      process on; or nothing.

    Raises `EmissionError` if the IR holds what the back end cannot lower, whether found before or by the helper's
    death; `HelperEndedError` if the helper was ended from outside, and so was the one after it.
    """
    sources = [module.encode() for module in modules]
    request = _request(sources, entry_point, target) | {"passes": passes}
    with block_forks(), _lock:
        try:
            header, body = _ask(target, request, b"".join(sources))
            if not header["problems"] and not target.is_sound(body[: header["code"]]):
                # What the helper's LLVM remembers of earlier modules got into this one; a new helper remembers none.
                _stop(target)
                header, body = _ask(target, request, b"".join(sources))
        except _HelperDied as death:
            raise death.error("\n".join(modules)) from None
    if header["problems"]:
        raise EmissionError(header["problems"], body.decode())
    size = header["code"]
    return Emitted(body[:size], body[size:].decode())


def prepare(target: Target) -> None:
    """Start the target's helper, if none runs, and return at once: it gets ready while IR is made for it.

    A helper that cannot be started is left for `emit` to report.
    """
    with block_forks(), _lock, contextlib.suppress(HelperNotStartedError):
        _helper(target)


def disassemble(llvm_ir: str, entry_point: str, target: Target) -> str:
    """The code of optimised LLVM IR as text, in LLVM's spelling.

    Raises `EmissionError` if the back end cannot lower it; `HelperEndedError`: as `emit`.
    """
    source = llvm_ir.encode()
    request = _request([source], entry_point, target) | {"passes": "none", "assembly": True}
    with block_forks(), _lock:
        try:
            header, body = _ask(target, request, source)
        except _HelperDied as death:
            raise death.error(llvm_ir) from None
    if header["problems"]:
        raise EmissionError(header["problems"], llvm_ir)
    return body.decode()


def _request(sources: Sequence[bytes], entry_point: str, target: Target) -> dict[str, Any]:
    return {
        "sizes": [len(source) for source in sources],
        "size": sum(len(source) for source in sources),
        "entry_point": entry_point,
        "triple": target.triple,
        **target.emission_request(),
        "assembly": False,
        "dump": environment_variables.DUMP_PASSES.text,
        "limit": environment_variables.PASS_LIMIT.number(-1),
    }


def _ask(target: Target, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The helper's answer; of a second one if the first ended without a message, as by another program."""
    try:
        return _helper(target).ask(request, body)
    except _HelperDied as death:
        if death.has_cause:
            raise
    return _helper(target).ask(request, body)


class _HelperDied(Exception):
    """A helper's end: its last message, whether that names a cause in the IR, and whether another program ended it."""

    def __init__(self, last_words: str, has_cause: bool, was_ended: bool = False) -> None:
        self.last_words, self.has_cause, self.was_ended = last_words, has_cause, was_ended
        super().__init__(last_words)

    def error(self, llvm_ir: str) -> Exception:
        """The exception for the caller."""
        return HelperEndedError(self.last_words) if self.was_ended else EmissionError([self.last_words], llvm_ir)


class _Helper:
    """One running helper process, owned by the process that started it."""

    def __init__(self, emission: str) -> None:
        found = importlib.util.find_spec(emission)
        assert found is not None
        assert found.origin is not None
        shared = Path(__file__).with_name("__init__.py")
        # The helper finds llvmlite where this process does, and sees nothing else of the environment's Python settings.
        start = _START.format(
            path=sys.path,
            shared=str(shared),
            shared_folder=str(shared.parent),
            name=emission,
            emission=found.origin,
            folder=str(Path(found.origin).parent),
            ready=_READY,
        )
        self.owner = os.getpid()
        self._is_ready = False
        # A frozen program would run itself again, without end, unless it names an interpreter.
        is_frozen = getattr(sys, "frozen", False) and not Path(sys.executable or "").name.startswith("python")
        if not sys.executable or is_frozen:
            raise HelperNotStartedError("this Python has no interpreter of its own")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", start],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                close_fds=False,  # so that it is spawned: a fork runs other libraries' handlers, which complain
            )
        except OSError as error:
            raise HelperNotStartedError(str(error)) from error

    def is_usable(self) -> bool:
        """Whether the helper runs, and is not one that a fork has copied the pipes of."""
        return self.owner == os.getpid() and self._process.poll() is None

    def ask(self, request: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
        """Send one request and wait for its answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request).encode() + b"\n" + body)
            stdin.flush()
            self._is_ready = self._is_ready or any(each.strip() == _READY.encode() for each in stdout)
            line = stdout.readline()
            if line:
                header: dict[str, Any] = json.loads(line)
                return header, stdout.read(header["size"])
        except BrokenPipeError:
            pass
        except BaseException:
            # An interrupted exchange leaves the answer in the pipe: this helper's next one would be wrong.
            self.stop()
            raise
        raise self._death()

    def _death(self) -> _HelperDied:
        """The last lines that the helper wrote."""
        status = self._process.wait()
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace").strip()
        self.stop()
        name = _signal_name(status)
        if name and name not in _CRASHES:
            return _HelperDied(f"its end by {name}", False, True)
        if any(words in said for words in _WITHOUT_MEMORY):
            return _HelperDied("its end for want of memory", False, True)
        if not self._is_ready:
            last = said.splitlines()[-1:] or [f"it ended with status {status}"]
            raise HelperNotStartedError(last[0])
        for line in said.splitlines():
            if "LLVM ERROR" in line:
                return _HelperDied(line.split("LLVM ERROR:", 1)[-1].strip(), True)
        return _HelperDied(said[-_LAST_WORDS:] or f"LLVM ended without a word (status {status})", bool(said))

    def leave(self) -> None:
        """Redirect this process's end of the pipe, as a child, to nowhere."""
        assert self._process.stdin is not None
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._process.stdin.fileno())
        os.close(nowhere)

    def stop(self) -> None:
        """End the helper and wait for its end; nothing of it is left behind."""
        if self.owner != os.getpid():
            return
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:  # what was never sent need not arrive
                    pass


def _signal_name(status: int) -> str:
    """The signal that ended a process, if one did."""
    try:
        return signal.Signals(-status).name if status < 0 else ""
    except ValueError:
        return f"signal {-status}"


_lock = reinit_after_fork(threading.Lock())
_helpers: dict[str, _Helper] = {}


def _helper(target: Target) -> _Helper:
    """The helper of a target's back end."""
    helper = _helpers.get(target.emission)
    if helper is None or not helper.is_usable():
        _stop(target)
        helper = _helpers[target.emission] = _Helper(target.emission)
    return helper


def _stop(target: Target) -> None:
    helper = _helpers.pop(target.emission, None)
    if helper is not None:
        helper.stop()


def _stop_all() -> None:
    for helper in _helpers.values():
        helper.stop()


def _after_fork_in_child() -> None:
    """The child starts helpers of its own, and sends nothing to its parent's, not even what a buffer holds."""
    for helper in _helpers.values():
        helper.leave()
    _helpers.clear()


atexit.register(_stop_all)
in_children(_after_fork_in_child)
