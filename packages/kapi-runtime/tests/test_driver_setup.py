from __future__ import annotations

import sys
from pathlib import Path

import pytest

import kapi_runtime as kapi
from kapi_runtime.sycl.devices import driver_setup, drivers
from kapi_sim.testing.reports import raises

PLACEHOLDER = "/the/builder/lib/libintelocl.so\n"


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """An environment with the driver's wheel, whose site-packages is a folder of its own."""
    vendors = tmp_path / "etc" / "OpenCL" / "vendors"
    vendors.mkdir(parents=True)
    (vendors / "intel-cpu.icd").write_text(PLACEHOLDER)
    (tmp_path / "site").mkdir()
    library = next(path for path in drivers._wheel_paths() if Path(path).exists())
    monkeypatch.setattr(drivers, "_wheel_paths", lambda: iter([library]))
    monkeypatch.setattr(drivers, "SYSTEM_VENDORS", "/nowhere")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(driver_setup.sysconfig, "get_path", lambda name: str(tmp_path / "site"))
    return tmp_path


def test_setup_makes_the_driver_visible_to_programs_without_kapi(prefix, run_python):
    driver_setup.install()
    program = "import site; site.addsitedir({!r})\nimport dpnp; print(dpnp.arange(3).sum())"
    done = run_python(program.format(str(prefix / "site")))
    assert done.stdout.strip() == "3", done.stderr


def test_setup_leaves_the_user_s_variables_alone(prefix, run_python):
    driver_setup.install()
    program = "import site; site.addsitedir({!r})\nimport os; print(os.environ.get('OCL_ICD_FILENAMES'))"
    program = program.format(str(prefix / "site"))
    assert run_python(program, OCL_ICD_VENDORS="/nowhere").stdout.strip() == "None"
    assert run_python(program, OCL_ICD_FILENAMES="mine.so").stdout.strip() == "mine.so"
    assert run_python(program, KAPI_FIND_DRIVER="0").stdout.strip() == "None"


def test_setup_corrects_the_driver_s_icd_file(prefix):
    driver_setup.install()
    icd = prefix / "etc" / "OpenCL" / "vendors" / "intel-cpu.icd"
    assert Path(icd.read_text().strip()).exists()


def test_setup_does_not_write_through_to_a_linked_copy(prefix):
    icd = prefix / "etc" / "OpenCL" / "vendors" / "intel-cpu.icd"
    shared = prefix / "installer-cache.icd"
    shared.hardlink_to(icd)
    driver_setup.install()
    assert shared.read_text() == PLACEHOLDER


def test_setup_can_be_repeated(prefix):
    first = driver_setup.install()
    assert any(line.startswith("wrote") for line in first)
    assert all(line.endswith("is as it should be") for line in driver_setup.install())


def test_setup_is_undone_without_a_trace(prefix):
    before = sorted(path.relative_to(prefix) for path in prefix.rglob("*"))
    driver_setup.install()
    driver_setup.remove()
    assert sorted(path.relative_to(prefix) for path in prefix.rglob("*")) == before
    assert (prefix / "etc" / "OpenCL" / "vendors" / "intel-cpu.icd").read_text() == PLACEHOLDER
    assert driver_setup.remove() == ["nothing to undo"]


def test_setup_without_a_driver_says_what_to_install(prefix, monkeypatch):
    monkeypatch.setattr(drivers, "_wheel_paths", lambda: iter(["/nowhere/libintelocl.so"]))
    with raises(kapi.DriverError, "driver-absent"):
        driver_setup.install()


def test_setup_with_a_system_driver_has_nothing_to_do(prefix, monkeypatch, tmp_path):
    library = next(drivers._wheel_paths())
    (tmp_path / "intel.icd").write_text(library)
    monkeypatch.setattr(drivers, "SYSTEM_VENDORS", str(tmp_path))
    assert driver_setup.install() == [f"nothing to do: the driver {library} is registered with the system"]


def test_file_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(driver_setup, "pth_file", lambda: tmp_path / "absent" / "driver.pth")
    with raises(kapi.DriverError, "driver-file"):
        driver_setup.install()
