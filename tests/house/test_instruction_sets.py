from __future__ import annotations

import json

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


def test_table_has_a_column_for_each_instruction_set(tmp_path):
    file = tmp_path / "faults.json"
    seen = {"skx": {"faults": {"a": "there"}}, "corei7": {"faults": {"a": "not there", "b": "there"}}}
    file.write_text(json.dumps(seen), "utf-8")
    assert instruction_sets.table(file).splitlines() == [
        "| fault | skx | corei7 |",
        "| --- | --- | --- |",
        "| a | there | not there |",
        "| b | not asked | there |",
    ]
