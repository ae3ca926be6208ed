"""Making the driver visible to every program of one Python environment: ``python -m kapi_runtime setup``.

A program that imports kapi_runtime finds the driver by itself.  One that imports dpnp alone does not: the
OpenCL loader reads ``/etc/OpenCL/vendors`` and two variables, and nothing in the environment.  So `install`
writes

- ``<site-packages>/kapi_opencl_driver.pth``, one line that Python runs at its start: it sets
  ``OCL_ICD_FILENAMES``, unless the user has set one of the variables;
- the driver's own ``<prefix>/etc/OpenCL/vendors/intel-cpu.icd``, in which the wheel has left a path of the
  machine that built it.  dpctl's loader does not read this file; others do if ``OCL_ICD_VENDORS`` names the
  folder.

`remove` takes both back.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path

from kapi_runtime.sycl.devices import drivers
from kapi_sim.errors import DriverError

__all__ = ["install", "pth_file", "remove"]

_ORIGINAL = ".kapi-original"


def pth_file() -> Path:
    """Return the file that Python reads at its start in this environment."""
    return Path(sysconfig.get_path("purelib")) / "kapi_opencl_driver.pth"


def install() -> list[str]:
    """Make the wheel's driver visible to all programs of this environment; again if need be.

    Returns what was done, a line for each file. Raises `DriverError` if there is no driver in the environment, or a
    file cannot be written.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (drivers.SWITCH, drivers.FILENAMES, drivers.VENDORS, drivers.SELECTOR)
    }
    found = drivers.search(environment)
    if found.how == "system" and not found.changed:
        return [f"nothing to do: the driver {found.library} is registered with the system"]
    if found.library is None:
        raise DriverError(
            "an OpenCL CPU driver must be installed in this environment, got none in "
            f'{", ".join(found.searched) or "any place"}: `pip install "kapi-runtime[opencl-cpu]"` brings one',
            code="driver-absent",
        )
    done = [_write(pth_file(), _start_line(found.library))]
    icd = _icd_file()
    if icd.exists() and found.how == "wheel":
        original = icd.with_name(icd.name + _ORIGINAL)
        if not original.exists() and icd.read_text(encoding="utf-8").strip() != found.library:
            done.append(_write(original, icd.read_text(encoding="utf-8")))
        done.append(_write(icd, found.library + "\n"))
    return done


def remove() -> list[str]:
    """Take back what `install` did.

    Returns what was done, a line for each file. Raises `DriverError` if a file cannot be written.
    """
    done = []
    icd = _icd_file()
    original = icd.with_name(icd.name + _ORIGINAL)
    if original.exists():
        done.append(_write(icd, original.read_text(encoding="utf-8")))
        done.append(_delete(original))
    if pth_file().exists():
        done.append(_delete(pth_file()))
    return done or ["nothing to undo"]


def _start_line(library: str) -> str:
    condition = f"os.environ.get({drivers.SWITCH!r}) == '0' or os.environ.get({drivers.VENDORS!r})"
    action = f"os.environ.setdefault({drivers.FILENAMES!r}, {library!r})"
    return f"import os; {condition} or not os.path.exists({library!r}) or {action}\n"


def _icd_file() -> Path:
    return Path(sys.prefix) / "etc" / "OpenCL" / "vendors" / "intel-cpu.icd"


def _write(path: Path, text: str) -> str:
    """Write a file whole or not at all.

    A new file takes the old one's name: installers link the files of several environments to one, which must
    not change.
    """
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return f"{path} is as it should be"
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise DriverError(
            f"{path} cannot be written: {error}; run this command as its owner", code="driver-file"
        ) from error
    return f"wrote {path}"


def _delete(path: Path) -> str:
    try:
        path.unlink()
    except OSError as error:
        raise DriverError(
            f"{path} cannot be removed: {error}; run this command as its owner", code="driver-file"
        ) from error
    return f"removed {path}"
