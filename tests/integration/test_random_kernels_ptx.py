"""Kernels written at random compile for NVIDIA's GPUs too, and `ptxas` assembles them; no GPU is needed for that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import nvidia
import pytest
import random_kernels
from cpu_backend import signature_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed

import kapi_ptx
import kapi_runtime

BLOCK, BLOCKS = 10, 30
TARGET = kapi_ptx.PtxTarget(80)


@pytest.fixture(scope="module")
def ptxas():
    """The assembler, in the folder that NVIDIA's wheels share."""
    return next(found for folder in nvidia.__path__ for found in Path(folder).glob("*/bin/ptxas"))


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_random_kernels_assemble(block, ptxas, tmp_path):
    refused = []

    @settings(
        max_examples=BLOCK, phases=[Phase.generate], deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @hypothesis_seed(int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + block)
    @given(program=random_kernels.programs())
    def assemble(program):
        said = assembled(program, ptxas, tmp_path / "module.ptx")
        if said:
            refused.append(f"{program.source}\n{said}")

    assemble()
    assert not refused, "\n\n".join(refused)


def assembled(program: Any, ptxas: Path, path: Path) -> str:
    """ptxas' messages on a program's PTX; an empty text if it takes it."""
    given = [array.seen(base) for array, base in zip(program.arrays.values(), program.bases(1), strict=True)]
    given += program.numbers(1)
    if program.has_groups:
        given += [kapi_runtime.LocalAccessor(random_kernels.GROUP, code) for code in program.tiles]
        given.append(kapi_runtime.LocalAccessor(random_kernels.CELLS, random_kernels.SPREAD[0]))
    signature = signature_of(len(program.spaces[0]), given, program.has_groups)
    module = kapi_ptx.compile_kernel(program.function(kapi_runtime), signature, target=TARGET)
    path.write_bytes(module.code)
    command = [ptxas, "-arch=sm_80", "-O0", "-c", path, "-o", path.with_suffix(".o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr or (f"status {done.returncode}" if done.returncode else "")
