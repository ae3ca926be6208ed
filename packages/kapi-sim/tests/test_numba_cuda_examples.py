"""The programs by which numba-cuda's documentation teaches run, and the fault of each version of them is found."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest
from planted.versions import names_of

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.errors import BarrierDivergenceError, BenignRaceWarning, DataRaceError, KapiError, OutOfBoundsError

FAULTS = {"race": DataRaceError, "divergence": BarrierDivergenceError, "outside": OutOfBoundsError}
FILE = Path(__file__).parent / "planted" / "cuda_examples.py"


def programs(version):
    names = names_of(FILE, version, ("right", *FAULTS))
    return [value for value in names.values() if inspect.isclass(value) and hasattr(value, version)]


PROGRAMS = programs("right")
PLANTED = [
    pytest.param(program, fault, id=f"{program.__name__}-{fault}") for fault in FAULTS for program in programs(fault)
]


def launch(program, function):
    arguments = program.arguments()
    cuda.jit(function)[program.blocks, program.threads](*arguments)
    return arguments


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_right_programs_run(program):
    program.check(*launch(program, program.right))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_right_programs_run_in_any_order(program, seed):
    with kapi.simulation(seed=seed):
        program.check(*launch(program, program.right))


@pytest.mark.parametrize(("program", "fault"), PLANTED)
def test_fault_is_found(program, fault):
    function = getattr(program, fault)
    lines, first = inspect.getsourcelines(function)
    named = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# named")]
    # Of the threads that a race is between, the first two may store what is equal.
    warnings.simplefilter("ignore", BenignRaceWarning)
    with pytest.raises(FAULTS[fault]) as info:
        launch(program, function)
    text = str(info.value)
    assert [line for line in named if f".py:{line}" not in text] == []
    assert not [word for word in ("work-item", "work-group", "sub-group", "group_barrier") if word in text]
    assert "thread " in text
    assert isinstance(info.value, KapiError)
