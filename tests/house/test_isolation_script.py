from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tools import isolation


def test_layers_are_the_packages(projects):
    assert isolation.LAYERS == tuple(dist.replace("-", "_") for dist in projects)


def test_unwanted_are_higher_layers_and_what_a_package_does_without():
    assert isolation.unwanted("kapi_numba_offload") == ()
    assert isolation.unwanted("kapi_spirv") == ("kapi_ptx", "kapi_runtime", "kapi_numba_offload", "dpctl", "dpnp")
    assert isolation.unwanted("kapi_ptx") == ("kapi_spirv", "kapi_runtime", "kapi_numba_offload", "dpctl", "dpnp")
    assert "numba" in isolation.unwanted("kapi_sim")


def test_present_tells_what_can_be_imported():
    assert isolation.present(["json", "surely_no_such_module"]) == ["json"]


def test_misplaced_names_what_is_not_installed_here():
    assert isolation.misplaced(["packaging"], Path(sys.prefix)) == []
    (line,) = isolation.misplaced(["json"], Path(sys.prefix) / "lib" / "nowhere")
    assert line.startswith("json must be installed as a wheel in ")


def test_main_refuses_a_module_of_the_source_tree(tmp_path, monkeypatch, capsys):
    (tmp_path / "kapi_numba_offload.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert isolation.main(["kapi-numba-offload"]) == 1
    assert f"got {tmp_path / 'kapi_numba_offload.py'}" in capsys.readouterr().out


def test_main_refuses_a_package_that_must_be_absent(tmp_path, monkeypatch, capsys):
    (tmp_path / "dpctl.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert isolation.main(["kapi-spirv"]) == 1
    assert "dpctl must be absent where kapi_spirv is tested" in capsys.readouterr().out


def test_main_refuses_more_than_what_is_exactly_wanted(capsys):
    assert isolation.main(["kapi-sim", "--exactly", "kapi-sim", "numpy"]) == 1
    assert "must hold exactly ['kapi-sim', 'numpy'], got" in capsys.readouterr().out


def test_main_needs_a_known_package():
    with pytest.raises(ValueError, match="not in tuple"):
        isolation.main(["kapi-unknown"])


def test_main_refuses_a_module_that_is_to_be_absent_by_name(tmp_path, monkeypatch, capsys):
    (tmp_path / "dpnp.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert isolation.main(["kapi-runtime", "--without", "dpnp"]) == 1
    assert "dpnp must be absent where kapi_runtime is tested" in capsys.readouterr().out
