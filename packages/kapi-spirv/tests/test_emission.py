"""The helper process: one for many kernels, replaced when it dies, safe in threads, forks and pools."""

from __future__ import annotations

import os
import signal
import sys
import threading

import pytest
from numba import types

from kapi_lowering.emission import client
from kapi_lowering.emission.client import EmissionError, emit
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises
from kapi_spirv import SpirvTarget, compile_kernel
from kapi_types import ArrayType, ItemType

EMPTY = "define spir_kernel void @k() {\n  ret void\n}\n"
INDIRECT = """
define spir_kernel void @k(ptr addrspace(1) %p) {
  %f = load ptr, ptr addrspace(1) %p
  call spir_func void %f()
  ret void
}
"""
ARRAY = ArrayType(types.float32, 1, "C")


def helper_id():
    return client._helpers["kapi_spirv.emission"]._process.pid


def test_helper_process_serves_many_kernels(validated_compile):
    """It is started once; an earlier test's may be replaced for what its LLVM remembers."""
    client._stop(SpirvTarget())
    ids = set()
    for factor in (2, 3, 4):
        namespace = {}
        exec(f"def kernel(item, a):\n    a[item.get_id(0)] *= {factor}\n", namespace)
        validated_compile(namespace["kernel"], [ItemType(1), ARRAY])
        ids.add(helper_id())
    assert len(ids) == 1
    assert ids != {os.getpid()}


@pytest.mark.parametrize("is_reaped", [True, False])
def test_emission_survives_the_end_of_its_helper(is_reaped):
    """Ended by another program, whether or not that is known yet, it is replaced without a word."""
    emit([EMPTY], "k", SpirvTarget())
    ended = client._helpers["kapi_spirv.emission"]._process
    os.kill(ended.pid, signal.SIGKILL)
    if is_reaped:
        ended.wait()
    assert emit([EMPTY], "k", SpirvTarget()).code
    assert helper_id() != ended.pid


def test_values_without_names_are_converted(validate):
    """LLVM numbers values that its passes make; what is made of such a value has a name that LLVM reads."""
    lines = ["define spir_kernel void @k(ptr addrspace(1) %p, double %x) {"]
    for number, bits in enumerate((8, 32, 64), 1):
        lines += [
            f"  %{number} = call i{bits} @llvm.fptosi.sat.i{bits}.f64(double %x)",
            f"  store i{bits} %{number}, ptr addrspace(1) %p",
        ]
    calls = [f"declare i{bits} @llvm.fptosi.sat.i{bits}.f64(double)" for bits in (8, 32, 64)]
    assert not validate(emit(["\n".join([*lines, "  ret void", "}", *calls])], "k", SpirvTarget()).code)


def test_emission_error_names_what_llvm_died_of():
    """LLVM's last words become the exception, and the next emission works."""
    with pytest.raises(EmissionError, match="An indirect call is encountered but SPIR-V without extensions") as caught:
        emit([INDIRECT], "k", SpirvTarget())
    assert "call spir_func void %f()" in caught.value.llvm_ir
    assert emit([EMPTY], "k", SpirvTarget()).code


def test_emission_error_names_what_llvm_cannot_read():
    """Text that is no LLVM IR does not end the helper."""
    emit([EMPTY], "k", SpirvTarget())
    before = helper_id()
    with pytest.raises(EmissionError, match="(?s)LLVM IR that LLVM refuses: .*expected top-level entity"):
        emit(["no IR"], "k", SpirvTarget())
    assert helper_id() == before


def test_emission_error_reaches_the_kernels_author(monkeypatch):
    """As a KernelCompilationError that names the kernel, its location, its types and the construct."""

    def refuse(*args, **options):
        raise EmissionError(["65-bit integers (i65)"], "")

    def double(item, a):
        a[item.get_id(0)] *= 2

    monkeypatch.setattr("kapi_lowering.kernels.compilation.emit", refuse)
    line = double.__code__.co_firstlineno
    with raises(KernelCompilationError, "target-lacks", line="def double(item, a):") as caught:
        compile_kernel(double, [ItemType(1), ARRAY])
    assert caught.value.message == (
        f"kernel double ({__file__}:{line}) has code that SPIR-V cannot express: 65-bit integers (i65); "
        "compiled for item: Item(1d), a: array(float32, 1d, C)"
    )


