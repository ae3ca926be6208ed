"""The conformance suite that every back end runs.

A back end's whole test file::

    import kapi_runtime
    import pytest
    from kapi_sim.testing.conformance import CASES

    class Device:
        kapi = kapi_runtime
        def to_device(self, array): ...
        def to_host(self, array): ...

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
    def test_conformance(case):
        case.run(Device())
"""

from __future__ import annotations

from kapi_sim.testing.case import Backend, Case, Local, Strided

__all__ = ["Backend", "Case", "Local", "Strided"]
