"""Files that a host of repositories reads: they follow their schemas, and run what contributors run."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("schema", SCHEMAS)
def test_file_follows_its_schema(schema):
    # The format is said, for `.cff` is not known by its name.
    options = ["--builtin-schema", schema, "--default-filetype", "yaml"]
    assert SCHEMAS[schema]
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


def test_ci_and_workflows_run_the_tests_on_every_python(root):
    tests = YAML(typ="safe").load((ROOT / ".github" / "workflows" / "tests.yml").read_text("utf-8"))
    assert tests["jobs"]["linux"]["strategy"]["matrix"]["python"] == list(interpreters.SUPPORTED)
    lines = (root / ".ci" / "run").read_text("utf-8").splitlines()
    assert lines[-2:] == [f"export KAPI_PYTHONS={','.join(interpreters.SUPPORTED)}", "exec python3 noxfile.py -s tests"]
    assert os.access(root / ".ci" / "run", os.X_OK)