def test_emission_links_modules_and_hides_all_but_the_entry_point():
    """A function of another module is inlined or internal."""
    caller = (
        "declare spir_func i32 @f(i32)\n"
        "define spir_kernel void @k(ptr addrspace(1) %p) {\n"
        "  %x = call spir_func i32 @f(i32 3)\n  store i32 %x, ptr addrspace(1) %p\n  ret void\n}\n"
    )
    callee = "define spir_func i32 @f(i32 %x) alwaysinline {\n  %y = add i32 %x, 4\n  ret i32 %y\n}\n"
    emitted = emit([callee, caller], "k", SpirvTarget())
    assert "store i32 7" in emitted.llvm_ir
    assert "@f" not in emitted.llvm_ir


def test_emission_without_optimisation_keeps_what_was_written():
    """For reading what the lowering made."""
    source = "define spir_kernel void @k(ptr addrspace(1) %p) {\n  %x = add i32 3, 4\n  ret void\n}\n"
    assert "%x = add i32 3, 4" in emit([source], "k", SpirvTarget(), passes="none").llvm_ir
    assert "add i32" not in emit([source], "k", SpirvTarget()).llvm_ir


def test_emission_from_threads(validate):
    """Answers do not get mixed up."""
    results = {}

    def run(number):
        source = f"define spir_kernel void @kernel_{number}() {{\n  ret void\n}}\n"
        results[number] = emit([source], f"kernel_{number}", SpirvTarget()).code

    threads = [threading.Thread(target=run, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f"kernel_{number}\0".encode() in code for number, code in results.items())
    assert len(results) == 16
    assert validate(results[7]) == ""


class _Interrupted:
    """A pipe on which the user's Ctrl-C arrives."""

    def __init__(self, pipe):
        self._pipe = pipe

    def readline(self):
        raise KeyboardInterrupt

    def close(self):
        self._pipe.close()


def test_interrupted_exchange_leaves_nothing_behind():
    """The answer that was not read is not the answer to the next request."""
    emit([EMPTY], "k", SpirvTarget())
    interrupted = client._helpers["kapi_spirv.emission"]._process
    interrupted.stdout = _Interrupted(interrupted.stdout)
    with pytest.raises(KeyboardInterrupt):
        emit([EMPTY.replace("@k", "@other")], "other", SpirvTarget())
    assert b"other" not in emit([EMPTY], "k", SpirvTarget()).code
    assert helper_id() != interrupted.pid
    assert interrupted.returncode is not None


KERNEL = """
import os, sys
from numba import types
from kapi_spirv import compile_kernel
from kapi_types import ItemType, ArrayType

def double(item, a):
    a[item.get_id(0)] *= 2

def compiled(_=None):
    return compile_kernel(double, [ItemType(1), ArrayType(types.float32, 1, "C")]).code
"""

FORK = (
    KERNEL
    + """
import threading
from kapi_lowering.emission import client
before = compiled()
client._lock.acquire()  # as if another thread were in the middle of an exchange
child = os.fork()
if child == 0:
    os._exit(0 if compiled() == before and client._helpers["kapi_spirv.emission"].owner == os.getpid() else 1)
client._lock.release()
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), compiled() == before)
"""
)


def test_emission_after_a_fork(run_python):
    """Parent and child each have a helper of their own, even if the parent's lock was held at the fork."""
    assert run_python(FORK).split() == ["0", "True"]


FORKS = (
    KERNEL
    + """
import signal, threading, time
before, at_work = compiled(), True
def compile_on():
    while at_work:
        compiled()
thread = threading.Thread(target=compile_on)
thread.start()
ends = []
for number in range(8):
    time.sleep(0.01 * number)
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends a child that hangs
        os._exit(0 if compiled() == before else 1)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
at_work = False
thread.join()
print(set(ends), compiled() == before)
"""
)


def test_children_that_are_forked_while_threads_compile_compile(run_python):
    """A fork waits for compilations under way, so that no child has half of one, or a lock that nobody releases."""
    assert run_python(FORKS).split() == ["{0}", "True"]


POOL = (
    KERNEL
    + """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
if __name__ == "__main__":
    with ProcessPoolExecutor(1 + (sys.argv[1] == "fork"), mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        codes = set(pool.map(compiled, range(4)))
    print(len(codes), codes == {compiled()})
"""
)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_emission_in_a_process_pool(run_python, method):
    """Pools of either kind compile, and end."""
    assert run_python(POOL, method).split() == ["1", "True"]


LEFT_BEHIND = (
    KERNEL
    + """
from kapi_lowering.emission import client
compiled()
print(client._helpers["kapi_spirv.emission"]._process.pid)
"""
)


def test_helper_process_ends_with_its_parent(run_python):
    """Nothing is left running."""
    pid = int(run_python(LEFT_BEHIND))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_helper_process_is_started_when_first_needed(run_python):
    """Importing the package starts nothing."""
    program = "from kapi_lowering.emission import client\nimport kapi_spirv\nprint(client._helpers)\n"
    assert run_python(program).split() == ["{}"]


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "helper-lost"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "helper-lost"),
        ("sys.stderr.write('LLVM ERROR: out of memory'); sys.exit(1)", "helper-lost"),
        ("raise MemoryError", "helper-lost"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "target-lacks"),
        ("sys.exit(3)", "target-lacks"),
    ],
)
def test_helper_that_is_ended_again_and_again_says_by_what(end, code, monkeypatch):
    """Nothing is wrong with the kernel where the system, or somebody, ends the helper."""

    def double(item, a):
        a[item.get_id(0)] *= 2

    client._stop_all()
    monkeypatch.setattr(
        client,
        "_START",
        f"import os, signal, sys\nprint({client._READY!r}, flush=True)\nsys.stdin.readline()\n{end}\n",
    )
    with raises(KernelCompilationError, code):
        compile_kernel(double, [ItemType(1), ARRAY])
    monkeypatch.undo()
    client._stop_all()
    assert compile_kernel(double, [ItemType(1), ARRAY]).code


