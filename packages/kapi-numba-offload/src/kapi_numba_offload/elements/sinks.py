"""`Elements`, an expression for the operands in hand, and the kernel that stores it.

What a kernel does with the elements gives its lines their frame; the operands are read, and the value is spelled, alike
for all kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import kapi_runtime
from kapi_numba_offload.elements.expression import Node, leaves_of
from kapi_numba_offload.elements.kernel_source import Indexing, emit, index_lines, make_kernel, spell_index
from kapi_numba_offload.elements.operands import dtype_of
from kapi_numba_offload.elements.operation_source import Operand, cast
from kapi_numba_offload.elements.statements import Statement, StatementLocation
from kapi_numba_offload.libraries.arrays import is_device_array

__all__ = ["Elements", "extent_names", "extents_of", "stored"]


@dataclass(frozen=True, slots=True)
class Elements:
    """Elementwise statements for operands of known dtypes.

    - `arrays`: which leaves are arrays.
    - `operands`: how the leaves are spelled once they are read, and their dtypes.
    - `dtypes`: the dtype of each node, None for Python's own numbers.
    - `fastmath`: whether kernels may be optimised as if arithmetic were exact, or flags for how far.
    """

    statements: Sequence[Statement]
    arrays: Sequence[bool]
    operands: Sequence[Operand]
    dtypes: Mapping[Node, np.dtype[Any] | None]
    fastmath: bool | frozenset[str]

    @classmethod
    def of(
        cls,
        statements: Sequence[Statement],
        leaves: Sequence[Any],
        values: Mapping[Node, Any],
        fastmath: bool | frozenset[str],
    ) -> Elements:
        """The statements for leaves, with the values or types of their nodes."""
        return cls(
            statements,
            [is_device_array(leaf) for leaf in leaves],
            [Operand(f"x{number}", dtype_of(leaf)) for number, leaf in enumerate(leaves)],
            {node: dtype_of(value) for node, value in values.items()},
            fastmath,
        )

    @property
    def location(self) -> StatementLocation:
        """Source location of the first statement."""
        return self.statements[0].location

    @property
    def name(self) -> str:
        """Name of its kernels."""
        function = self.location.function
        return function if function.isidentifier() else "expression"

    @property
    def parameters(self) -> list[str]:
        """The parameters of kernels for the leaves."""
        return [f"{'a' if is_array else 'x'}{number}" for number, is_array in enumerate(self.arrays)]

    def reads(self, indices: Sequence[str | None], elsewhere: Mapping[int, Any] | None = None) -> list[str]:
        """The lines that read an element of each array.

        - `indices`: the index for each leaf, in brackets; None for a number.
        - `elsewhere`: leaves that are read where they are used.
        """
        used = set().union(*(leaves_of(each.node) for each in self.statements))
        return [
            f"x{number} = a{number}{index}"
            for number, index in enumerate(indices)
            if index is not None and number in used and number not in (elsewhere or ())
        ]

    def value(self, dtype: np.dtype[Any]) -> str:
        """The source of the only statement's value, of a dtype."""
        made = emit(self.statements[0].node, self.operands, (), self.dtypes)
        return f"({made.source} != 0)" if dtype.kind == "b" else cast(made, dtype)

    def kernel(self, parameters: Sequence[str], lines: Sequence[str], suffix: str = "") -> kapi_runtime.Kernel:
        """A kernel of these parameters and lines."""
        return make_kernel(
            self.name + suffix, tuple(parameters), tuple(lines), str(self.location), fastmath=self.fastmath
        )


def stored(
    elements: Elements,
    indexings: Sequence[Indexing],
    results: Sequence[np.dtype[Any]],
    ndim: int,
    memory: Mapping[int, int],
) -> kapi_runtime.Kernel:
    """The kernel that stores each element of the statements.

    - `indexings`: how each leaf is indexed.
    - `results`: the dtype of each statement's value.
    - `ndim`: axes of the index space.
    - `memory`: leaves whose elements statements change: they are read at each use, under the one leaf that is stored
      to.

    Raises `TypeError` if an operation cannot be spelled for these dtypes.
    """
    extents = [f"n{axis}" for axis in range(ndim)]
    indices = [None if each is None else spell_index(each) for each in indexings]
    lines = [*index_lines(ndim, extents), *elements.reads(indices, memory)]
    spelled = [
        Operand(f"a{memory[number]}{indices[number]}", operand.dtype) if number in memory else operand
        for number, operand in enumerate(elements.operands)
    ]
    full_index = spell_index(tuple(range(ndim)))
    values: list[Operand] = []
    outputs = []
    for number, (statement, dtype) in enumerate(zip(elements.statements, results, strict=True)):
        lines.append(f"v{number} = {emit(statement.node, spelled, values, elements.dtypes).source}")
        value = Operand(f"v{number}", dtype)
        if statement.target is not None:
            target = f"a{memory[statement.target]}{indices[statement.target]}"
            lines.append(f"{target} = v{number}")
            value = Operand(target, elements.operands[statement.target].dtype)
        elif statement.is_output:
            lines.append(f"o{number}{full_index} = v{number}")
        if statement.target is not None or statement.is_output:
            outputs.append(f"o{number}")
        values.append(value)
    return elements.kernel([*outputs, *elements.parameters, *extent_names(extents)], lines)


def extents_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The extents that a kernel over the elements of an array of this shape is given."""
    return shape[1 : len(shape) - 2] if len(shape) > 3 else ()


def extent_names(names: Sequence[str]) -> Sequence[str]:
    """Names of an array's lengths whose values `extents_of` gives."""
    return names[1 : len(names) - 2] if len(names) > 3 else ()
