"""Kernels changed at random: each compiles to a valid module or is refused with its line, and so in the simulator.

The kernels are the conformance suite's. A mutant is one of them with a few nodes of its tree dropped, doubled, swapped
or replaced, now and then by those of another kernel, and with the dtypes of some of its arguments changed.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import os
import random
import re
import signal
import textwrap
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from numba import from_dtype

import kapi_sim
from kapi_sim.errors import KapiError
from kapi_sim.testing.case import Local, Strided
from kapi_sim.testing.conformance import CASES
from kapi_spirv import compile_kernel
from kapi_types import ArrayType, ItemType, NdItemType, typeof_argument
from kapi_types.kernel_api import tuple_of

FIXED = 60
BLOCKS, BLOCK = 80, 50  # of a night; other runs have one block
LIMIT = 300  # seconds for one mutant, on a machine however busy: longer is a compiler that hangs
DTYPES = ("bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
CONSTANTS = (
    0, 1, -1, 2, 3, 31, 64, 255, 256, 2**31, -(2**31), 2**63 - 1, 2**63, 2**64, -(2**63), 0.0, -0.0, 0.5, 1e30, 1e400,
    1j, True, False, None, "text", b"b", (), (1, 2), ...,
)  # fmt: skip
ATTRIBUTES = (
    "shape", "dtype", "ndim", "size", "T", "strides", "get_id", "get_range", "get_global_id", "get_local_id",
    "get_group", "get_sub_group", "leader", "dimensions", "real", "imag", "sqrt", "sin", "int32", "float32", "pi",
    "load", "store", "fetch_add", "exchange", "type", "nothing", "__class__", "sum", "copy", "PrivateArray",
    "AtomicRef", "group_barrier", "reduce_over_group", "plus", "MemoryOrder", "RELAXED", "LOCAL",
)  # fmt: skip
CALLS = (
    "abs", "len", "int", "float", "bool", "complex", "min", "max", "round", "range", "tuple", "list", "str", "print",
    "divmod", "pow", "sum", "type", "isinstance", "np.int8", "np.uint64", "np.float16", "np.float32", "np.sqrt",
    "np.zeros", "kapi.PrivateArray", "np.dtype", "hash", "sorted",
)  # fmt: skip
OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr,
    ast.BitXor, ast.MatMult,
)  # fmt: skip
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn)
NUMBA = re.compile(
    r"Numba|opcode|\$\w|TypingError|LoweringError|nopython|cannot determine|Undecided"
    r"|weak_(?:bool|int|float|complex)|array\(\w+, "
)


class Mutant:
    """One kernel, changed.

    Attributes
    ----------
    case : Case
        What it was made of.
    source : str
        The function that makes it.
    inputs : list
        What it is launched with.
    """

    def __init__(self, number):
        self.number = number
        self._random = random.Random(number)
        self.case = self._random.choice(WITH_SOURCE)
        self._tree = tree_of(self.case)
        for _ in range(self._random.choice((1, 1, 1, 2, 2, 3, 5))):
            self._mutate()
        ast.fix_missing_locations(self._tree)
        self.source = ast.unparse(self._tree) + "\n"
        self.filename = f"<mutant {number}>"
        self.inputs = [self._changed(value) for value in self.case.inputs()]

    def kernel(self, kapi):
        """The kernel in a world; what Python itself does not take is a SyntaxError."""
        linecache.cache[self.filename] = (len(self.source), None, self.source.splitlines(True), self.filename)
        namespace = {**inspect.unwrap(self.case.make).__globals__, "__name__": "mutants"}
        exec(compile(self.source, self.filename, "exec"), namespace)
        return namespace[self._tree.body[0].name](kapi)

    def _changed(self, value):
        if not self._random.randrange(12) and isinstance(value, np.ndarray):
            value = value.astype(self._random.choice(DTYPES))
        elif not self._random.randrange(12) and isinstance(value, Local):
            value = replace(value, dtype=self._random.choice(DTYPES))
        elif not self._random.randrange(40):
            value = self._random.choice((np.zeros((2, 2)), 3, 0.5, np.float32(1), True, (1, 2.0), np.zeros(0), 2**40))
        return value

    # -- one change

    def _mutate(self):
        root = self._tree
        if not self._random.randrange(5):
            root = tree_of(self._random.choice(WITH_SOURCE))
        blocks, slots, _ = code_positions(self._tree)
        other_blocks, other_slots, _ = code_positions(root)
        changes = [self._change_block, self._change_operator, self._change_name, self._change_constant, self._replace]
        change = self._random.choice([*changes, self._replace, self._wrap, self._change_call])
        if change == self._change_block:
            self._change_block(self._random.choice(blocks), self._random.choice(other_blocks))
        else:
            change(slots, other_slots)

    def _change_block(self, block, other):
        position = self._random.randrange(len(block))
        donor = self._adapted(self._random.choice(other))
        kind = self._random.randrange(8)
        if kind == 0:
            block[position] = ast.Pass()
        elif kind == 1:
            block.insert(position, copy.deepcopy(block[position]))
        elif kind == 2:
            block.insert(self._random.randrange(len(block) + 1), donor)
        elif kind == 3:
            block[position] = donor
        elif kind == 4:
            other_position = self._random.randrange(len(block))
            block[position], block[other_position] = block[other_position], block[position]
        elif kind == 5:
            text = self._random.choice(
                ("if {0} > 1:\n pass", "for k in range({0}):\n pass", "while {0} < 3:\n {0} += 1", "def g(x):\n pass")
            )
            around = ast.parse(text.format(self._name())).body[0]
            around.body.append(block[position])
            block[position] = around
        else:
            text = self._random.choice(
                ("break", "continue", "return", "return 1", "yield", "del {}", "global {}", "pass", "{} = None",
                 "{} += 1", "assert {}", "raise ValueError('bad')", "raise", "{}[0] = 1", "a, b = {}", "import os",
                 "{}: int = 3", "print({})", "for k in {}: pass", "with {}: pass", "try:\n pass\nfinally:\n pass",
                 "match {}:\n case 1: pass", "class C: pass", "x = lambda: {}", "{}()", "nonlocal {}", "x = *{},",
                 "*x, y = {}")
            )  # fmt: skip
            block.insert(position, ast.parse(text.format(self._name())).body[0])

    def _change_operator(self, slots, others):
        nodes = self._nodes(ast.BinOp, ast.AugAssign, ast.Compare)
        if nodes:
            node = self._random.choice(nodes)
            if isinstance(node, ast.Compare):
                node.ops[0] = self._random.choice(COMPARISONS)()
            else:
                node.op = self._random.choice(OPERATORS)()

    def _change_name(self, slots, others):
        names, dotted = self._nodes(ast.Name), self._nodes(ast.Attribute)
        if dotted and self._random.random() < 0.4:
            known = [node.attr for node in dotted]
            self._random.choice(dotted).attr = self._random.choice((*ATTRIBUTES, *known))
        elif names:
            self._random.choice(names).id = self._name()

    def _change_constant(self, slots, others):
        nodes = self._nodes(ast.Constant)
        if nodes:
            self._random.choice(nodes).value = self._random.choice(CONSTANTS)

    def _replace(self, slots, others):
        if not slots or not others:
            return
        put(self._random.choice(slots), self._adapted(got(self._random.choice(others))))

    def _wrap(self, slots, others):
        if not slots:
            return
        slot = self._random.choice(slots)
        text = self._random.choice(
            ("-({})", "not ({})", "~({})", "({0}, {0})", "({})[0]", "({}).shape", "({0}) if ({0}) else 1", "[{}]",
             "({0}) ** ({0})", "({})[:]", "({0}) + 1", "({0}) < ({0}) < 2", "lambda: ({})", "(z := ({}))", "({}).real",
             "({})[0, 0]", "({0}) // 0", "({0}) << 70", *(f"{each}({{}})" for each in CALLS))
        )  # fmt: skip
        spelled = ast.unparse(got(slot))
        put(slot, ast.parse(text.format(spelled), mode="eval").body)

    def _change_call(self, slots, others):
        calls = self._nodes(ast.Call)
        if not calls:
            return
        call = self._random.choice(calls)
        kind = self._random.randrange(4)
        if kind == 0 and call.args:
            call.args.pop(self._random.randrange(len(call.args)))
        elif kind == 1 and others:
            call.args.append(self._adapted(got(self._random.choice(others))))
        elif kind == 2 and call.args:
            name = self._random.choice(("dim", "group", "fill_zeros", "dtype", "shape", "memory_order", "x"))
            call.keywords.append(ast.keyword(name, call.args.pop()))
        elif call.args:
            call.args[0] = ast.Starred(call.args[0], ast.Load())

    def _nodes(self, *kinds):
        """The nodes of some kinds, in what the kernel and its functions hold."""
        found = [node for block in code_positions(self._tree)[2] for each in block for node in ast.walk(each)]
        return [node for node in found if isinstance(node, kinds)]

    def _name(self):
        names = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        names |= {node.arg for node in ast.walk(self._tree) if isinstance(node, ast.arg)}
        return self._random.choice([*sorted(names), "missing"])

    def _adapted(self, node):
        """A copy of a node of any kernel, its unknown names now and then replaced by known ones."""
        node = copy.deepcopy(node)
        known = {each.id for each in ast.walk(self._tree) if isinstance(each, ast.Name)}
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id not in known and self._random.random() < 0.8:
                each.id = self._name()
        return node


def tree_of(case):
    """The source of the function that makes a case's kernel."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(case.make)))
    (function,) = tree.body
    if function.decorator_list:  # the kernel itself
        tree = ast.parse(f"def make(kapi):\n    @kapi.kernel\n    def kernel(): ...\n    return {function.name}")
        function.decorator_list = tree.body[0].body[0].decorator_list
        tree.body[0].body[0] = function
    return tree


