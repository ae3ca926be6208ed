"""The answers to names of other systems that name kapi's device packages name what is there."""

import ast
import operator
import re

import dpnp
import numba
import numpy as np
import pytest

import kapi_ptx
import kapi_runtime
import kapi_sim
from kapi_sim.language.other_systems import SYSTEMS

MODULES = {"dpnp": dpnp, "kapi_ptx": kapi_ptx, "kapi_runtime": kapi_runtime, "numba": numba}
TEXTS = [text for system in SYSTEMS for text in (*system.words.values(), *system.common_words.values())]
CODES = sorted({code for text in TEXTS for code in re.findall("`([^`]*)`", text) if code.startswith(tuple(MODULES))})


@pytest.mark.parametrize("code", CODES)
def test_names_of_the_device_packages_are_there(code):
    names = [ast.unparse(node) for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)]
    plain = [name.split(".") for name in names if "(" not in name and name.split(".")[0] in MODULES]
    assert plain
    for module, *rest in plain:
        assert operator.attrgetter(".".join(rest))(MODULES[module]) is not None or rest == ["devices", "current"]


def test_answers_name_the_device_packages():
    assert len(CODES) > 15


CALLS = [
    "cuda.syncthreads()",
    "atomicAdd(a, 0, 1)",
    "tl.load(a)",
    "get_global_id(0)",
    "wp.tid()",
    "sycl.nd_item()",
    "ti.simt.block.sync()",
    "pl.program_id(0)",
    "jit.grid(1)",
    "thread_position_in_grid",
    "gl_GlobalInvocationID.x",
    "ct.bid(0)",
    "hipThreadIdx_x",
    "sqrt(2.0)",
    "group_barrier(item)",
]


@pytest.mark.parametrize("call", CALLS)
def test_both_worlds_answer_with_kapis_names(call, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"def kernel(item, a):\n    a[item.get_id(0)] = {call}\n", "utf-8")
    told = []
    for kapi, array in ((kapi_sim, np.zeros(4)), (kapi_runtime, dpnp.zeros(4))):
        names = {}
        exec(compile(program.read_text("utf-8"), str(program), "exec"), names)
        with pytest.raises(kapi_sim.KernelCompilationError) as raised:
            kapi.call_kernel(kapi.kernel(names["kernel"]), kapi.Range(4), array)
        (problem,) = raised.value.problems
        told.append((problem.code, problem.line, problem.text))
    assert told[0] == told[1]
    assert re.search(r": (in place of .* use|write) .*(`|nothing)", told[0][2])
