from __future__ import annotations

from tools import declarations


def test_sources_import_only_what_their_package_declares(root, projects):
    lines = []
    for dist, project in projects.items():
        found = declarations.imported([root / "packages" / dist / "src"])
        lines += declarations.problems(found, declarations.declared(project), dist)
    assert not lines, "\n".join(lines)


def test_packages_declare_only_what_their_sources_import(root, projects):
    idle = {}
    for dist, project in projects.items():
        found = declarations.imported([root / "packages" / dist / "src"])
        idle[dist] = sorted(set(declarations.requirements(project)) - set(found))
    assert not any(idle.values()), f"dependencies that nothing imports: {idle}"


def test_tests_and_examples_import_only_what_the_test_group_adds(root, projects):
    lines = []
    for dist, project in projects.items():
        allowed = {dist} | declarations.declared(project) | declarations.group(project, "test")
        # What a package's dependency brings of its siblings is there as well.
        allowed |= set().union(*(declarations.declared(projects[name]) for name in allowed & set(projects)))
        folders = [root / "packages" / dist / "tests", root / "packages" / dist / "examples"]
        lines += declarations.problems(declarations.imported(folders), allowed, f"{dist}'s test group")
    assert not lines, "\n".join(lines)
