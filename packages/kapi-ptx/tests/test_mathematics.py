"""Functions of numbers: PTX's own instructions where there are any, and NVIDIA's libdevice for the rest."""

from __future__ import annotations

import re

import pytest
from numba import types

from kapi_lowering.emission.llvm_ir import parse_module
from kapi_lowering.emission.pipeline import UnsupportedError, run_pass
from kapi_ptx import PtxTarget
from kapi_ptx.emission.legalize.validation import refuse_misspelled_names
from kapi_ptx.emission.libdevice import cached_file
from kapi_ptx.emission.libdevice import library as libdevice
from kapi_ptx.emission.libdevice.mathematics import lower_to_libdevice, needed_functions
from kapi_sim.language import KernelOptions
from kapi_types import ArrayType, ItemType

TARGET = PtxTarget(80)


def array(dtype):
    return ArrayType(getattr(types, dtype), 1, "C")


def kernel(expression):
    namespace = {}
    source = (
        f"import math\nimport numpy as np\ndef kernel(item, x, y):\n    i = item.get_id(0)\n    y[i] = {expression}\n"
    )
    exec(source, namespace)
    return namespace["kernel"]


@pytest.fixture
def code_of(assembled_compile):
    """The instructions of a kernel over two arrays, without addresses and memory."""

    def run(expression, dtype="float32", **options):
        signature = [ItemType(1), array(dtype), array(dtype)]
        module = assembled_compile(kernel(expression), signature, target=TARGET, options=KernelOptions(**options))
        body = module.ptx.partition("{\n")[2]
        return re.findall(r"^\s+([a-z][\w.]*\.f(?:16|32|64))\b", body, re.MULTILINE)

    return run


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("math.sqrt(x[i])", "sqrt.rn.f32"),
        ("abs(x[i])", "abs.f32"),
        ("np.floor(x[i])", "cvt.rmi.f32.f32"),
        ("np.ceil(x[i])", "cvt.rpi.f32.f32"),
        ("np.trunc(x[i])", "cvt.rzi.f32.f32"),
        ("x[i] / y[i]", "div.rn.f32"),
        ("x[i] ** 2", "mul.rn.f32"),
    ],
)
def test_function_that_ptx_has_needs_no_libdevice(code_of, expression, expected):
    assert code_of(expression) == [expected]


