from __future__ import annotations

import json

from tools import session_names


def test_names_of_a_parametrised_session_are_its_parts(projects):
    assert session_names.session_names("isolated") == [f"isolated({dist})" for dist in projects]


def test_nightly_has_sessions_for_the_workflow_s_matrix(capsys):
    assert session_names.main("nightly") == 0
    names = json.loads(capsys.readouterr().out)
    assert names
    assert all(name.startswith("nightly") for name in names)


def test_family_without_a_session_is_a_failure(monkeypatch):
    monkeypatch.setattr(session_names, "session_names", lambda family: [])
    assert session_names.main("weekly") == 1
