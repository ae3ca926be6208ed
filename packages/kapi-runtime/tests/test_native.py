"""Native functions come from the disk cache or are compiled, and what cannot be loaded safely is not."""

from __future__ import annotations

import sys

import pytest

from kapi_runtime import cache
from kapi_runtime.cache.folder import CacheFolder
from kapi_runtime.native import loading
from kapi_runtime.sycl.native import submission


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The library of launches, with a disk cache of its own."""
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path / "cache"))
    return submission._library()


def loaded(library):
    return library.load(("hand_over", "launch", "pack", "send"), 0)


def test_code_is_compiled_once(library, monkeypatch):
    assert not library.is_kept
    loaded(library)
    assert library.is_kept
    monkeypatch.setattr(library, "_compile", lambda: pytest.fail("compiled again"))
    assert [each.__name__ for each in loaded(library)] == ["hand_over", "launch", "pack", "send"]


def test_process_that_finds_the_code_imports_no_numba(run_python):
    load = "import sys\nfrom kapi_runtime.sycl.native.submission import submission\n"
    load += "assert submission(at_once=True) is not None\n"
    first = run_python(load)  # whose folder has it then, whatever other tests did to theirs
    assert first.returncode == 0, first.stderr
    done = run_python(load + "assert 'llvmlite.binding' in sys.modules and 'numba' not in sys.modules\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", ["empty", "short", "changed"])
def test_code_that_was_changed_is_not_loaded(library, fault):
    loaded(library)
    with CacheFolder(cache._folder()[0]) as folder:
        whole = folder.read(library._key)
        middle = len(whole) // 2
        changed = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        folder.write(library._key, {"empty": b"", "short": whole[:-8], "changed": changed}[fault])
    assert not library.is_kept
    assert "native functions must be as they were written" in cache.info().trouble
    loaded(library)
    assert library.is_kept


def test_without_a_cache_it_is_compiled_anyway(library, monkeypatch):
    monkeypatch.setenv("KAPI_CACHE", "0")
    assert len(loaded(library)) == 4
    assert not library.is_kept


def test_code_without_a_source_has_no_key(monkeypatch):
    library = loading.NativeLibrary("kapi_runtime.no_such_module", (), {})
    assert not library.is_kept
    with pytest.raises(ValueError, match="must have a source that can be read"):
        library.load((), None)


def test_function_that_raises_is_refused():
    from kapi_runtime.native.compilation import object_code
    from kapi_runtime.native.language import native, words

    @native
    def divide(self, arguments, count):
        if count == 3:
            raise ValueError
        return words(arguments)[0]

    with pytest.raises(ValueError, match="must raise nothing"):
        object_code([divide], [])


def test_few_launches_do_without(monkeypatch):
    """Neither is llvmlite imported for a few launches, nor are functions compiled for some more."""
    monkeypatch.delitem(sys.modules, "llvmlite.binding", raising=False)
    kept, unkept = loading.Worth(lambda: True), loading.Worth(lambda: False)
    assert [kept.is_worth_it() for _ in range(102)] == [False] * 100 + [True] * 2
    assert [unkept.is_worth_it() for _ in range(502)] == [False] * 500 + [True] * 2
    monkeypatch.setitem(sys.modules, "llvmlite.binding", object())
    assert loading.Worth(lambda: True).is_worth_it()
    assert not loading.Worth(lambda: False).is_worth_it()
