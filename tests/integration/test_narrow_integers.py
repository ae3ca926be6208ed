"""Bools and integers of all widths through LLVM's SPIR-V back end and the driver: right, or refused by name.

The same functions are run on the host by llvmlite's own compiler, and on the device, unoptimised: what LLVM's passes
may leave behind is given to the back end as it stands.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kapi_lowering.emission.client import EmissionError, emit
from kapi_lowering.emission.pipeline import UnsupportedError, run_pass
from kapi_spirv import SpirvTarget
from kapi_spirv.emission.legalize.validation import refuse_unsupported


def imported(name: str) -> Any:
    """A module of this folder, which is on no path."""
    specification = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = sys.modules[name] = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


narrow = imported("narrow_cases")

ENDS = (
    0, 1, 2, 3, -1, -2, 5, 7, 127, 128, 255, 256, -128, 32767, -32768, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1,
    -(2**63), 12345678901234,
)  # fmt: skip
PAIRS = [(x, y) for x in ENDS for y in ENDS]
BATCH = 40

COMMON = """
import ctypes, itertools, pickle, sys
import numpy as np
given = pickle.loads(sys.stdin.buffer.read())
xs, ys = (np.array(column, np.int64) for column in zip(*given["pairs"], strict=True))
results = {}
"""
ON_THE_HOST = (
    COMMON
    + """
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
for names, text in given["batches"]:
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), machine)
    engine.finalize_object()
    for number, name in enumerate(names):
        function = call(engine.get_function_address(f"f{number}"))
        results[name] = [function(int(x), int(y)) for x, y in zip(xs, ys, strict=True)]
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
sys.stdout.buffer.write(pickle.dumps(results))
"""
)
ON_THE_DEVICE = (
    COMMON
    + """
import os, warnings
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
import pyopencl as cl
warnings.simplefilter("ignore")
device = next(d for p in cl.get_platforms() for d in p.get_devices() if "SPIR-V_1.2" in d.il_version)
context = cl.Context([device])
queue = cl.CommandQueue(context)
def shared(array):
    flags = cl.svm_mem_flags.READ_WRITE | cl.svm_mem_flags.SVM_FINE_GRAIN_BUFFER
    copy = cl.svm_empty(context, flags, array.shape, array.dtype)
    copy[...] = array
    return copy
x, y = shared(xs), shared(ys)
for names, code in given["batches"]:
    out = shared(np.full((len(names), len(xs)), -77, np.int64))
    kernel = cl.Kernel(cl.Program(context, code).build(), "k")
    kernel.set_args(cl.SVM(x), cl.SVM(y), cl.SVM(out))
    cl.enqueue_nd_range_kernel(queue, kernel, (len(xs),), None).wait()
    results |= dict(zip(names, out.tolist(), strict=True))
answers.write(pickle.dumps(results))
"""
)


def _functions(batch, *, is_kernel):
    """The functions `f0`, `f1`, ... of the cases as LLVM IR, for a kernel or for the host."""
    text = "\n".join(dict.fromkeys(line for case in batch for line in case.declarations)) + "\n"
    for number, case in enumerate(batch):
        lines = "\n".join(line if line.endswith(":") else f"  {line.strip()}" for line in case.body.splitlines())
        text += f"define {'internal spir_func ' * is_kernel}i64 @f{number}(i64 %x, i64 %y) {{\nentry:\n{lines}\n"
        text += "  ret i64 %r\n}\n"
    if not is_kernel:
        # The host has one memory, and computes in half only with a library that is not there.
        text = text.replace("spir_func ", "").replace("addrspace(1) ", "")
        text = text.replace("fpext half", "bitcast float").replace("half", "float")
    return text


def _kernel(batch):
    """A kernel that calls each function, and stores what it gives behind that of the one before."""
    text = (
        _functions(batch, is_kernel=True)
        + """
