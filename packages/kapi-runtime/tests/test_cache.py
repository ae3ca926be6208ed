"""The disk cache: what it keeps apart, what it shares, and what it does about each fault that can be made."""

from __future__ import annotations

import dataclasses
import errno
import os
import stat
import struct
import subprocess
import sys
import tempfile

import dpnp
import numpy as np
import pytest

import kapi_runtime as kapi
import kapi_sim
from kapi_runtime import cache
from kapi_runtime.build import fingerprint
from kapi_runtime.cache import disk_cache, private_folder
from kapi_sim.testing.reports import raises
from kapi_spirv import read_module, write_module
from kapi_spirv.compiler import COMPILER


def source(name="kernel", factor="2", unused="0"):
    """A program's text, with a kernel of its own."""
    return (
        "import kapi_runtime as kapi\n"
        f"FACTOR, UNUSED = {factor}, {unused}\n"
        "@kapi.device_func\n"
        "def scaled(x):\n"
        "    return x * FACTOR\n"
        "@kapi.kernel\n"
        f"def {name}(item: kapi.Item, a):\n"
        "    a[item.get_id(0)] = scaled(a[item.get_id(0)])\n"
    )


def run(text, dtype="int64"):
    """Launch the kernel of a program; return what it computes of ones."""
    names = {}
    exec(compile(text, "program.py", "exec"), names)
    target = dpnp.ones(4, dtype=dtype)
    kapi.call_kernel(names["kernel"], kapi.Range(4), target)
    return target.asnumpy().tolist()[0]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of the test's own."""
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(disk_cache, "_trouble", "")
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch):
    """The names of the kernels that were compiled."""
    names = []
    real = COMPILER.compile_kernel

    def counting(function, *args, **options):
        names.append(function.__name__)
        return real(function, *args, **options)

    monkeypatch.setattr(COMPILER, "compile_kernel", counting)
    return names


def test_same_kernel_is_compiled_once(folder, compiled):
    assert [run(source()) for _ in range(3)] == [2, 2, 2]
    assert len(compiled) == 1
    found = cache.info()
    assert (found.entries, found.is_on, found.folder, found.trouble) == (1, True, str(folder), "")
    assert 0 < found.nbytes < found.limit


def test_what_a_kernel_depends_on_is_distinguished(folder, compiled):
    assert run(source()) == 2
    assert run(source(factor="3")) == 3  # a global of a device function
    assert run(source().replace("x * FACTOR", "x * FACTOR + 5")) == 7  # its code
    assert run(source(), dtype="float32") == 2  # the signature
    assert run(source().replace("@kapi.kernel", "@kapi.kernel(fastmath=True)")) == 2  # the options
    assert len(compiled) == 5
    assert run(source(unused="7")) == 2  # a global that it does not use
    assert len(compiled) == 5


def test_closures_are_distinguished(folder, compiled):
    def made(value):
        @kapi.kernel
        def add(item: kapi.Item, a):
            a[item.get_id(0)] += value

        return add

    results = []
    for value in (1, 2, 1):
        target = dpnp.zeros(4)
        made(value)[4](target)
        results.append(int(target[0]))
    assert results == [1, 2, 1]
    assert len(compiled) == 2


