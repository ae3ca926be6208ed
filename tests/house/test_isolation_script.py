from __future__ import annotations

import pytest
from tools import isolation


def test_unwanted_are_higher_layers_and_what_a_package_does_without():
    assert isolation.unwanted("kapi_numba_offload") == ()
    assert isolation.unwanted("kapi_spirv") == (
        "kapi_cpu",
        "kapi_ptx",
        "kapi_runtime",
        "kapi_numba_offload",
        "dpctl",
        "dpnp",
    )
    assert isolation.unwanted("kapi_ptx") == (
        "kapi_cpu",
        "kapi_spirv",
        "kapi_runtime",
        "kapi_numba_offload",
        "dpctl",
        "dpnp",
    )
    assert "numba" in isolation.unwanted("kapi_sim")


@pytest.mark.parametrize(
    ("module", "arguments", "message"),
    [
        ("kapi_numba_offload", ["kapi-numba-offload"], "kapi_numba_offload must be installed as a wheel in "),
        ("dpctl", ["kapi-spirv"], "dpctl must be absent where kapi_spirv is tested"),
        ("dpnp", ["kapi-runtime", "--without", "dpnp"], "dpnp must be absent where kapi_runtime is tested"),
        ("a", ["kapi-sim", "--exactly", "kapi-sim"], "must hold exactly ['kapi-sim'], got"),
    ],
)
def test_environments_that_are_not_isolated_are_refused(tmp_path, monkeypatch, capsys, module, arguments, message):
    (tmp_path / f"{module}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert isolation.main(arguments) == 1
    assert message in capsys.readouterr().out