declare spir_func i64 @_Z13get_global_idj(i32) nounwind memory(none)
define spir_kernel void @k(ptr addrspace(1) %xs, ptr addrspace(1) %ys, ptr addrspace(1) %out) {
entry:
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %xp = getelementptr i64, ptr addrspace(1) %xs, i64 %i
  %x = load i64, ptr addrspace(1) %xp
  %yp = getelementptr i64, ptr addrspace(1) %ys, i64 %i
  %y = load i64, ptr addrspace(1) %yp
"""
    )
    for number in range(len(batch)):
        text += f"""
  %r{number} = call spir_func i64 @f{number}(i64 %x, i64 %y)
  %j{number} = add i64 %i, {number * len(PAIRS)}
  %o{number} = getelementptr i64, ptr addrspace(1) %out, i64 %j{number}
  store i64 %r{number}, ptr addrspace(1) %o{number}
"""
    return text + "  ret void\n}\n"


def _run(program, batches, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps({"pairs": PAIRS, "batches": batches}),
        env=os.environ | environment, capture_output=True, timeout=540, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return pickle.loads(done.stdout)


def _batches(those):
    return [those[start : start + BATCH] for start in range(0, len(those), BATCH)]


@pytest.fixture
def validate(tmp_path):
    """spirv-val's messages on a binary: an empty text if it is valid."""
    roots = [Path(path) for path in sys.path if path.endswith("site-packages")]
    # The wheel's command is a Python program that starts the validator, and takes thirty times as long.
    program = next(path for root in roots if (path := root / "cmeel.prefix" / "bin" / "spirv-val").is_file())

    def run(code, environment):
        path = tmp_path / "module.spv"
        path.write_bytes(code)
        done = subprocess.run([program, "--target-env", environment, path], capture_output=True, text=True, check=False)
        return done.stdout + done.stderr if done.returncode else ""

    return run


def driver():
    """The OpenCL CPU driver's library, as its wheel installed it."""
    (library,) = [
        file.locate()
        for file in importlib.metadata.files("intel-opencl-rt")
        if re.fullmatch(r"libintelocl\.so[.\d]*|intelocl64\.dll", file.name)
    ][:1]
    return os.path.realpath(library)


@pytest.mark.nightly
@pytest.mark.parametrize("width", narrow.NARROW_WIDTHS)
def test_integers_of_a_width_that_spirv_has(width, validate):
    """Each function over them is refused, or is valid SPIR-V and gives on the device what it gives on the host."""
    taken, refused = [], {}
    for case in narrow.cases(width):
        try:
            code = emit([_kernel([case])], "k", SpirvTarget(), passes="none").code
        except EmissionError as error:
            refused[case.name] = str(error)
            continue
        # The validator's OpenCL leaves out what devices need not have, though the specification allows them.
        said = validate(code, "spv1.2" if "atomicrmw" in case.name else "opencl2.2")
        assert said == "", f"{case.name}: {said}"
        taken.append(case)
    batches = _batches(taken)
    kernels = [
        ([case.name for case in batch], emit([_kernel(batch)], "k", SpirvTarget(), passes="none").code)
        for batch in batches
    ]
    given = _run(ON_THE_DEVICE, kernels, OCL_ICD_VENDORS=driver(), PYOPENCL_NO_CACHE="1")
    hosts = [([case.name for case in batch], _functions(batch, is_kernel=False)) for batch in batches]
    expected = _run(ON_THE_HOST, hosts)
    differing = {
        name: next((*pair, e, g) for pair, e, g in zip(PAIRS, expected[name], given[name], strict=True) if e != g)
        for name in expected
        if expected[name] != given[name]
    }
    print(f"i{width}: {len(taken)} functions ran on {len(PAIRS)} pairs, {len(refused)} were refused")
    assert differing == {}, differing
    assert len(taken) > 130
    # What LLVM's passes do make of kernels must not be among them.
    usual = re.compile(r"^(add|sub|and|or|xor|icmp .*|select.*|[sz]ext .*|trunc i.*|[su]itofp .*|phi|freeze|not) ")
    assert [name for name in refused if usual.match(name) and "<" not in name] == []


def is_refused(text: str) -> bool:
    try:
        run_pass(refuse_unsupported, text)
    except UnsupportedError:
        return True
    return False


@pytest.mark.parametrize("width", narrow.ODD_WIDTHS)
def test_integers_of_a_width_that_spirv_lacks(width):
    """Whatever is done with them, they are named before the back end sees them."""
    passed = [case.name for case in narrow.cases(width) if not is_refused(_kernel([case]))]
    # Of a case over these widths none is without one, but where the constant folds away in the text itself.
    assert passed == []
