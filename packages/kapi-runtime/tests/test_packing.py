"""The native path and the plain path read, pack and refuse the same argument lists alike."""

from __future__ import annotations

import os
from functools import partial
from itertools import combinations
from types import SimpleNamespace

import dpnp
import numpy as np
import pytest

from kapi_lowering import KernelModule, PackedLayout, Parameter
from kapi_runtime.launch.arguments import read_arguments
from kapi_runtime.launch.overlaps import check_no_overlap
from kapi_runtime.launch.packing import packed_arguments
from kapi_runtime.launch.preparation import is_small, require_assumptions
from kapi_runtime.sycl.plan import make_plan
from kapi_sim import KapiError, Range
from kapi_sim.language.array_memory import ArrayFields
from kapi_spirv import SpirvTarget

pytestmark = pytest.mark.usefixtures("native")

SEED = int(os.environ.get("KAPI_TEST_SEED", "0"))
DTYPES = ("?", "i1", "u2", "i4", "u4", "i8", "f4", "f8", "c8", "c16")
CODES = {"?": "?", "b": "b", "H": "H", "i": "i", "I": "I", "l": "q", "f": "f", "d": "d"}
LISTS, ITERATIONS = 60, 12


class Draw:
    """Argument lists of one form: a kind for each argument, and values that are drawn anew each time."""

    def __init__(self, seed):
        self.random = np.random.default_rng((SEED, seed))
        self.base = {code: dpnp.zeros(1000, dtype=code) for code in DTYPES}
        # One array at least: a launch without any asks for the `device_context`.
        self.kinds = [self.array_kind(), *(self.kind() for _ in range(self.random.integers(0, 5)))]

    def choice(self, *values):
        return values[self.random.integers(len(values))]

    def kind(self, depth=0):
        names = ["array"] * 5 + ["int", "float", "bool", "complex", "scalar"] + ["tuple"] * (depth < 2)
        name = self.choice(*names)
        if name == "array":
            return self.array_kind()
        if name == "tuple":
            return name, [self.kind(depth + 1) for _ in range(self.random.integers(1, 4))]
        return name, self.choice(*DTYPES[:-1])

    def array_kind(self):
        layout = self.choice("C", "C", "F", "A")
        rank = self.choice(0, 1, 1, 2, 3) if layout == "C" else self.choice(2, 3)
        return "array", self.choice(*DTYPES[-4:]), rank, layout, self.choice(True, True, False), self.choice(0, 0, 1)

    def given(self):
        return tuple(map(self.value, self.kinds))

    def value(self, kind):
        name, what, *more = kind
        if name == "array":
            return self.array(what, *more)
        if name == "tuple":
            return tuple(map(self.value, what))
        number = self.choice(0, 1, -1, 7, 100)
        if name == "int":
            return self.choice(number, 2**62, -(2**63), 2**63 - 1, 2**63, 2**64)
        if name == "scalar":
            return np.dtype(what).type(abs(number))
        return {"float": float, "bool": bool, "complex": lambda n: complex(n, 2)}[name](number)

    def array(self, code, rank, layout, is_writable, is_inner):
        """A part of one of few allocations, so that many overlap; at times of another rank or type."""
        if self.random.random() < 0.05:
            rank = min(3, rank + 1)
        shape = tuple(self.random.integers(0 if self.random.random() < 0.1 else 1, 5, rank))
        base = self.base[code]
        start = int(self.choice(0, 0, 0, 100, 200, 300))
        size = int(np.prod(shape))
        array = base[start : start + size].reshape(shape)
        if layout == "F":
            array = base[start : start + size].reshape(shape[::-1]).transpose()
        elif layout == "A":
            wide = tuple(2 * extent for extent in shape)
            steps = tuple(slice(None, None, self.choice(2, -2)) for _ in shape)
            array = base[start : start + int(np.prod(wide))].reshape(wide)[steps]
        array.flags.writable = is_writable
        return array.get_array() if is_inner else array


def module_of(draw, arguments):
    """Stand-in for a compiled kernel of arguments like these, as far as packing needs it."""
    parameters, values = [], [("range", "range", "q")]
    for name, value in zip(arguments.names, arguments.read, strict=True):
        if isinstance(value, ArrayFields):
            has_strides = value.layout != "C" or bool(draw.random.integers(2))
            is_written = not value.readonly and bool(draw.random.integers(2))
            parameters.append(Parameter(name, "array", "", has_strides, is_written))
            values += [(name, "pointer", "Q"), *[(name, "shape", "q")] * len(value.shape)]
            values += [(name, "stride", "q")] * len(value.shape) * has_strides
            continue
        parameters.append(Parameter(name, "scalar", ""))
        strong = value.dtype if isinstance(value, np.generic) else np.dtype(type(value))
        part = strong.type(0).real.dtype if strong.kind == "c" else strong
        values += [(name, "value", CODES[part.char])] * (1 + (strong.kind == "c"))
    target = SpirvTarget(is_small=draw.choice(False, True), reads_apart=draw.choice(False, True))
    module = SimpleNamespace(
        name="made_up", parameters=parameters, layout=PackedLayout.of(values), failures=None, target=target
    )
    module.packed = partial(KernelModule.packed, module)
    return module


def read(draw, given):
    return read_arguments("made_up", [f"a{position}" for position in range(len(draw.kinds))], given)


def plain(module, arguments):
    """The bytes of the plain path, or None if it refuses."""
    try:
        require_assumptions(module, is_small(Range(64), arguments), check_no_overlap(module, arguments))
        return packed_arguments(module, (64,), arguments)
    except KapiError:
        return None


def may_interlock(module, arguments):
    """Whether two arrays, one of them written, are between the same addresses, which the plain path looks into."""
    arrays = [
        (value.span, parameter.is_written)
        for value, parameter in zip(arguments.read, module.parameters, strict=True)
        if isinstance(value, ArrayFields)
    ]
    return any(
        (writes or other_writes) and low < other_high and other_low < high
        for ((low, high), writes), ((other_low, other_high), other_writes) in combinations(arrays, 2)
    )


@pytest.mark.parametrize("seed", range(LISTS))
def test_native_path_packs_and_refuses_as_the_plain_path(seed):
    draw = Draw(seed)
    queue = draw.base["f4"].sycl_queue
    plan, packed_natively, refused = None, 0, 0
    for _ in range(ITERATIONS):
        given = draw.given()
        try:
            arguments = read(draw, given)
        except KapiError:  # an integer that no kernel takes
            assert plan is None or not plan.pack(given)
            continue
        if plan is None:
            module = module_of(draw, arguments)
            packed = plain(module, arguments)
            if packed is None:
                continue
            kernel = SimpleNamespace(module=module, native=SimpleNamespace(addressof_ref=lambda: 0))
            key = arguments.key
            plan = make_plan(kernel, queue, given, packed, [64], None)
            assert plan is not None or may_interlock(module, arguments)
            continue
        expected = plain(module, arguments) if arguments.key == key else None
        if plan.pack(given):
            assert plan.packed == expected
            packed_natively += 1
        else:
            assert expected is None or may_interlock(module, arguments)
            refused += 1
    TALLY.append((packed_natively, refused))


TALLY: list[tuple[int, int]] = []


def test_both_answers_occurred():
    """Without this, lists that are all refused would show nothing."""
    if len(TALLY) == LISTS:
        assert sum(packed for packed, _ in TALLY) > LISTS
        assert sum(refused for _, refused in TALLY) > LISTS // 2
