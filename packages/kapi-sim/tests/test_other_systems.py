"""Names of other kernel languages are answered with kapi's own."""

import ast
import inspect
import operator
import re
from dataclasses import fields

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim import numba_cuda as cuda
from kapi_sim.language import KernelOptions
from kapi_sim.language.other_systems import SYSTEMS, hint
from kapi_sim.language.table.intrinsics import INTRINSICS
from kapi_sim.testing.reports import raises

ROWS = [
    (system, word, ours) for system in SYSTEMS for word, ours in [*system.words.items(), *system.common_words.items()]
]
METHODS = {row.name for row in INTRINSICS if row.owner} | {"bind", "bit_length", "elapsed_time", "fill", "tune", "view"}
ELSEWHERE = ("dpnp", "kapi_ptx", "kapi_runtime", "numba")  # what kapi-sim does without; tests/integration asks them


def nodes(code, kind):
    """Give the nodes of some kind in a piece of code."""
    source = code.replace("@", "_ = ").replace("...", "None")
    tree = ast.parse(source + " pass" if code.endswith(":") else source)
    return [node for node in ast.walk(tree) if isinstance(node, kind)]


def dotted_names(code):
    """Give the dotted names of a piece of code, each without what a call or subscript returns."""
    return [ast.unparse(node) for node in nodes(code, ast.Attribute)]


@pytest.mark.parametrize(("system", "word", "ours"), ROWS, ids=[f"{each[0].name}-{each[1]}" for each in ROWS])
def test_answers_are_code_of_kapis(system, word, ours):
    """Quoted code can be parsed, and every name of it exists."""
    for name in [name for code in re.findall("`([^`]*)`", ours) for name in dotted_names(code)]:
        root, *rest = name.split(".")
        if root == "math":
            assert rest in [[row.name] for row in INTRINSICS if row.owner == "math"]
        elif root in ("kapi", "np") and "(" not in name:
            assert operator.attrgetter(".".join(rest))({"kapi": kapi, "np": np}[root]) is not None
        elif root not in ELSEWHERE:
            assert rest[-1] in METHODS, name


KEYWORDS = sorted(
    {
        (ast.unparse(call.func), keyword.arg)
        for *_, ours in ROWS
        for code in re.findall("`([^`]*)`", ours)
        for call in nodes(code, ast.Call)
        for keyword in call.keywords
        if ast.unparse(call.func).startswith("kapi.")
    }
)


@pytest.mark.parametrize(("function", "keyword"), KEYWORDS)
def test_answers_give_keywords_that_functions_have(function, keyword):
    known = set(inspect.signature(operator.attrgetter(function.removeprefix("kapi."))(kapi)).parameters)
    assert keyword in (known | {each.name for each in fields(KernelOptions)} if function == "kapi.kernel" else known)


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
        ("jax.numpy.sum", "sum"),
        ("pl.program_id", "program_id"),
        ("ti.simt.block.sync", "simt.block.sync"),
        ("jit.grid", "grid"),
        ("thread_position_in_grid", "thread_position_in_grid"),
        ("gl_GlobalInvocationID.x", "gl_GlobalInvocationID"),
        ("hipThreadIdx_x", "hipThreadIdx_x"),
        ("kapi.to_device", "to_device"),
    ],
)
def test_intrinsics_are_found_by_their_path(path, word):
    assert f"`{word}` use " in hint(path.split("."))


@pytest.mark.parametrize(
    ("path", "ours"),
    [
        ("sqrt", "math.sqrt"),
        ("expf", "math.exp"),
        ("__expf", "math.exp"),
        ("log10f", "math.log10"),
        ("erf", "math.erf"),
        ("wp.sin", "math.sin"),
        ("torch.exp", "math.exp"),
        ("tl.maximum", "kapi.maximum"),
        ("math.max", "max"),
        ("group_barrier", "kapi.group_barrier"),
        ("sycl.plus", "kapi.plus"),
        ("NdItem", "kapi.NdItem"),
    ],
)
def test_names_of_every_language_are_found_where_they_are(path, ours):
    assert hint(path.split(".")) == f": write `{ours}`"


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
