"""Files that a host of repositories reads: they follow their schemas, and run what contributors run."""

from __future__ import annotations

import re
from pathlib import Path

import check_jsonschema
import pytest
from ruamel.yaml import YAML
from tools import interpreters

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEMPLATES = ROOT / ".github" / "ISSUE_TEMPLATE"
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-issue-forms": sorted(path for path in TEMPLATES.glob("*.yml") if path.name != "config.yml"),
    "vendor.github-issue-config": [TEMPLATES / "config.yml"],
    "vendor.dependabot": [ROOT / ".github" / "dependabot.yml"],
    "vendor.readthedocs": [ROOT / ".readthedocs.yaml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}
RUN_BY_OTHERS = [*WORKFLOWS, ROOT / ".pre-commit-config.yaml", ROOT / ".readthedocs.yaml"]


def jobs(workflow: str) -> dict:
    return YAML(typ="safe").load((ROOT / ".github" / "workflows" / workflow).read_text("utf-8"))["jobs"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_file_follows_its_schema(schema):
    assert SCHEMAS[schema]
    # The format is said, for `.cff` is not known by its name.
    options = ["--builtin-schema", schema, "--default-filetype", "yaml"]
    with pytest.raises(SystemExit) as end:
        check_jsonschema.main([*options, *map(str, SCHEMAS[schema])])
    assert not end.value.code


def test_sessions_and_scripts_that_others_run_exist(root):
    noxfile = (root / "noxfile.py").read_text("utf-8")
    sessions = set(re.findall(r"^@nox\.session.*\n(?:@nox.*\n)*def (\w+)\(", noxfile, re.MULTILINE))
    texts = [path.read_text("utf-8") for path in RUN_BY_OTHERS]
    run = {name for text in texts for name in re.findall(r'noxfile\.py -s "?(\w+)', text)}
    assert {"tests", "isolated", "docs", "release", "lint", "house", "imports", "types"} <= run <= sessions
    assert all((root / name).is_file() for text in texts for name in re.findall(r"python3? ([\w/]+\.py)", text))


def test_python_versions_of_workflows_are_the_supported_ones():
    assert jobs("tests.yml")["linux"]["strategy"]["matrix"]["python"] == list(interpreters.SUPPORTED)
    for path in WORKFLOWS:
        for job in jobs(path.name).values():
            assert job.get("env", {}).get("KAPI_PYTHONS", ",".join(interpreters.SUPPORTED)).split(",") == list(
                interpreters.SUPPORTED
            ), path.name


def test_release_publishes_after_the_checks_and_by_trusted_publishing():
    publish = jobs("release.yml")["publish"]
    assert set(publish["needs"]) == {"check", "tests", "build"}
    assert publish["permissions"] == {"id-token": "write"}


def test_packages_say_where_they_come_from_and_where_they_were_run(projects):
    for dist, project in projects.items():
        urls = project["project"]["urls"]
        assert urls["Issues"] == f"{urls['Source']}/issues"
        assert urls["Changelog"].endswith(f"/packages/{dist}/CHANGELOG.md")
        systems = [line for line in project["project"]["classifiers"] if line.startswith("Operating System")]
        assert systems == ["Operating System :: POSIX :: Linux"], dist
    assert len({project["project"]["urls"]["Source"] for project in projects.values()}) == 1
