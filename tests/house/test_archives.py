from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from tools import archives

METADATA = """\
Metadata-Version: 2.4
Name: kapi-sim
Version: 0.1.0
License-Expression: Apache-2.0

What it is.
"""
INFO = "kapi_sim-0.1.0.dist-info"
COMPLETE = {
    "kapi_sim/__init__.py": "",
    "kapi_sim/py.typed": "",
    f"{INFO}/licenses/LICENSE": "",
    f"{INFO}/METADATA": METADATA,
}


@pytest.fixture
def wheel(tmp_path):
    def make(members: dict[str, str]) -> Path:
        path = tmp_path / "kapi_sim-0.1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return path

    return make


def test_distributions_are_the_packages(projects):
    assert archives.DISTRIBUTIONS == tuple(projects)


def test_complete_wheel_passes(wheel):
    assert archives.check_wheel(wheel(COMPLETE)) == []


@pytest.mark.parametrize("member", ["kapi_sim/py.typed", f"{INFO}/licenses/LICENSE"])
def test_wheel_without_a_member_is_reported(wheel, member):
    members = {name: text for name, text in COMPLETE.items() if name != member}
    (line,) = archives.check_wheel(wheel(members))
    assert line.endswith(f"must contain {member}, but does not")


def test_wheel_may_hold_a_private_module_beside_the_package(wheel):
    assert archives.check_wheel(wheel(COMPLETE | {"_kapi_hooks.py": ""})) == []


def test_wheel_with_foreign_members_is_reported(wheel):
    (line,) = archives.check_wheel(wheel(COMPLETE | {"tests/test_x.py": ""}))
    assert "must hold kapi_sim only, got tests too" in line


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (METADATA.replace("Version: 0.1.0", "Version: one"), "must have valid metadata, got"),
        (METADATA.replace("License-Expression: Apache-2.0\n", ""), "must have a description and a licence"),
        (METADATA.replace("What it is.\n", ""), "must have a description and a licence"),
    ],
)
def test_wheel_with_wrong_metadata_is_reported(wheel, metadata, message):
    (line,) = archives.check_wheel(wheel(COMPLETE | {f"{INFO}/METADATA": metadata}))
    assert message in line


def test_sdist_without_changelog_is_reported(tmp_path):
    path = tmp_path / "kapi_sim-0.1.0.tar.gz"
    names = ["LICENSE", "README.md", "pyproject.toml", "src/kapi_sim/py.typed", "PKG-INFO"]
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(f"kapi_sim-0.1.0/{name}")
            data = METADATA.encode() if name == "PKG-INFO" else b""
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (line,) = archives.check_sdist(path)
    assert line.endswith("must contain kapi_sim-0.1.0/CHANGELOG.md, but does not")


def test_main_reports_each_missing_archive(tmp_path, capsys):
    assert archives.main(tmp_path) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2 * len(archives.DISTRIBUTIONS)