def code_positions(tree):
    """The blocks of statements, and where expressions are read, of all that is in the function which makes a kernel."""
    blocks, slots, bodies = [], [], []
    for function in tree.body[0].body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (each for statement in function.body for each in ast.walk(statement)):
            for name, value in ast.iter_fields(node):
                if is_read(value):
                    slots.append((node, name, None))
                elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                    blocks.append(value)
                elif isinstance(value, list):
                    slots += [(node, name, position) for position, each in enumerate(value) if is_read(each)]
        blocks.append(function.body)
        bodies.append(function.body)
    return blocks, slots, bodies


def is_read(node):
    return isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def got(slot):
    node, name, position = slot
    value = getattr(node, name)
    return value if position is None else value[position]


def put(slot, made):
    node, name, position = slot
    if position is None:
        setattr(node, name, made)
    else:
        getattr(node, name)[position] = made


WITH_SOURCE = [case for case in CASES if inspect.getsource(case.make).startswith(("def ", "@kernel"))]


# -- what is done with a mutant -------------------------------------------------------------------------


class TookTooLong(BaseException):
    """Not an Exception, so that nothing takes it for its own."""


@contextmanager
def at_most(seconds):
    def stop(*_):
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def space_of(kapi, case):
    return kapi.Range(*case.space[0]) if len(case.space) == 1 else kapi.NdRange(*case.space)


