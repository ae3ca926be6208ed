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


def test_imported_finds_lazy_and_aliased_imports_but_not_its_own(tmp_path):
    (tmp_path / "mine.py").write_text("import os\ndef f():\n    from sklearn.base import x\n")
    (tmp_path / "other.py").write_text("import mine\nfrom . import mine\nimport numpy.typing as npt\n")
    found = declarations.imported([tmp_path])
    assert found == {
        "scikit-learn": f"{tmp_path / 'mine.py'}:3",
        "numpy": f"{tmp_path / 'other.py'}:3",
    }


def test_problems_name_package_distribution_and_place():
    lines = declarations.problems({"numpy": "a.py:3", "numba": "b.py:1"}, {"numba"}, "kapi-sim")
    assert lines == [
        "kapi-sim must declare numpy, which a.py:3 imports; add it to its pyproject.toml",
    ]


def test_declared_counts_extras_and_normalises_names():
    project = {"project": {"dependencies": ["Num_Py>=2"], "optional-dependencies": {"cpu": ["intel.opencl_rt>=1"]}}}
    assert declarations.declared(project) == {"num-py", "intel-opencl-rt"}