def test_attributes_of_modules_are_distinguished(folder, compiled, tmp_path, monkeypatch):
    (tmp_path / "settings_of_mine.py").write_text("SIZE = 5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = source().replace("@kapi.device_func", "import settings_of_mine\n@kapi.device_func")
    text = text.replace("x * FACTOR", "x * settings_of_mine.SIZE")
    assert run(text) == 5
    monkeypatch.setattr(sys.modules["settings_of_mine"], "SIZE", 6)
    assert run(text) == 6
    assert len(compiled) == 2


@pytest.mark.parametrize("option", ["boundscheck", "lineinfo"])
def test_lines_count_where_messages_or_profilers_name_them(folder, compiled, option):
    text = source().replace("@kapi.kernel", f"@kapi.kernel({option}=True)")
    run(text)
    run("\n\n" + text)
    assert len(compiled) == 2
    run(source())
    run("\n\n" + source())
    assert len(compiled) == 3


def test_failures_are_reported_of_a_kernel_from_the_cache(folder, compiled):
    text = source().replace("@kapi.kernel", "@kapi.kernel(boundscheck=True)")
    text = text.replace("a[item.get_id(0)] = ", "a[item.get_id(0) + item.get_id(0) // 3] = ")
    for _ in range(2):
        with raises(kapi.OutOfBoundsError, "index-out-of-bounds"):
            run(text)
    assert len(compiled) == 1


def test_mixed_types_are_reported_of_a_kernel_from_the_cache(folder, compiled):
    chosen = "def chosen(x):\n    return (x if x > 100 else kapi_numpy.int8(2)) * 3\n"
    text = source().replace("@kapi.kernel", chosen + "@kapi.kernel").replace("scaled(a[", "chosen(a[")
    text = "import numpy as kapi_numpy\n" + text
    told = []
    for above in ("", "", "\n\n"):
        with pytest.warns(kapi_sim.MixedTypesWarning, match="in `chosen`: what a choice gives is int64") as caught:
            assert run(above + text) == 6
        told += [(each.filename, each.lineno) for each in caught]
    assert told == [("program.py", 8), ("program.py", 9), ("program.py", 11)]
    assert len(compiled) == 1


def test_kernel_with_a_global_that_has_no_description_is_not_kept(folder, compiled):
    text = source() + "class Mine:\n    __repr__ = lambda self: '<Mine>'\nFACTOR = Mine()\n"
    for _ in range(2):
        with pytest.raises(kapi.KernelCompilationError):
            run(text)
    assert cache.info().entries == 0
    assert "kernel `kernel` is not kept: it uses <Mine" in cache.info().trouble


def test_switch_disables_it(folder, compiled, monkeypatch):
    monkeypatch.setenv("KAPI_CACHE", "0")
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert not folder.exists()
    assert not cache.info().is_on


@pytest.mark.parametrize("value", ["0", "off", "No", "FALSE"])
def test_switch_has_the_usual_values(folder, monkeypatch, value):
    monkeypatch.setenv("KAPI_CACHE", value)
    assert not cache.info().is_on


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"KAPI_CACHE_DIR": "~/mine", "HOME": "/somewhere/u"}, "/somewhere/u/mine"),
        ({"XDG_CACHE_HOME": "/c", "HOME": "/somewhere/u"}, "/c/kapi"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/somewhere/u"}, "/somewhere/u/.cache/kapi"),
        ({"HOME": "relative", "TMPDIR": "/tmp"}, f"/tmp/kapi-{os.getuid()}"),
    ],
)
def test_folder_is_where_the_environment_says(monkeypatch, variables, expected):
    for name in ("KAPI_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert cache.info().folder == expected


@pytest.mark.parametrize(("size", "limit"), [("inf", sys.maxsize), ("1e30", sys.maxsize), ("0", 0), ("0.5", 2**19)])
def test_size_may_be_any_number(folder, monkeypatch, size, limit):
    monkeypatch.setenv("KAPI_CACHE_SIZE", size)
    assert run(source(factor="11")) == 11
    assert cache.info().limit == limit
    assert cache.info().entries == (limit > 0)


def test_compiler_whose_files_cannot_be_listed_keeps_nothing(folder, monkeypatch):
    """As one that is imported from an archive."""
    monkeypatch.setattr(fingerprint, "_sources", lambda folder: os.scandir(folder / "none"))
    fingerprint.compiler_fingerprint.cache_clear()
    try:
        assert run(source(factor="12")) == 12
    finally:
        monkeypatch.undo()
        fingerprint.compiler_fingerprint.cache_clear()


def test_clear_removes_all(folder, compiled):
    run(source())
    assert cache.clear() == 1
    assert cache.info().entries == cache.clear() == 0
    run(source())
    assert len(compiled) == 2


OTHERS = [
    "download.iso.part",
    "my_shader.spirv",
    "notes.txt",
    f"{'0' * 63}.spirv",
    f"{'0' * 65}.spirv",
    f"{'G' * 64}.spirv",
    f"{'A' * 64}.spirv",
    f"{'0' * 64}.spirv.bak",
    f"x{'0' * 64}.spirv",
    f"{'0' * 64}.txt",
    f"{'0' * 64}.part",
    f"{'0' * 64}.1.1.part",
    f"{'0' * 64}.spirv.1.x.part",
    f"{'0' * 64}",
]


def test_other_files_of_the_folder_are_left_alone(folder, monkeypatch):
    """However old they are, however much they hold, and whatever is done with the cache."""
    folder.mkdir(mode=0o700)
    for name in OTHERS:
        (folder / name).write_bytes(b"x" * 100_000)
        os.utime(folder / name, (1, 1))
    (folder / f"{'1' * 64}.spirv").mkdir()
    monkeypatch.setenv("KAPI_CACHE_SIZE", "0.01")
    run(source(factor="13"))
    assert cache.info().nbytes <= cache.info().limit
    cache.clear()
    monkeypatch.setenv("KAPI_CACHE", "0")
    assert cache.clear() == 0
    assert sorted(file.name for file in folder.iterdir()) == sorted([*OTHERS, f"{'1' * 64}.spirv"])
    assert all((folder / name).stat().st_size == 100_000 for name in OTHERS)


def test_clear_works_where_the_cache_is_off(folder, monkeypatch):
    run(source())
    monkeypatch.setenv("KAPI_CACHE", "0")
    assert cache.clear() == 1
    assert list(folder.iterdir()) == []


def test_swapped_files_are_refused(folder, compiled):
    """As when a folder is restored, or kept the same by a program that mixes names up."""
    assert [run(source(factor="3")), run(source(factor="5"))] == [3, 5]
    first, second = folder.iterdir()
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    assert [run(source(factor="3")), run(source(factor="5"))] == [3, 5]
    assert len(compiled) == 4
    assert "it is another file's content" in cache.info().trouble


def broken(module):
    """The module with code that is complete, and that no driver takes: of a version that there is not."""
    words = list(struct.unpack(f"<{len(module.code) // 4}I", module.code))
    words[1] = 0x00090900
    return dataclasses.replace(module, code=struct.pack(f"<{len(words)}I", *words))


def test_module_that_the_driver_refuses_is_compiled_anew(folder, compiled):
    """Its checksum and its key are right, as if a compiler with a fault had written it."""
    assert run(source()) == 2
    (file,) = folder.iterdir()
    key = file.name
    file.write_bytes(write_module(broken(read_module(file.read_bytes())), key))
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert "was removed: a driver refused it" in cache.info().trouble


def test_kernel_that_the_driver_refuses_is_compiled_once(folder, compiled, monkeypatch):
    real = COMPILER.compile_kernel
    monkeypatch.setattr(COMPILER, "compile_kernel", lambda *args, **options: broken(real(*args, **options)))
    for _ in range(2):
        with raises(kapi.DriverError, "build-refused", words=False):
            run(source())
    assert len(compiled) == 2  # the second time it comes from the disk, and is compiled once more


def test_link_instead_of_an_entry_is_not_followed(folder, compiled, tmp_path):
    assert run(source()) == 2
    (file,) = folder.iterdir()
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    before = elsewhere.read_bytes()
    file.symlink_to(elsewhere)
    assert run(source()) == 2
    assert len(compiled) == 2
    assert elsewhere.read_bytes() == before
    assert not file.is_symlink()  # what was compiled has taken its place


def test_pipe_instead_of_an_entry_is_not_waited_for(folder, compiled):
    assert run(source()) == 2
    (file,) = folder.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert run(source()) == 2
    assert file.is_file()


def test_folder_by_a_link_of_one_s_own_is_used(folder, tmp_path, compiled):
    """A cache may be on another disk."""
    (tmp_path / "disk").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "disk")
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 1