def argument_of(kapi, value):
    """Arguments of a launch in the simulator."""
    if isinstance(value, Local):
        return kapi.LocalAccessor(value.shape, value.dtype)
    if isinstance(value, Strided):
        return value.view(value.base.copy())
    return value.copy() if isinstance(value, np.ndarray) else value


def type_of(value):
    """Arguments of `compile_kernel`."""
    if isinstance(value, tuple):
        return tuple_of(value, tuple(map(type_of, value)))
    value = argument_of(kapi_sim, value)
    if not isinstance(value, np.ndarray):
        return typeof_argument(value)
    layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
    return ArrayType(from_dtype(value.dtype), value.ndim, layout)


def simulate(mutant):
    """Run in the simulator; what it raised, or `None`, and the arguments afterwards."""
    arguments = [argument_of(kapi_sim, value) for value in mutant.inputs]
    try:
        with kapi_sim.simulation(spin_limit=2000), at_most(3):
            kapi_sim.call_kernel(mutant.kernel(kapi_sim), space_of(kapi_sim, mutant.case), *arguments)
    except (Exception, TookTooLong) as error:
        return error, arguments
    return None, arguments


def compiled(mutant):
    """Compile; the module, or what was raised."""
    index_type = ItemType if len(mutant.case.space) == 1 else NdItemType
    types = [index_type(len(mutant.case.space[0])), *map(type_of, mutant.inputs)]
    try:
        with at_most(LIMIT):
            return compile_kernel(mutant.kernel(kapi_sim).py_func, types)
    except (Exception, TookTooLong) as error:
        return error


