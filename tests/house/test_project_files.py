"""What a host of repositories reads: workflows, forms, and other settings are valid, and run what contributors run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import check_jsonschema
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.dependabot": [ROOT / ".github" / "dependabot.yml"],
    "vendor.readthedocs": [ROOT / ".readthedocs.yaml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}
PRE_COMMIT = ROOT / ".pre-commit-config.yaml"
DEVCONTAINER = ROOT / ".devcontainer" / "devcontainer.json"
RUN_BY_OTHERS = [*WORKFLOWS, PRE_COMMIT, ROOT / ".readthedocs.yaml", DEVCONTAINER]
SESSION = re.compile(r'noxfile\.py -s "?(\w+|\$\{\{ [\w.]+ \}\})')
PYTHON = re.compile(r"3\.\d+")


def checked(schema: str, files: list[Path]) -> int:
    """The exit status of check-jsonschema."""
    # The format is said, for `.cff` is not known by its name.
    options = ["--builtin-schema", schema, "--default-filetype", "yaml"]
    with pytest.raises(SystemExit) as end:
        check_jsonschema.main([*options, *map(str, files)])
    return int(end.value.code or 0)


def read(path: Path) -> dict:
    return YAML(typ="safe").load(path.read_text("utf-8"))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_file_follows_its_schema(schema):
    assert SCHEMAS[schema]
    assert checked(schema, SCHEMAS[schema]) == 0


def test_wrong_workflow_is_found(tmp_path):
    """A misspelt key, and a job that runs on nothing."""
    for wrong, right in (("steps:", "stages:"), ("runs-on:", "runs_on:"), ("on:\n", "when:\n")):
        path = tmp_path / "wrong.yml"
        path.write_text(WORKFLOWS[0].read_text("utf-8").replace(wrong, right), "utf-8")
        assert checked("vendor.github-workflows", [path]) == 1


def test_sessions_that_others_run_exist(root):
    noxfile = (root / "noxfile.py").read_text("utf-8")
    sessions = set(re.findall(r"^@nox\.session.*\n(?:@nox.*\n)*def (\w+)\(", noxfile, re.MULTILINE))
    assert {"tests", "isolated", "nightly", "docs", "build"} <= sessions
    run = {name for path in RUN_BY_OTHERS for name in SESSION.findall(path.read_text("utf-8"))}
    assert run - sessions == {"${{ matrix.session }}"}, "asked for with tools/session_names.py"
    assert run >= {"tests", "isolated", "docs", "build", "lint", "house", "imports", "types"}


def test_scripts_that_others_run_exist(root):
    run = {name for path in RUN_BY_OTHERS for name in re.findall(r"python3? ([\w/]+\.py)", path.read_text("utf-8"))}
    assert "tools/placeholders.py" in run
    assert [name for name in run if not (root / name).is_file()] == []


def test_packages_that_other_systems_run_are_the_lowest(projects):
    matrix = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["other-systems"]["strategy"]["matrix"]
    assert matrix["package"] == list(projects)[:2]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"windows", "macos"}


def test_pythons_of_workflows_are_one_list_and_are_claimed(projects):
    jobs = read(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]
    pythons = jobs["linux"]["strategy"]["matrix"]["python"]
    for path in WORKFLOWS:
        for job in read(path)["jobs"].values():
            assert job.get("env", {}).get("KAPI_PYTHONS", ",".join(pythons)) == ",".join(pythons), path.name
    classifiers = projects["kapi-sim"]["project"]["classifiers"]
    claimed = {each for each in classifiers if each.startswith("Programming Language :: Python :: 3.")}
    assert claimed == {f"Programming Language :: Python :: {python}" for python in pythons}
    expected = jobs["next-python"]
    assert expected["continue-on-error"] is True
    assert not set(PYTHON.findall(expected["name"])) & set(pythons)


def test_workflows_may_read_only_unless_a_job_says_more():
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {"contents": "read"}, path.name
        more = {name for name, job in workflow["jobs"].items() if "permissions" in job}
        assert more <= {"publish"}, path.name


def test_release_publishes_after_the_checks_and_by_trusted_publishing():
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert set(jobs["publish"]["needs"]) == {"check", "tests", "build"}
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert "password" not in (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8").replace(
        "there is no password", ""
    )


@pytest.mark.parametrize("form", [path for path in FORMS if path.name != "wish.yml"], ids=lambda path: path.name)
def test_form_asks_for_the_diagnosis(form):
    asked = [part for part in read(form)["body"] if "python -m kapi_runtime" in part["attributes"].get("label", "")]
    assert [part["validations"]["required"] for part in asked] == [True]


def test_pre_commit_runs_sessions_and_installs_nothing():
    repos = read(PRE_COMMIT)["repos"]
    assert [repo["repo"] for repo in repos] == ["local"]
    for hook in repos[0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"] == f"python3 noxfile.py -s {hook['id']}"
    assert [hook["id"] for hook in repos[0]["hooks"]] == ["lint", "imports", "house", "types"]


def test_devcontainer_is_json_with_comments():
    text = re.sub(r"^\s*//.*$", "", DEVCONTAINER.read_text("utf-8"), flags=re.MULTILINE)
    assert {"name", "image", "postCreateCommand"} <= set(json.loads(text))


def test_packages_say_where_they_come_from(projects):
    for dist, project in projects.items():
        urls = project["project"]["urls"]
        assert list(urls) == ["Source", "Issues", "Changelog"], dist
        assert urls["Issues"] == f"{urls['Source']}/issues"
        assert urls["Changelog"].endswith(f"/packages/{dist}/CHANGELOG.md")
    assert len({project["project"]["urls"]["Source"] for project in projects.values()}) == 1


def test_packages_claim_the_systems_on_which_they_were_run(projects):
    """Others stand in the README's table, as expected."""
    for dist, project in projects.items():
        systems = [line for line in project["project"]["classifiers"] if line.startswith("Operating System")]
        assert systems == ["Operating System :: POSIX :: Linux"], dist
