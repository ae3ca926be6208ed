from __future__ import annotations

import re

from packaging.version import Version
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
    told = {}
    for dist in projects:
        source = root / "packages" / dist / "src" / dist.replace("-", "_") / "__init__.py"
        match = re.search(r'^__version__ = "(.+)"$', source.read_text("utf-8"), re.MULTILINE)
        told[dist] = match and match[1]
    assert told == {dist: project["project"]["version"] for dist, project in projects.items()}


def test_shared_dependencies_have_one_range_everywhere(projects):
    ranges: dict[str, dict[str, str]] = {}
    for dist, project in projects.items():
        for name, requirement in requirements(project).items():
            ranges.setdefault(name, {})[dist] = str(requirement.specifier)
    assert {name: where for name, where in ranges.items() if len(set(where.values())) > 1} == {}