@pytest.mark.parametrize("interpreter", ["", None, "/nowhere/python", "/bin/true", "/bin/cat", "frozen"])
def test_interpreter_that_is_none_is_named(interpreter, monkeypatch):
    """The kernel is not at fault where Python is a part of another program, or is frozen."""

    def double(item, a):
        a[item.get_id(0)] *= 2

    client._stop_all()
    if interpreter == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/bin/app" if interpreter == "frozen" else interpreter)
    with raises(KernelCompilationError, "helper-lost"):
        compile_kernel(double, [ItemType(1), ARRAY])
    monkeypatch.undo()
    assert compile_kernel(double, [ItemType(1), ARRAY]).code


def test_helper_may_print_before_it_is_ready(monkeypatch):
    """As files of the environment do that Python reads when it starts."""
    client._stop_all()
    monkeypatch.setattr(client, "_START", "print('welcome')\n" + client._START)
    assert emit([EMPTY], "k", SpirvTarget()).code
    client._stop_all()


def test_helper_that_cannot_import_says_what(monkeypatch):
    """Its last line names what it lacks."""
    client._stop_all()
    monkeypatch.setattr(client, "_START", "import no_such_llvmlite\n" + client._START)
    with pytest.raises(client.HelperNotStartedError, match="No module named 'no_such_llvmlite'"):
        emit([EMPTY], "k", SpirvTarget())


def test_helper_does_not_hear_the_terminal_s_ctrl_c():
    emit([EMPTY], "k", SpirvTarget())
    before = helper_id()
    os.kill(before, signal.SIGINT)
    assert emit([EMPTY], "k", SpirvTarget()).code
    assert helper_id() == before
