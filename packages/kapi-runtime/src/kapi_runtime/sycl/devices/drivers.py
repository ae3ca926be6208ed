"""Finding the OpenCL CPU driver: the one thing that `import kapi_runtime` does to the process.

Intel's OpenCL runtime for CPUs comes as a wheel (`intel-opencl-rt`), but no wheel may register a driver with
the system, and the OpenCL loader looks in ``/etc/OpenCL/vendors`` only.  So `activate` adds the wheel's
library to the loader's variable ``OCL_ICD_FILENAMES``, which the loader reads at the first device query of
the process.  The variable adds to the drivers that the system registers; none is hidden, and Level Zero
devices are not found so.

Two facts shape the rest.  The loader lists the drivers of ``OCL_ICD_FILENAMES`` first, and of equal devices
SYCL prefers the first: so a CPU driver named there comes before any other one that the system has.  And a
driver without unified shared memory (USM), such as Debian's PoCL, ends the process of whoever allocates on
it; so it must not become the default device.

Nothing here imports dpctl.  Devices are read in one case only: the loader was started before, so that the variable
may have come too late.
"""

from __future__ import annotations

import importlib.metadata
import mmap
import os
import site
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kapi_sim import environment_variables
from kapi_sim.errors import KapiWarning

__all__ = ["DriverSearch", "activate", "driver_search", "loaded_libraries"]

SWITCH = environment_variables.FIND_DRIVER.name
FILENAMES = environment_variables.OCL_ICD_FILENAMES.name
VENDORS = environment_variables.OCL_ICD_VENDORS.name
SELECTOR = environment_variables.ONEAPI_DEVICE_SELECTOR.name
ARCHITECTURE = environment_variables.CL_CONFIG_CPU_TARGET_ARCH.name
SYSTEM_VENDORS = "/etc/OpenCL/vendors"
DISTRIBUTION = "intel-opencl-rt"
LIBRARY = "libintelocl.so"

TOO_LATE = (
    "this process asked for devices before it imported kapi_runtime, which knows where the driver is. Import "
    "kapi_runtime first, or run `python -m kapi_runtime setup` once; then start Python again"
)
"""The message for a driver that was found too late."""

_USM_EXTENSION = b"cl_intel_unified_shared_memory"
_LOADER_CACHE = Path("/etc/ld.so.cache")

How = Literal["wheel", "system", "user", "off", "none", "unsupported"]


@dataclass(frozen=True, slots=True)
class DriverSearch:
    """Result of the search for an OpenCL CPU driver.

    - `how`: by whom the driver is provided: the wheel, the system, the user's own variable; or why none was looked for
      or found.
    - `library`: the driver's library, where the search knows it.
    - `summary`: one sentence for people.
    - `searched`: the locations searched, in order.
    - `changed`: environment variables that were set, with their values.
    - `too_late`: whether the OpenCL loader had been started before, so that setting variables could change nothing.
    - `without_usm`: driver libraries of the system that have no unified shared memory.
    """

    how: How
    library: str | None
    summary: str
    searched: tuple[str, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()
    too_late: bool = False
    without_usm: tuple[str, ...] = ()


_search: DriverSearch | None = None


def driver_search() -> DriverSearch:
    """Return what the search at import came to."""
    return activate() if _search is None else _search


def activate() -> DriverSearch:
    """Search for the driver and point the OpenCL loader to it; the second call and later ones do nothing."""
    global _search
    if _search is None:
        _search = search(os.environ)
        _apply(_search, os.environ)
        if _search.how in ("wheel", "system"):
            _avoid_float16_instructions(os.environ, _processor_flags())
        if _search.how == "wheel" and _search.too_late and _search.changed and not _has_cpu():
            warnings.warn(f"no CPU device is visible: {TOO_LATE}", KapiWarning, stacklevel=2)
    return _search


def _has_cpu() -> bool:
    """Whether SYCL sees a CPU; True where nobody has imported dpctl."""
    dpctl = sys.modules.get("dpctl")
    return dpctl is None or bool(dpctl.has_cpu_devices())


def search(environment: Mapping[str, str]) -> DriverSearch:
    """Look for an OpenCL CPU driver, changing nothing.

    The result's `changed` holds what the environment needs.
    """
    if environment.get(SWITCH) == "0":
        return DriverSearch("off", None, f"{SWITCH}=0 turns the search for a driver off")
    if not sys.platform.startswith("linux"):
        return DriverSearch("unsupported", None, f"drivers are not searched for on {sys.platform}")
    named = environment.get(FILENAMES)
    locations = list(_wheel_paths())
    if named:
        if any(os.path.exists(location) and location in named.split(os.pathsep) for location in locations):
            return DriverSearch("wheel", named, f"in the environment's wheels; {FILENAMES} names it")
        return DriverSearch("user", named, f"{FILENAMES} is set and was left as it is: {named}")
    if environment.get(VENDORS):
        return DriverSearch("user", None, f"{VENDORS} is set and was left as it is: {environment[VENDORS]}")
    too_late = _is_loader_started()
    registered = list(_registered(SYSTEM_VENDORS))
    usable = [entry for entry in registered if _is_cpu_driver(entry) and _resolve(entry) is not None]
    searched = (f"{SYSTEM_VENDORS}/*.icd", *locations)
    lacking = tuple(entry for entry in registered if _lacks_usm(entry))
    if usable:
        others = len(registered) > len(usable)
        return DriverSearch(
            "system",
            usable[0],
            f"registered with the system, in {SYSTEM_VENDORS}",
            searched,
            ((FILENAMES, usable[0]),) if others else (),
            too_late,
            lacking,
        )
    for location in locations:
        if os.path.exists(location):
            return DriverSearch(
                "wheel",
                location,
                "found by kapi_runtime in the environment's wheels",
                searched,
                ((FILENAMES, location),),
                too_late,
                lacking,
            )
    hide = lacking and len(lacking) == len(registered) and not environment.get(SELECTOR)
    return DriverSearch(
        "none",
        None,
        "no OpenCL CPU driver was found",
        searched,
        ((SELECTOR, "level_zero:*"),) if hide else (),
        too_late,
        lacking,
    )


def loaded_libraries(name: str) -> tuple[str, ...]:
    """Paths of the shared libraries in this process whose file name begins with `name`.

    The result is empty where the system does not report it.
    """
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    paths = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count(" ") >= 5 and "/" in line}
    return tuple(sorted(path for path in paths if os.path.basename(path).startswith(name)))