@pytest.mark.parametrize("function", ["sin", "cos", "exp", "log", "tanh", "erf", "lgamma", "cbrt", "expm1", "acos"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_function_of_libdevice_is_in_the_module(code_of, function, dtype):
    """Nothing is left to be linked, and float32 brings no float64 but for arguments that are large."""
    found = code_of(f"math.{function}(x[i])", dtype)
    assert len(found) > 3
    assert any(each.endswith(".f64" if dtype == "float64" else ".f32") for each in found)


def test_square_root_within_libdevice_is_exact(code_of):
    """libdevice's queries are answered: LLVM's own answer gives approximate roots."""
    found = code_of("math.hypot(x[i], y[i])")
    assert "sqrt.rn.f32" in found
    assert not [each for each in found if each.startswith("sqrt.approx")]


def test_subnormals_are_kept(code_of):
    for expression in ("math.log(x[i])", "math.sqrt(x[i])", "x[i] * y[i]"):
        assert not [each for each in code_of(expression) if ".ftz" in each and "ex2" not in each], expression


def test_remainder_is_libdevice_s(code_of):
    """LLVM's own code for it is wrong for large quotients."""
    assert "div.full.f32" not in code_of("math.fmod(x[i], y[i])")
    assert len(code_of("math.fmod(x[i], y[i])")) > 5


@pytest.mark.parametrize("fastmath", [False, ["nnan", "ninf"]])
def test_sum_of_a_product_is_two_instructions_unless_they_may_be_one(code_of, fastmath):
    assert code_of("x[i] * y[i] + x[i]", fastmath=fastmath) == ["mul.rn.f32", "add.rn.f32"]


def test_contraction_is_a_flag(code_of):
    assert code_of("x[i] * y[i] + x[i]", fastmath=["contract"]) == ["fma.rn.f32"]
    assert code_of("x[i] * y[i] + x[i]", "float64", fastmath=["contract"]) == ["fma.rn.f64"]


def test_fastmath_gives_approximations(code_of):
    assert code_of("x[i] / y[i]", fastmath=True) == ["div.approx.f32"]
    assert "ex2.approx.f32" in [each.replace(".ftz", "") for each in code_of("math.exp(x[i])", fastmath=True)]
    assert len(code_of("math.sin(x[i])", fastmath=True)) < len(code_of("math.sin(x[i])"))


def test_next_float16_is_computed_on_its_bits(assembled_compile):
    module = assembled_compile(
        kernel("np.nextafter(x[i], x[i + 1])"), [ItemType(1), array("float16"), array("float16")], target=TARGET
    )
    assert "__nv_" not in module.ptx


NAMED = """
define void @f(double %0, double %1) {{
  %3 = {0}
  ret void
}}
declare double @llvm.pow.f64(double, double) #1
declare double @llvm.exp.f64(double)
declare double @llvm.sqrt.f64(double)
"""


@pytest.mark.parametrize(
    ("instruction", "named"),
    [
        ("call double @llvm.pow.f64(double %0, double %1)", "call double @__nv_pow(double %0, double %1)"),
        ("call nnan afn double @llvm.exp.f64(double %0)", "call nnan afn double @__nv_exp(double %0)"),
        ("tail call fast double @llvm.exp.f64(double %0)", "tail call fast double @__nv_exp(double %0)"),
        ("frem double %0, %1", "call double @__nv_fmod(double %0, double %1)"),
        ("frem nnan double %0, 3.5", "call nnan double @__nv_fmod(double %0, double 3.5)"),
        ("call double @llvm.sqrt.f64(double %0)", "call double @llvm.sqrt.f64(double %0)"),
    ],
)
def test_functions_are_named_as_libdevice_names_them(instruction, named):
    text = run_pass(lower_to_libdevice, NAMED.format(instruction))
    assert f"%3 = {named}\n" in text
    for name in needed_functions(parse_module(text)):
        assert len(re.findall(rf"^declare double @{name}\(", text, re.MULTILINE)) == 1
    assert "call double @llvm.pow" not in text
    assert "declare double @llvm.sqrt" in text


def test_function_that_is_named_already_is_declared_once():
    text = "declare float @__nv_expf(float)\n" + NAMED.format("call float @llvm.exp.f32(float 2.0)")
    assert run_pass(lower_to_libdevice, text).count("declare float @__nv_expf") == 1


def test_remainder_of_float16_is_computed_in_float32():
    import llvmlite.binding as llvm

    text = "define half @f(half %0) {\n  %2 = frem half %0, 0xH4300\n  ret half %2\n}\n"
    named = run_pass(lower_to_libdevice, text)
    llvm.parse_assembly(named).verify()
    assert "call float @__nv_fmodf(float" in named


WITHOUT = """
import sys
sys.path.insert(0, sys.argv[1])
from kapi_ptx import compile_kernel
from kapi_sim import KernelCompilationError
from kapi_types import ItemType, ArrayType
from numba import types
import math


def exact(item, x):
    x[item.get_id(0)] = math.sqrt(x[item.get_id(0)])


def growth(item, x):
    x[item.get_id(0)] = math.exp(x[item.get_id(0)])


signature = [ItemType(1), ArrayType(types.float32, 1, "C")]
compile_kernel(exact, signature)
try:
    compile_kernel(growth, signature)
except KernelCompilationError as error:
    print(error)
"""


def test_kernel_that_needs_libdevice_says_what_brings_it(run_python, tmp_path):
    """Here another `cuda` stands in front of the installed one, as if there was none."""
    (tmp_path / "cuda.py").write_text("")
    said = run_python(WITHOUT, str(tmp_path))
    assert "kernel growth" in said
    assert "has code that PTX cannot express: __nv_expf of NVIDIA's libdevice, which is not installed" in said
    assert "install kapi-ptx[libdevice]" in said


def test_libdevice_that_is_not_found_is_none(monkeypatch):
    import cuda.pathfinder

    def not_found(name):
        raise RuntimeError("no such library")

    monkeypatch.setattr(cuda.pathfinder, "find_bitcode_lib", not_found)
    with pytest.raises(libdevice.LibraryError, match="__nv_expf of NVIDIA's libdevice, which is not installed"):
        libdevice.library(["__nv_expf"], "")


@pytest.fixture
def unread(monkeypatch):
    """The state of a process that has read no libdevice, which counts how often it cuts one."""
    cuts = []
    cut = libdevice._cut
    monkeypatch.setattr(libdevice, "_cut", lambda text: cuts.append(1) or cut(text))
    libdevice._read.cache_clear()
    yield cuts
    libdevice._read.cache_clear()


def test_cut_is_kept_in_memory_and_on_disk(unread, tmp_path):
    functions = libdevice.library(["__nv_expf"], str(tmp_path)).functions(["__nv_expf"], 80)
    libdevice.library(["__nv_expf"], str(tmp_path))
    assert len(unread) == 1
    libdevice._read.cache_clear()
    assert libdevice.library(["__nv_expf"], str(tmp_path)).functions(["__nv_expf"], 80) == functions
    assert len(unread) == 1
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    libdevice._read.cache_clear()
    libdevice.library(["__nv_expf"], str(tmp_path))
    assert len(unread) == 2


def test_function_is_cut_with_what_it_uses_and_no_more(tmp_path):
    library = libdevice.library(["__nv_sinf"], str(tmp_path))
    text = library.functions(["__nv_sinf"], 80)
    assert "@__cudart_i2opi_f = " in text
    assert "@__nv_cos" not in text
    assert "reflect" not in text
    assert len(text) < 40_000
    with pytest.raises(libdevice.LibraryError, match=r"__nv_none \(NVIDIA's libdevice has no function of that name\)"):
        library.functions(["__nv_none"], 80)


def test_folder_of_others_is_neither_read_nor_written(tmp_path):
    cached_file.write(str(tmp_path), "a", b"1")
    assert cached_file.read(str(tmp_path), "a") == b"1"
    tmp_path.chmod(0o777)
    assert cached_file.read(str(tmp_path), "a") is None
    cached_file.write(str(tmp_path), "b", b"2")
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_link_is_not_followed(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    cached_file.write(str(tmp_path), "other", b"1")
    (folder / "a").symlink_to(tmp_path / "other")
    assert cached_file.read(str(folder), "a") is None


@pytest.mark.parametrize("content", [b"", b"short", bytes(100)])
def test_file_that_was_changed_is_not_read(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    assert cached_file.read(str(tmp_path), "a") is None


def test_no_folder_is_no_cache(tmp_path):
    cached_file.write("", "a", b"1")
    assert cached_file.read("", "a") is None


@pytest.mark.parametrize(
    ("name", "spelled"),
    [('"a.b"', "a.b"), (r'"gr\C3\B6\C3\9Fe"', "größe"), ('"<lambda>"', "<lambda>")],
)
def test_name_that_ptx_cannot_spell_is_found(name, spelled):
    text = "define {}void @{}() {{\n  ret void\n}}\n"
    with pytest.raises(UnsupportedError) as caught:
        run_pass(refuse_misspelled_names, text.format("", name))
    assert caught.value.problems == [f"a function of the name {spelled} (PTX has ASCII's letters, digits, _ and $)"]
    assert "ret void" in run_pass(refuse_misspelled_names, text.format("internal ", name))
    assert "ret void" in run_pass(refuse_misspelled_names, text.format("", "good_1"))
