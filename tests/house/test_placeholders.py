from __future__ import annotations

from tools import placeholders


def test_placeholders_are_listed_and_all_of_them_are_known(root, capsys):
    """Prints where each one stands; the release workflow fails while there is one."""
    found = placeholders.places(root)
    assert placeholders.main([], root) == (1 if found else 0)
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == f"{len(found)} placeholders in {len({place.file for place in found})} files"
    with capsys.disabled():
        print("\n" + printed, end="")
    unknown = [place for place in found if place.text not in (placeholders.REPOSITORY, placeholders.CONTACT)]
    assert not unknown, "a name or an address that is not known must be one of tools/placeholders.py"


def test_release_workflow_fails_while_a_placeholder_remains(root):
    assert "run: python tools/placeholders.py\n" in (root / ".github" / "workflows" / "release.yml").read_text("utf-8")


def test_placeholders_are_found_and_filled_in(tmp_path, capsys):
    (tmp_path / ".github").mkdir()
    page, form = tmp_path / "page.md", tmp_path / ".github" / "form.yml"
    page.write_text(f"{placeholders.REPOSITORY}/issues, {placeholders.REPOSITORY}, write to {placeholders.CONTACT}\n")
    form.write_text(f"url: {placeholders.REPOSITORY}\n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff")
    assert placeholders.main([], tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"page.md: {placeholders.REPOSITORY} (2 times)",
        f"page.md: {placeholders.CONTACT}",
        f".github/form.yml: {placeholders.REPOSITORY}",
        "4 placeholders in 2 files",
    ]
    assert placeholders.main(["--repository", "https://host.test/us/kapi/"], tmp_path) == 1
    assert placeholders.main(["--contact", "us@host.test"], tmp_path) == 0
    assert page.read_text() == "https://host.test/us/kapi/issues, https://host.test/us/kapi, write to us@host.test\n"


def test_other_spellings_of_a_placeholder_are_found(tmp_path):
    mark = "PLACEHOLDER" + "-"
    (tmp_path / "a.md").write_text(f"{mark}editor and {placeholders.REPOSITORY.rpartition('/')[0]}/other\n")
    texts = [place.text for place in placeholders.places(tmp_path)]
    assert texts == [f"{mark}editor", "example." + "invalid", f"{mark}owner"]