def _apply(found: DriverSearch, environment: MutableMapping[str, str]) -> None:
    for variable, value in found.changed:
        environment[variable] = value


def _avoid_float16_instructions(environment: MutableMapping[str, str], flags: Collection[str]) -> None:
    """Have Intel's driver compile for the processors before those with AVX-512 FP16.

    Its compiler 2026.2 does not end for a kernel of `test_group_shapes.py` otherwise, with sub-groups of 8 in
    work-groups of (1, 1, 5).
    """
    if "avx512_fp16" in flags:
        environment.setdefault(ARCHITECTURE, "skx")


def _processor_flags() -> Collection[str]:
    """Features of the processor, as Linux names them."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split() for line in lines if line.startswith("flags")), [])
    except OSError:
        return []


def _wheel_paths() -> Iterator[str]:
    """Paths where a wheel may have put the driver, the surest first."""
    seen = set()
    for path in (*_from_metadata(), *_from_prefixes()):
        location = os.path.normpath(path)
        if location not in seen:
            seen.add(location)
            yield location


def _from_metadata() -> Iterator[str]:
    try:
        files = importlib.metadata.files(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == LIBRARY:
            yield os.path.abspath(str(file.locate()))


def _from_prefixes() -> Iterator[str]:
    yield os.path.join(sys.prefix, "lib", LIBRARY)
    if site.ENABLE_USER_SITE and site.USER_BASE:
        yield os.path.join(site.USER_BASE, "lib", LIBRARY)


def _registered(folder: str) -> Iterator[str]:
    """The library that each ``.icd`` file of the folder names."""
    try:
        files = sorted(Path(folder).glob("*.icd"))
    except OSError:
        return
    for file in files:
        try:
            entry = file.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if entry:
            yield entry


def _is_cpu_driver(entry: str) -> bool:
    return os.path.basename(entry).startswith(LIBRARY)


def _resolve(entry: str) -> str | None:
    """The file that the dynamic loader would take for `entry`, or None."""
    if os.path.isabs(entry):
        return entry if os.path.exists(entry) else None
    for folder in environment_variables.LD_LIBRARY_PATH.text.split(os.pathsep):
        if folder and os.path.exists(os.path.join(folder, entry)):
            return os.path.join(folder, entry)
    folders = ["/lib", "/usr/lib"]
    try:
        cached = _LOADER_CACHE.read_bytes().split(b"\0")
    except OSError:
        cached = []
    folders += sorted({os.path.dirname(os.fsdecode(path)) for path in cached if path.startswith(b"/")})
    return next((path for folder in folders if os.path.exists(path := os.path.join(folder, entry))), None)


def _lacks_usm(entry: str) -> bool:
    """Whether the driver cannot have USM: neither its library nor its plug-ins hold the extension's name."""
    path = _resolve(entry)
    if path is None:
        return False
    library = Path(os.path.realpath(path))
    plugins = library.parent / library.name.removeprefix("lib").split(".")[0]
    return not any(_holds(file, _USM_EXTENSION) for file in (library, *plugins.glob("*.so*")))


def _holds(file: Path, text: bytes) -> bool:
    """Whether the file holds the text; True where it cannot be read, since then nothing is known."""
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(text) >= 0
    except (OSError, ValueError):
        return True


def _is_loader_started() -> bool:
    """Whether this process has asked OpenCL for its drivers already."""
    return bool(loaded_libraries("libOpenCL.so"))
