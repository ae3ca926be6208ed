"""Files of modules: what was written is read, and nothing else. The fuzzing of the format is kapi-spirv's."""

from __future__ import annotations

import hashlib
import json

import pytest
from numba import types

from kapi_ptx import compile_kernel, entry_points, read_module, write_module
from kapi_sim import AddressSpace
from kapi_sim.errors import ModuleFileError
from kapi_sim.language import KernelOptions
from kapi_sim.testing.reports import raises
from kapi_types import ArrayType, NdItemType

FORMAT = b"kapi PTX module 2\n"
F32 = ArrayType(types.float32, 1, "C")


def everything(item, x, z, n, scratch):
    i = item.get_global_id(0)
    if n < 0:
        raise ValueError("n", -1, 2.5, True, None)
    scratch[item.get_local_id(0)] = z.real
    x[i] = x[i] + scratch[item.get_local_id(0)] // n


@pytest.fixture(scope="module")
def module():
    local = ArrayType(types.float32, 1, "C", address_space=AddressSpace.LOCAL)
    signature = [NdItemType(1), F32, types.complex64, types.int32, local]
    return compile_kernel(everything, signature, options=KernelOptions(debug=True, work_group_size=4))


@pytest.fixture(scope="module")
def data(module):
    return write_module(module, "the key")


def parts(data):
    """Header and what follows it."""
    body = data[len(FORMAT) + 32 :]
    end = 8 + int.from_bytes(body[:8], "little")
    return json.loads(body[8:end]), body[end:]


def packed(header, rest):
    """A file with a good checksum."""
    encoded = json.dumps(header).encode()
    body = len(encoded).to_bytes(8, "little") + encoded + rest
    return FORMAT + hashlib.sha256(body).digest() + body


def test_module_is_read_as_it_was_written(module, data):
    again = read_module(data, "the key")
    for name in ("name", "code", "entry_point", "index_space", "ndim", "layout", "failures", "target", "options"):
        assert getattr(again, name) == getattr(module, name), name
    assert again.local_itemsizes == module.local_itemsizes == (4,)
    assert [each.name for each in again.parameters] == [each.name for each in module.parameters]
    assert again.llvm_ir == module.llvm_ir
    assert write_module(again, "the key") == data


def test_file_with_another_key_is_refused(data):
    with raises(ModuleFileError, "module-file-part"):
        read_module(data, "another")


def test_file_of_another_code_generator_is_refused(data):
    with raises(ModuleFileError, "module-file-format"):
        read_module(b"kapi SPIR-V module 4\n" + data[len(FORMAT) :])


@pytest.mark.parametrize(
    ("length", "code"), [(0, "format"), (10, "format"), (40, "changed"), (100, "changed"), (-1, "changed")]
)
def test_file_that_was_cut_short_is_refused(data, length, code):
    with raises(ModuleFileError, f"module-file-{code}"):
        read_module(data[:length])


@pytest.mark.parametrize(
    ("value", "requirement"),
    [
        ([4, 4], "one for each of 1 local parameters"),
        ([0], "sizes of 1 to 65536 bytes"),
        ([65537], "sizes of 1 to 65536 bytes"),
        ([True], "sizes of 1 to 65536 bytes"),
        ([4.0], "sizes of 1 to 65536 bytes"),
        ("4", "a list of at most 65536 entries"),
        (None, "a list of at most 65536 entries"),
    ],
)
def test_sizes_of_local_memory_are_checked(data, value, requirement):
    header, rest = parts(data)
    header["local_itemsizes"] = value
    with raises(ModuleFileError, "module-file-part"):
        read_module(packed(header, rest))


@pytest.mark.parametrize(
    "change",
    [
        {"target": {"sm": 81}},
        {"target": {"sm": True}},
        {"target": {"version": "6.3", "sm": 90}},
        {"target": {"sub_group_sizes": [16]}},
        {"entry_point": "kapi_something"},
        {"entry_point": "kapi_everything_param_0"},
        {"ndim": 4},
    ],
    ids=str,
)
def test_header_that_no_module_has_is_refused(data, change):
    header, rest = parts(data)
    for name, value in change.items():
        header[name] = header[name] | value if isinstance(value, dict) else value
    with pytest.raises(ModuleFileError):
        read_module(packed(header, rest))


def test_field_that_is_missing_or_more_is_refused(data):
    header, rest = parts(data)
    for changed in (header | {"more": 1}, {k: v for k, v in header.items() if k != "local_itemsizes"}):
        with raises(ModuleFileError, "module-file-part"):
            read_module(packed(changed, rest))


START = b".version 7.0\n.target sm_80\n.address_size 64\n"


def test_entry_points_are_the_kernels(module):
    assert entry_points(module.code) == ("kapi_everything",)
    assert entry_points(START) == ()
    assert entry_points(START + b"// .visible .entry k() {\n") == ()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (b"", "begins with its version"),
        (START + b"\xff", "got byte 0xff at 44"),
        (START + b"\0" + b".visible .entry k() { ret; }", "got a zero at 44"),
        (START + b".visible .entry k() {", "ends inside of a function"),
        (b".visible .entry k() { ret; }" + START, "begins with its version"),
    ],
)
def test_entry_points_of_no_ptx_are_refused(code, said):
    with pytest.raises(ValueError, match=said):
        entry_points(code)
