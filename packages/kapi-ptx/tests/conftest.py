from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import nvidia
import pytest

from kapi_lowering.emission.llvm_ir import parse_module
from kapi_ptx import compile_kernel


def _ptxas():
    """The assembler, in the folder that NVIDIA's wheels share."""
    for folder in nvidia.__path__:
        for found in Path(folder).glob("*/bin/ptxas"):
            return str(found)
    raise FileNotFoundError("ptxas must be installed, got none; it comes with nvidia-cuda-nvcc")


@pytest.fixture(scope="session")
def assemble(tmp_path_factory):
    """ptxas' messages on modules: an empty text if it takes them."""
    program = _ptxas()
    path = tmp_path_factory.mktemp("ptx") / "module.ptx"

    def run(modules):
        said = []
        # One at a time: given many, ptxas 13.5 crashes.
        for module in modules:
            path.write_bytes(module.code)
            done = subprocess.run(
                [program, f"-arch=sm_{module.target.sm}", "-O0", "-c", str(path), "-o", str(path.with_suffix(".o"))],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode or done.stderr:
                said.append(f"{module.name}: {done.stdout}{done.stderr} (status {done.returncode})")
        return "\n".join(said)

    return run


@pytest.fixture(scope="session")
def assembled_compile(assemble):
    """Compile a kernel and have ptxas assemble it: what a test makes alone comes from here."""

    def run(function, signature, **options):
        module = compile_kernel(function, signature, **options)
        said = assemble([module])
        assert said == "", said
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
