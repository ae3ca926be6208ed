from __future__ import annotations

import pytest
from tools import isolation


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