def test_folder_by_a_link_of_somebody_else_is_not_used(folder, tmp_path, compiled, monkeypatch):
    (tmp_path / "mine").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "mine")
    real = os.lstat

    def another_s(path, **options):
        status = list(real(path, **options))
        status[stat.ST_UID] = 12345
        return os.stat_result(status)

    monkeypatch.setattr(private_folder.os, "lstat", another_s)
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert list((tmp_path / "mine").iterdir()) == []
    assert "must be a folder and no link there" in cache.info().trouble


@pytest.mark.parametrize("kind", ["link", "link to nothing", "file", "writable by all"])
def test_fallback_in_the_temporary_folder_is_looked_at(kind, tmp_path, monkeypatch, compiled):
    """Anybody can put something there, such as a link to a folder of the user's own."""
    for name in ("KAPI_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    fallback, victim = tmp_path / f"kapi-{os.getuid()}", tmp_path / "victim"
    victim.mkdir(mode=0o700)
    if kind == "link":
        fallback.symlink_to(victim)
    elif kind == "link to nothing":
        fallback.symlink_to(tmp_path / "nothing")
    elif kind == "file":
        fallback.write_text("")
    else:
        fallback.mkdir()
        fallback.chmod(0o777)
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert list(victim.iterdir()) == []
    assert not (tmp_path / "nothing").exists()
    assert cache.info().entries == cache.clear() == 0
    assert cache.info().trouble


def test_fallback_in_the_temporary_folder_is_its_user_s(tmp_path, monkeypatch, compiled):
    for name in ("KAPI_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 1
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_files_are_their_owner_s_alone(folder):
    run(source())
    (file,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_folder_that_others_can_write_is_not_used(folder, compiled):
    folder.mkdir()
    folder.chmod(0o777)
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert list(folder.iterdir()) == []
    assert "must belong to its user and be writable by nobody else" in cache.info().trouble


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:],
        lambda data: b"\x80\x04something pickled" + data,
        lambda data: data + b"more",
    ],
    ids=["empty", "head", "half", "one short", "one bit", "another format", "too long"],
)
def test_damaged_file_is_removed_and_made_again(folder, compiled, damage):
    run(source())
    (file,) = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert "was removed" in cache.info().trouble


