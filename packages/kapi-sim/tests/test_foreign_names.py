"""Names of other kernel languages are answered with kapi's own."""

import ast
import re

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.language.table.foreign_names import SYSTEMS, hint
from kapi_sim.language.table.intrinsics import INTRINSICS
from kapi_sim.testing.reports import raises

ROWS = [
    (system, word, ours) for system in SYSTEMS for word, ours in [*system.words.items(), *system.common_words.items()]
]
METHODS = {row.name for row in INTRINSICS if row.owner} | {"bit_count", "bitwise_count", "uint64", "int32", "memory"}


@pytest.mark.parametrize(("system", "word", "ours"), ROWS, ids=[f"{each[0].name}-{each[1]}" for each in ROWS])
def test_answers_are_code_of_kapis(system, word, ours):
    """What stands in quotes can be parsed, and every name of it is there."""
    for code in re.findall("`([^`]*)`", ours):
        source = code.replace("@", "_ = ").replace("kapi_runtime.memory", "kapi.Item").replace(":", ": pass")
        source = source.replace("...", "None")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "kapi":
                assert hasattr(kapi, node.attr), code
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("np", "math", "kapi.MemoryScope"):
                assert node.attr in METHODS | set(kapi.MemoryOrder.__members__), code


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("cuda.grid", "grid"),
        ("numba.cuda.atomic.add", "atomic.add"),
        ("cuda.threadIdx.x", "threadIdx"),
        ("threadIdx.x", "threadIdx"),
        ("kapi.atomic", "atomic.add"),
        ("kapi.load", "load"),
        ("tl.load", "load"),
        ("triton.language.program_id", "program_id"),
        ("__syncthreads", "__syncthreads"),
        ("local_barrier", "local_barrier"),
        ("wp.tid", "tid"),
        ("sycl.range", "range"),
        ("atomicAdd", "atomicAdd"),
    ],
)
def test_words_are_found_by_their_path(path, word):
    assert f"`{word}` use " in hint(path.split("."))


@pytest.mark.parametrize("path", ["load", "mine.load", "tid", "cuda", "my_function", "np.random.rand", "tl"])
def test_other_names_have_no_hint(path):
    assert hint(path.split(".")) == ""


@pytest.mark.parametrize("name", ["syncthreads", "shared", "atomic", "get_global_id", "nd_range", "grid"])
def test_lookup_on_the_module_says_what_kapi_has(name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}': in place of .* use "):
        getattr(kapi, name)
    assert not hasattr(kapi, name)


def test_lookup_of_a_mistyped_name_has_no_hint():
    with pytest.raises(AttributeError, match="has no attribute 'Rnge'$"):
        kapi.Rnge  # noqa: B018


@kapi.kernel
def misses_names(nd_item: kapi.NdItem, a):
    i = cuda_.grid(1)  # noqa: F821
    kapi.syncthreads()
    a[i] = tl.load(a)  # noqa: F821


@kapi.kernel
def uses_cuda(nd_item: kapi.NdItem, a):
    i = cuda.threadIdx.x
    cuda.syncthreads()
    cuda.atomic.add(a, i, 1)


@kapi.kernel
def asks_item(nd_item: kapi.NdItem, a):
    nd_item.barrier()


def test_kernels_say_what_kapi_has():
    with raises(kapi.KernelCompilationError, "name-undefined", "module-attribute", line=("kapi.sync", "tl.load")):
        misses_names[4, 2](np.zeros(4))
    with raises(kapi.KernelCompilationError, "outside-object", "function-unknown", line="cuda.syncthreads()"):
        uses_cuda[4, 2](np.zeros(4))
    with raises(kapi.KernelCompilationError, "attribute-unknown"):
        asks_item[4, 2](np.zeros(4))
