"""All cases of the conformance suite."""

from __future__ import annotations

from kapi_sim.testing.case import Backend, Case
from kapi_sim.testing.cases.groups import (
    collective_cases,
    group_cases,
    index_cases,
    joint_cases,
    part_cases,
    sub_group_cases,
)
from kapi_sim.testing.cases.language import call_cases, control_cases, language_cases, specialization_cases
from kapi_sim.testing.cases.memory import (
    array_cases,
    atomic_cases,
    constant_cases,
    from_end_cases,
    private_cases,
    record_cases,
)
from kapi_sim.testing.cases.numbers import (
    bit_cases,
    complex_cases,
    edge_cases,
    function_cases,
    integral_cases,
    math_cases,
    number_cases,
    random_cases,
    value_cases,
    vector_cases,
    weak_cases,
)

__all__ = ["CASES", "Backend", "Case"]

CASES: tuple[Case, ...] = (
    *index_cases.CASES,
    *number_cases.CASES,
    *integral_cases.CASES,
    *edge_cases.CASES,
    *math_cases.CASES,
    *function_cases.CASES,
    *bit_cases.CASES,
    *complex_cases.CASES,
    *random_cases.CASES,
    *value_cases.CASES,
    *weak_cases.CASES,
    *vector_cases.CASES,
    *array_cases.CASES,
    *constant_cases.CASES,
    *from_end_cases.CASES,
    *group_cases.CASES,
    *collective_cases.CASES,
    *sub_group_cases.CASES,
    *joint_cases.CASES,
    *part_cases.CASES,
    *atomic_cases.CASES,
    *private_cases.CASES,
    *record_cases.CASES,
    *control_cases.CASES,
    *language_cases.CASES,
    *call_cases.CASES,
    *specialization_cases.CASES,
)
"""The suite; every name is unique, and every row of the intrinsic table is covered."""