def test_full_disk_costs_the_file_only(folder, compiled, monkeypatch):
    real = os.open

    def full(path, *mode, **options):
        if str(path).endswith(".part"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, *mode, **options)

    monkeypatch.setattr(os, "open", full)
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert "kernel `kernel` could not be kept: [Errno 28] No space left on device" in cache.info().trouble


def test_disk_that_is_full_while_writing_leaves_nothing(folder, compiled, monkeypatch):
    # The device that is always full.
    real = os.open

    def opened(path, *mode, **options):
        descriptor = real(path, *mode, **options)
        if str(path).endswith(".part"):
            os.close(descriptor)
            descriptor = real("/dev/full", os.O_WRONLY)
        return descriptor

    monkeypatch.setattr(os, "open", opened)
    assert run(source()) == 2
    assert list(folder.iterdir()) == []
    assert "could not be kept" in cache.info().trouble


def test_folder_that_cannot_be_written_costs_the_file_only(folder, compiled):
    folder.write_text("a file stands where the folder is wanted")
    assert [run(source()), run(source())] == [2, 2]
    assert len(compiled) == 2
    assert cache.info().trouble


def test_size_is_bounded_and_the_longest_unused_go_first(folder, compiled, monkeypatch):
    run(source(factor="10"))
    run(source(factor="11"))
    first, second = sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
    os.utime(first, (1, 1))
    os.utime(second, (2, 2))
    assert run(source(factor="10")) == 10  # used now
    monkeypatch.setenv("KAPI_CACHE_SIZE", str(2.5 * first.stat().st_size / 2**20))
    run(source(factor="12"))
    assert first.exists()
    assert not second.exists()
    assert cache.info().nbytes <= cache.info().limit


