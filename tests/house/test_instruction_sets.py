from __future__ import annotations

import pytest
from tools import instruction_sets


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ("", []),
        ("sse4_2", ["corei7"]),
        ("sse4_2 avx avx2 fma bmi2", ["corei7", "corei7-avx", "core-avx2"]),
        ("sse4_2 avx avx2 fma", ["corei7", "corei7-avx"]),
        (
            "sse4_2 avx avx2 fma bmi2 avx512f avx512bw avx512cd avx512dq avx512vl",
            ["corei7", "corei7-avx", "core-avx2", "skx"],
        ),
    ],
)
def test_instruction_sets_are_those_of_the_processor(flags, names):
    assert instruction_sets.available(flags.split()) == names
