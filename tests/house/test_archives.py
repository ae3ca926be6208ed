from __future__ import annotations

import zipfile

from tools import archives

METADATA = "Metadata-Version: 2.4\nName: kapi-sim\nVersion: 0.1.0\nLicense-Expression: Apache-2.0\n\nDescription.\n"
INFO = "kapi_sim-0.1.0.dist-info"


def test_wheel_that_lacks_something_is_reported(tmp_path):
    members = ("kapi_sim/__init__.py", "kapi_sim/py.typed", f"{INFO}/licenses/LICENSE", "_kapi_hooks.py")
    wheel = tmp_path / "kapi_sim-0.1.0-py3-none-any.whl"
    for missing in ("", *members[:3]):
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr(f"{INFO}/METADATA", METADATA)
            for name in members:
                if name != missing:
                    archive.writestr(name, "")
        found = [f"{wheel.name} must contain {missing}, but does not"] if missing else []
        assert archives.check_wheel(wheel) == found


def test_wheel_that_asks_for_another_version_of_a_sibling_is_reported(tmp_path):
    wheels = []
    for name, version, needs in [("kapi_sim", "0.2.0", ""), ("kapi_types", "0.2.0", "Requires-Dist: kapi-sim<0.2\n")]:
        wheels.append(tmp_path / f"{name}-{version}-py3-none-any.whl")
        with zipfile.ZipFile(wheels[-1], "w") as archive:
            text = METADATA.replace("kapi-sim", name.replace("_", "-")).replace("0.1.0", version)
            archive.writestr(f"{name}-{version}.dist-info/METADATA", text.replace("\n\n", f"\n{needs}\n", 1))
    assert archives.check_siblings(wheels) == ["kapi-types 0.2.0 must ask for kapi-sim 0.2.0, got kapi-sim<0.2"]
    assert archives.check_siblings(wheels[:1]) == []
