"""Faults planted in right programs: the simulator finds each, and says nothing of the programs as they were."""

from __future__ import annotations

import linecache
import math
import warnings
from zlib import crc32

import numpy as np
import pytest
from planted import cuda_programs, kapi_programs

import kapi_sim as kapi
import kapi_sim.numba_cuda as cuda

PROGRAMS = {
    **{f"kapi {name}": program for name, program in kapi_programs.PROGRAMS.items()},
    **{f"cuda {name}": program for name, program in cuda_programs.PROGRAMS.items()},
}
FAULTS = [(name, fault) for name, program in PROGRAMS.items() for fault in program.faults]
ORDERS = ({}, {"seed": 1}, {"seed": 7})


def run(name, source, **order):
    """Run a program's text under the controls of a simulation; warnings are errors."""
    program = PROGRAMS[name]
    filename = f"<{name} {crc32(source.encode())}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names = {"kapi": kapi, "cuda": cuda, "np": np, "math": math}
    exec(compile(source, filename, "exec"), names)
    with warnings.catch_warnings(), kapi.simulation(**order):
        warnings.simplefilter("error")
        if name.startswith("cuda"):
            cuda.jit(names["f"])[program.space](*program.arguments())
        else:
            kapi.call_kernel(kapi.kernel(names["f"]), kapi.NdRange(*program.space), *program.arguments())


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_program_is_left_alone(name, order):
    run(name, PROGRAMS[name].source, **order)


@pytest.mark.parametrize(("name", "fault"), FAULTS, ids=str)
def test_planted_fault_is_found(name, fault):
    program = PROGRAMS[name]
    with pytest.raises(program.faults[fault][2]):
        run(name, program.with_fault(fault))


def test_message_that_nobody_waits_for_is_found_in_another_order():
    source = PROGRAMS["kapi message"].source.replace("load() == 1", "load() < 2")
    with pytest.raises(kapi.DataRaceError) as caught:
        run("kapi message", source)
    assert "in reverse order" in "".join(caught.value.__notes__)


def test_faults_are_many():
    """A table that shrinks tests less than it did."""
    assert len(FAULTS) > 120