def test_unfinished_files_of_killed_writers_are_removed(folder):
    run(source())
    old, new = (folder / f"{digit * 64}.spirv.1.1.part" for digit in "0f")
    for file in (old, new):
        file.write_bytes(b"half")
    os.utime(old, (1, 1))
    assert cache.info().entries == 1
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("size", ["large", "", "nan", "-1"])
def test_size_that_is_no_number_is_reported(folder, monkeypatch, size):
    monkeypatch.setenv("KAPI_CACHE_SIZE", size)
    assert cache.info().limit == 256 * 2**20
    assert f"KAPI_CACHE_SIZE must be a number of megabytes, got {size!r}" in cache.info().trouble


PROGRAM = source() + (
    "import sys, dpnp\n"
    "a = dpnp.ones(4, dtype='int64')\n"
    "kapi.call_kernel(kernel, kapi.Range(4), a)\n"
    "print(int(a[0]), [name for name in ('numba', 'llvmlite', 'kapi_types.arrays') if name in sys.modules])\n"
)


def test_second_process_needs_neither_numba_nor_llvm(folder, run_python):
    """The first one finds what a writer has left that was killed before it had finished, and never reads that."""
    dying = (
        "import os\n"
        "real = os.open\n"
        "def open_and_die(path, *mode, **options):\n"
        "    descriptor = real(path, *mode, **options)\n"
        "    if str(path).endswith('.part'):\n"
        "        os.write(descriptor, b'kapi SPIR-V'); os.kill(os.getpid(), 9)\n"
        "    return descriptor\n"
        "os.open = open_and_die\n"
    )
    assert run_python(dying + PROGRAM).returncode == -9
    (left,) = folder.iterdir()
    assert left.suffix == ".part"
    first, second = (run_python(PROGRAM) for _ in range(2))
    assert first.stdout.strip() == "2 ['numba', 'llvmlite', 'kapi_types.arrays']", first.stderr
    assert second.stdout.strip() == "2 []", second.stderr
    assert cache.info().entries == 1


def test_processes_at_once_share_the_folder(folder):
    command = [sys.executable, "-c", PROGRAM]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [each.communicate(timeout=300)[0].split()[0] for each in running] == ["2"] * 2
    assert [file.suffix for file in folder.iterdir()] == [".spirv"]


def test_fingerprint_is_the_same_in_every_process(run_python):
    text = source() + ("from kapi_runtime.build.fingerprint import fingerprint\nprint(fingerprint(kernel.py_func))\n")
    assert len({run_python(text, PYTHONHASHSEED=str(seed)).stdout for seed in range(2)}) == 1


def test_modules_in_memory_are_bounded(monkeypatch):
    from kapi_runtime.build import modules

    monkeypatch.setattr(modules, "_CAPACITY", 2)

    @kapi.kernel
    def one(item: kapi.Item, a):
        a[item.get_id(0)] = 1

    for dtype in ("int8", "int16", "int32", "int8"):
        target = dpnp.zeros(4, dtype=dtype)
        kapi.call_kernel(one, kapi.Range(4), target)
        assert target.asnumpy().tolist() == [1] * 4
    assert len(one.modules.values()) == 2


def test_numpy_globals_are_described(folder, compiled):
    text = (
        source()
        .replace("x * FACTOR", "x * FACTOR.itemsize")
        .replace("FACTOR, UNUSED = 2, 0", "import numpy\nFACTOR = numpy.dtype('float64')")
    )
    from kapi_runtime.build.fingerprint import fingerprint

    digests = set()
    for dtype in ("float64", "float32"):
        names = {}
        exec(compile(text.replace("float64", dtype), "program.py", "exec"), names)
        digests.add(fingerprint(names["kernel"].py_func))
    assert len(digests) == 2


@pytest.mark.parametrize(
    "values",
    [
        (1, 2),
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        ("a", b"a"),
        (np.float32(1), np.float64(1)),
        ((1, 2), (2, 1)),
        ((1,), [1]),
    ],
    ids=repr,
)
def test_values_are_distinguished(values):
    from kapi_runtime.build.fingerprint import fingerprint

    def taking(value):
        return lambda: value

    first, second = (fingerprint(taking(value)) for value in values)
    assert first != second
    assert first == fingerprint(taking(values[0]))
