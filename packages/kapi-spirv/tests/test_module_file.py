"""Module files from anywhere: what is read is what was written, or a `ModuleFileError`, in little time and memory."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import json
import math
import os
import struct
import subprocess
import sys
import time
import tracemalloc
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import types

from kapi_sim import AddressSpace
from kapi_sim.errors import ModuleFileError
from kapi_sim.language import KernelOptions
from kapi_sim.language.exceptions import RAISABLE
from kapi_sim.testing.reports import raises
from kapi_spirv import compile_kernel, read_module, write_module
from kapi_types import ArrayType, NdItemType, weak_int

FORMAT = b"kapi SPIR-V module 4\n"
F32 = ArrayType(types.float32, 1, "C")


def everything(item, pair, z, n, scratch, view):
    i = item.get_global_id(0)
    if n < 0:
        raise ValueError("n", -1, 2.5, True, None)
    if n == 7:
        raise OverflowError(INFINITE)
    scratch[item.get_local_id(0)] = z.real
    pair[0][i] = pair[1] + scratch[item.get_local_id(0)] + view[0, i] // n


INFINITE = math.inf


@pytest.fixture(scope="module")
def module():
    local = ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)
    signature = [
        NdItemType(1),
        types.Tuple((F32, weak_int)),
        types.complex64,
        types.int32,
        local,
        ArrayType(types.int32, 2, "A"),
    ]
    return compile_kernel(everything, signature, options=KernelOptions(debug=True, work_group_size=4))


@pytest.fixture(scope="module")
def data(module):
    return write_module(module, "the key")


def parts(data):
    """Header and what follows it."""
    body = data[len(FORMAT) + 32 :]
    end = 8 + int.from_bytes(body[:8], "little")
    return json.loads(body[8:end]), body[end:]


def packed(header, rest, length=None):
    """A file with a good checksum."""
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = (len(encoded) if length is None else length).to_bytes(8, "little") + encoded + rest
    return FORMAT + hashlib.sha256(body).digest() + body


def test_module_is_read_as_it_was_written(module, data):
    again = read_module(data, "the key")
    assert again.code == module.code
    assert again.failures == module.failures
    assert again.layout == module.layout
    assert again.options == module.options
    assert again.target == module.target
    assert [each.name for each in again.parameters] == ["pair[0]", "pair[1]", "z", "n", "scratch", "view"]
    assert (again.typed_ir, again.llvm_ir, again.optimized_llvm_ir) == (
        module.typed_ir,
        module.llvm_ir,
        module.optimized_llvm_ir,
    )
    assert any(each.args == ("n", -1, 2.5, True, None) for each in again.failures)
    assert any(each.args == (math.inf,) for each in again.failures)


def test_module_of_another_key_is_refused(data):
    with raises(ModuleFileError, "module-file-part"):
        read_module(data, "other")


@pytest.mark.parametrize(
    "name",
    [
        "x=__import__('os').system('true')",
        "x y",
        "lambda",
        "x, y",
        "",
        "1x",
        "x[",
        "x[0",
        "x[-1]",
        "x[0]y",
        "*x",
        "é\n",
    ],
)
def test_name_of_a_parameter_is_an_identifier(data, name):
    header, rest = parts(data)
    for each in header["layout"]:
        each[0] = name if each[0] == "n" else each[0]
    header["parameters"][3]["name"] = name
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header, rest))


@pytest.mark.parametrize("name", ["z", "pair", "pair[0]"])
def test_names_of_parameters_differ(data, name):
    header, rest = parts(data)
    for each in header["layout"]:
        each[0] = name if each[0] == "n" else each[0]
    header["parameters"][3]["name"] = name
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header, rest))


@pytest.mark.parametrize(
    "error", ["exec", "eval", "open", "print", "SystemExit", "KeyboardInterrupt", "__import__", ""]
)
def test_failure_has_a_class_of_the_table(data, error):
    header, rest = parts(data)
    header["failures"][0][:2] = [error, [["str", "open('found', 'w')"]]]
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header, rest))
    assert not os.path.exists("found")


def test_table_holds_exceptions_alone():
    assert all(isinstance(each, type) and issubclass(each, Exception) for each in RAISABLE.values())
    assert all(each.__name__ == name for name, each in RAISABLE.items())


# Where a value of another type may stand; "*" is each index of a list.
PATHS = [
    *[(name,) for name in ("name", "entry_point", "index_space", "ndim", "parameters", "layout", "failures", "notes")],
    *[(name,) for name in ("target", "options", "capabilities", "extensions", "key", "sizes")],
    *[("parameters", 0, name) for name in ("name", "kind", "type", "has_strides", "is_written")],
    *[
        ("parameters", 0),
        ("layout", 0),
        ("layout", 0, 0),
        ("layout", 0, 1),
        ("layout", 0, 2),
        ("sizes", 0),
        ("sizes", 1),
    ],
    *[("failures", 0), *(("failures", 0, i) for i in range(4)), ("failures", 0, 1, 0), ("capabilities", 0)],
    *[("target", name) for name in ("version", "extensions", "has_fp64", "float_atomic_add", "sub_group_sizes")],
    *[("options", name) for name in ("debug", "fastmath", "inline", "work_group_size", "sub_group_size")],
]
ODD = [
    None, True, 0, -1, 1, 3, 2**31, 2**63, 10**400, 0.5, 1e308, "", "x", "exec", "9" * 100_000, [], [[]], [None], {},
    {"a": 1}, [0] * 70_000, ["x"] * 70_000, [["str", "x"]], [["int", "9" * 5000]], [["float", "x"]], [["set", "x"]],
    "999999999s", [[["x"]]],
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_each_field_is_checked(module, data, path):
    """An odd value in one field is read as such there, and no field takes most of them."""
    original, rest = parts(data)
    refused = longest = 0
    for odd in ODD:
        header = copy.deepcopy(original)
        owner = header
        for step in path[:-1]:
            owner = owner[step]
        owner[path[-1]] = odd
        try:
            again = read_module(packed(header, rest))
        except ModuleFileError as error:
            refused += 1
            longest = max(longest, len(str(error)))
        else:
            assert again.code == module.code
    assert longest < 600
    assert refused >= len(ODD) - 9


@pytest.mark.parametrize("name", ["name", "parameters", "layout", "options", "sizes", "key"])
def test_header_lacks_nothing_and_has_nothing_else(data, name):
    header, rest = parts(data)
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header | {"more": 1}, rest))
    del header[name]
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header, rest))


@pytest.mark.parametrize("notes", ["x", [1], ["\x1b[2J"], ["two\nlines"], ["x" * 5000], ["x"] * 65, None])
def test_notes_are_a_few_printable_lines(data, notes):
    header, rest = parts(data)
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header | {"notes": notes}, rest))
    assert read_module(packed(header | {"notes": ["`ä` is int8"]}, rest)).notes == ("`ä` is int8",)


def test_layout_is_that_of_the_parameters(data):
    header, rest = parts(data)
    for change in (
        lambda layout: layout[:-1],
        lambda layout: layout[1:],
        lambda layout: [*layout, ["n", "value", "i"]],
        lambda layout: layout[::-1],
        lambda layout: [["range", "range", "q"], *layout],
        lambda layout: [each if each[1] != "stride" else [each[0], "shape", "q"] for each in layout],
        lambda layout: [each if each[1] != "pointer" else [each[0], "pointer", "b"] for each in layout],
        lambda layout: [],
    ):
        with raises(ModuleFileError, "module-file-part"):
            read_module(packed(header | {"layout": change(header["layout"])}, rest))


HOSTILE_JSON = {
    "nested lists": b"[" * 100_000,
    "nested mappings": b'{"a":' * 100_000,
    "closed nesting": b"[" * 100_000 + b"]" * 100_000,
    "digits": b"9" * 1_000_000,
    "not a number": b'{"ndim": NaN}',
    "infinite": b'{"ndim": -Infinity}',
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "k"}'.encode("utf-16"),
    "empty": b"",
    "cut": b'{"name": "k',
    "twice": b'{"name": "k"} {}',
    "null": b"null",
    "huge exponent": b'{"ndim": 1e999999999}',
}


@pytest.mark.parametrize("header", HOSTILE_JSON.values(), ids=HOSTILE_JSON)
def test_hostile_header_is_refused_in_little_time(header):
    start = time.process_time()
    with pytest.raises(ModuleFileError):
        read_module(packed(header, b""))
    assert time.process_time() - start < 2


@pytest.mark.parametrize("length", [0, 7, 2**22 + 1, 2**31, 2**63, 2**64 - 1])
def test_length_of_the_header_is_within_the_file(data, length):
    header, rest = parts(data)
    with pytest.raises(ModuleFileError):
        read_module(packed(header, rest, length))


def test_texts_that_unpack_to_half_a_gigabyte_are_refused(module, data):
    """A file of half a megabyte cannot take that memory."""
    header, _ = parts(data)
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 24)) for _ in range(32)) + packer.flush()
    header["sizes"][1] = len(bomb)
    file = packed(header, module.code + bomb)
    tracemalloc.start()
    try:
        with raises(ModuleFileError, "module-file-part"):
            read_module(file)
        assert tracemalloc.get_traced_memory()[1] < 1 << 28
    finally:
        tracemalloc.stop()


def test_texts_of_other_things_are_refused_in_little_memory(module, data):
    """A list of lists takes forty times the memory of its text."""
    header, _ = parts(data)
    for spelled in (b"[" + b"[]," * (1 << 24) + b"[]]", b"[" * (1 << 25), b'["", "", ' + b"0," * (1 << 24) + b'""]'):
        texts = zlib.compress(spelled, 1)
        header["sizes"][1] = len(texts)
        file = packed(header, module.code + texts)
        tracemalloc.start()
        try:
            with raises(ModuleFileError, "module-file-part"):
                read_module(file)
            assert tracemalloc.get_traced_memory()[1] < 1 << 29
        finally:
            tracemalloc.stop()


def test_name_that_comes_twice_is_refused(data):
    header, rest = parts(data)
    spelled = json.dumps(header)
    for more in ('"ndim": 1', '"ndim": 2', '"name": "other"'):
        with raises(ModuleFileError, "module-file-part", words=False):
            read_module(packed(f"{spelled[:-1]}, {more}}}".encode(), rest))


@pytest.mark.parametrize("given", [None, 3, "kapi SPIR-V module 4", ["x"]], ids=repr)
def test_what_is_no_bytes_is_refused(given):
    with raises(ModuleFileError, "module-file-format"):
        read_module(given)


def test_bytes_of_any_kind_are_read(data):
    assert read_module(bytearray(data)) == read_module(memoryview(data)) == read_module(data)


@pytest.mark.parametrize("texts", [b"", b"not zlib", zlib.compress(b"[1, 2, 3]"), zlib.compress(b"[]") + b"more"])
def test_texts_are_three(module, data, texts):
    header, _ = parts(data)
    header["sizes"][1] = len(texts)
    with pytest.raises(ModuleFileError):
        read_module(packed(header, module.code + texts))


@pytest.mark.parametrize("keep", [0, 3, 20, 24, 200, -4])
def test_code_that_is_no_spirv_is_refused(module, data, keep):
    """Drivers end the process over a module that is cut short."""
    header, rest = parts(data)
    code = module.code[:keep]
    header["sizes"][0] = len(code)
    with pytest.raises(ModuleFileError):
        read_module(packed(header, code + rest[len(module.code) :]))


def test_entry_point_is_in_the_code(data):
    header, rest = parts(data)
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header | {"entry_point": "main"}, rest))


def read_or_refuse(file):
    """Read a file that may be a module; any other error than the one is the test's."""
    with contextlib.suppress(ModuleFileError):
        read_module(file)


