from __future__ import annotations

import re

from packaging.version import Version
from tools import interpreters
from tools.declarations import requirements


def test_sibling_ranges_admit_this_version_and_end_before_the_next_minor_one(projects):
    for dist, project in projects.items():
        for name, requirement in requirements(project).items():
            if name in projects:
                version = Version(projects[name]["project"]["version"])
                assert version in requirement.specifier, f"{dist} needs {requirement}, got {version}"
                after = f"{version.major}.{version.minor + 1}.0"
                assert after not in requirement.specifier, f"{dist} must bound {name} below {after}, got {requirement}"


def test_modules_have_the_version_of_their_distribution(root, projects):
    for dist, project in projects.items():
        text = (root / "packages" / dist / "src" / dist.replace("-", "_") / "__init__.py").read_text("utf-8")
        assert re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE) == [project["project"]["version"]], dist


def test_shared_dependencies_have_one_range_everywhere(projects):
    ranges: dict[str, dict[str, str]] = {}
    for dist, project in projects.items():
        for name, requirement in requirements(project).items():
            ranges.setdefault(name, {})[dist] = str(requirement.specifier)
    assert {name: where for name, where in ranges.items() if len(set(where.values())) > 1} == {}


def test_supported_versions_are_those_of_the_classifiers(projects):
    for dist, project in projects.items():
        prefix = "Programming Language :: Python :: 3."
        named = [line.rpartition(" ")[2] for line in project["project"]["classifiers"] if line.startswith(prefix)]
        assert named == list(interpreters.SUPPORTED), dist
        assert project["project"]["requires-python"] == f">={interpreters.SUPPORTED[0]}", dist