def complaint_of_simulator(mutant, error):
    """Describe a wrong refusal of a mutant by the simulator; an empty text if it is right."""
    if error is None or isinstance(error, (KapiError, TookTooLong, SyntaxError)):
        return ""
    said = str(error) + "".join(getattr(error, "__notes__", []))
    frames = traceback.extract_tb(error.__traceback__)
    if any(frame.filename == mutant.filename for frame in frames) and "of kernel" in said:
        return ""
    return f"{type(error).__name__} without its line: {said}"


def complaint_of_compiler(mutant, result, validate):
    """Describe a wrong outcome of compiling a mutant; an empty text if it is right."""
    if not isinstance(result, BaseException):
        said = validate(result.code, f"spv{result.target.version}")
        return f"spirv-val: {said}" if said else ""
    if isinstance(result, SyntaxError):
        return ""
    if not isinstance(result, KapiError):
        return f"{type(result).__name__}: {result}"
    text = str(result)
    if f"{mutant.filename}:" not in text and "__init__" not in text:
        return f"no line: {text}"
    words = "\n".join(line for line in text.splitlines() if line.startswith(mutant.filename))
    return f"Numba's words: {words}" if NUMBA.search(words) else ""


# -- the tests -------------------------------------------------------------------------------------------


def complaints(number, validate):
    """Describe a wrong outcome of a mutant, and its outcome: run, refused by one world or by both."""
    try:
        mutant = Mutant(number)
        compile(mutant.source, "mutant", "exec")
    except SyntaxError:
        return [], "no Python"
    error, _ = simulate(mutant)
    result = compiled(mutant)
    found = [complaint_of_simulator(mutant, error), complaint_of_compiler(mutant, result, validate)]
    outcome = f"{'refused' if error else 'run'}, {'refused' if isinstance(result, BaseException) else 'compiled'}"
    return [f"mutant {number} of {mutant.case.name}: {each}\n{mutant.source}" for each in found if each], outcome


@pytest.mark.filterwarnings("ignore")  # Python's and NumPy's own doubts about such code
def test_mutants_are_run_or_refused_with_their_line(validate):
    """In the simulator and by the compiler; and what compiles is valid."""
    outcomes = Counter()
    for number in range(FIXED):
        found, outcome = complaints(number, validate)
        assert not found, found[0]
        outcomes[outcome] += 1
    # Mutants that are all refused, or none, would show little.
    assert outcomes["run, compiled"] >= FIXED // 10
    assert outcomes["refused, refused"] >= FIXED // 10


@pytest.mark.nightly(one_in=BLOCKS)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block", range(BLOCKS))
def test_mutants_are_run_or_refused_at_length(validate, block):
    """Other mutants each night; a message has the number that makes the same again."""
    first = (int(os.environ.get("KAPI_TEST_SEED", "0")) * BLOCKS + block) * BLOCK
    found = [each for number in range(first, first + BLOCK) for each in complaints(number, validate)[0]]
    assert not found, "\n\n".join(found[:20])