FUZZ = settings(suppress_health_check=list(HealthCheck))


@FUZZ
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(noise):
    for file in (noise, FORMAT + noise, packed(noise, noise), packed(noise, noise, len(noise) // 2)):
        with pytest.raises(ModuleFileError):
            read_module(file)


@FUZZ
@given(st.data())
def test_changed_bytes_are_refused(data, draw):
    """With the checksum that was written; every single bit counts."""
    position = draw.draw(st.integers(0, len(data) - 1))
    bit = draw.draw(st.integers(0, 7))
    changed = bytearray(data)
    changed[position] ^= 1 << bit
    with pytest.raises(ModuleFileError):
        read_module(bytes(changed))
    with pytest.raises(ModuleFileError):
        read_module(data[:position])


@FUZZ
@given(st.data())
def test_changed_bytes_with_a_good_checksum_do_no_harm(data, draw):
    body = bytearray(data[len(FORMAT) + 32 :])
    end = 8 + int.from_bytes(body[:8], "little")
    for _ in range(draw.draw(st.integers(1, 8))):
        body[draw.draw(st.integers(0, end + 200))] = draw.draw(st.integers(0, 255))
    read_or_refuse(FORMAT + hashlib.sha256(body).digest() + bytes(body))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["x", "exec", "q"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=12,
)


@FUZZ
@given(st.data())
def test_headers_of_other_values_do_no_harm(data, draw):
    header, rest = parts(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        owner, step = header, draw.draw(st.sampled_from(sorted(header)))
        while isinstance(owner[step], (list, dict)) and owner[step] and draw.draw(st.booleans()):
            owner = owner[step]
            keys = sorted(owner) if isinstance(owner, dict) else range(len(owner))
            step = draw.draw(st.sampled_from(list(keys)))
        owner[step] = draw.draw(JSON)
    read_or_refuse(packed(header, rest))


def test_reading_imports_no_numba(data, tmp_path):
    """A kernel from the cache does without."""
    (tmp_path / "module").write_bytes(data)
    program = (
        "import sys, pathlib, kapi_spirv\n"
        f"kapi_spirv.read_module(pathlib.Path({str(tmp_path / 'module')!r}).read_bytes())\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_argument_that_no_file_can_hold_is_named(module):
    from dataclasses import replace

    failing = replace(module, failures=(replace(module.failures[0], args=((1, 2),)),))
    with raises(ModuleFileError, "module-file-part"):
        write_module(failing)


def test_packed_argument_of_a_read_module_is_that_of_the_written_one(module, data):
    values = [1, 2, 3, 0.5, 0.25, 7, 4, 5, 6, 7, 8, 9, 10]
    assert len(values) == len(module.layout.fields)
    assert read_module(data).layout.pack(values) == module.layout.pack(values)
    with pytest.raises(struct.error):
        read_module(data).layout.pack(values[1:])


def test_module_with_linear_groups_is_read_as_it_was_written():
    """Kernels of sub-groups in two dimensions have the extents of groups in front of all else."""

    def kernel(item, a):
        a[item.get_global_id(0), item.get_global_id(1)] = item.get_sub_group().get_local_id()

    module = compile_kernel(kernel, [NdItemType(2), ArrayType(types.int32, 2, "C")])
    assert module.is_linear
    again = read_module(write_module(module))
    assert again.layout == module.layout
    header, rest = parts(write_module(module))
    header["layout"].pop(3)
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header, rest))


def test_file_that_was_cut_or_changed_says_so(data):
    changed = bytearray(data)
    changed[-1] ^= 1
    for wrong in (data[:-1], bytes(changed)):
        with raises(ModuleFileError, "module-file-changed"):
            read_module(wrong)
    with raises(ModuleFileError, "module-file-format"):
        read_module(b"something else")


def test_module_that_is_too_long_is_not_written(module):
    with raises(ModuleFileError, "module-file-too-large", words=False):  # which count bytes
        write_module(dataclasses.replace(module, typed_ir="x" * (1 << 26)))
