from __future__ import annotations

import re

from packaging.version import Version
from tools.declarations import group, requirements


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


def test_packages_depend_only_on_layers_below(projects):
    order = list(projects)
    for position, dist in enumerate(order):
        above = set(order[position:]) & set(requirements(projects[dist]))
        assert not above, f"{dist} must not depend on {above}"


def test_test_groups_hold_nothing_that_isolation_forbids(projects):
    order = list(projects)
    for position, dist in enumerate(order):
        forbidden = set(order[position + 1 :])
        if dist in ("kapi-sim", "kapi-types", "kapi-lowering", "kapi-cpu", "kapi-spirv", "kapi-ptx"):
            forbidden |= {"dpctl", "dpnp"}
        assert not forbidden & group(projects[dist], "test"), dist
