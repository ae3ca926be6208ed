from __future__ import annotations

import pytest
from tools import release


@pytest.fixture
def tree(tmp_path):
    """A repository with one package that is ready."""
    folder = tmp_path / "packages" / "kapi-sim"
    (folder / "changes").mkdir(parents=True)
    (folder / "changes" / ".gitkeep").touch()
    (folder / "pyproject.toml").write_text('[project]\nname = "kapi-sim"\nversion = "0.1.0"\n')
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-11-22)\n")
    return tmp_path


def test_tag_of_a_package_that_is_ready_prints_its_name(tree, capsys):
    assert release.main("kapi-sim-v0.1.0", tree) == 0
    assert capsys.readouterr().out == "kapi-sim\n"


@pytest.mark.parametrize("tag", ["v0.1.0", "kapi-toy-v0.1.0", "kapi-sim-v0.1.0;ls"])
def test_tag_that_names_no_release_is_refused(tree, capsys, tag):
    assert release.main(tag, tree) == 1
    assert "tag must be a package and a version such as kapi-sim-v0.1.0, got " in capsys.readouterr().err


@pytest.mark.parametrize("changelog", ["# Changelog\n", "# Changelog\n\n## 0.2.0 (unreleased)\n"])
def test_package_that_is_not_ready_is_refused(tree, capsys, changelog):
    (tree / "packages" / "kapi-sim" / "changes" / "12.added.md").write_text("Added it.\n")
    (tree / "packages" / "kapi-sim" / "CHANGELOG.md").write_text(changelog)
    assert release.main("kapi-sim-v0.2.0", tree) == 1
    assert capsys.readouterr().err.splitlines() == [
        "kapi-sim's version must be the tag's, 0.2.0, got 0.1.0",
        "kapi-sim's CHANGELOG.md must have a section 0.2.0 with its date: run towncrier in its folder",
        "kapi-sim's changes must be in its CHANGELOG.md, got 1 fragments: 12.added.md ...",
    ]
