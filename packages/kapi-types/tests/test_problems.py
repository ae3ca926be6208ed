"""All problems of a kernel are reported at once, each with its line, in terms of its author."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import types

import kapi_sim
from kapi_sim import AddressSpace, MemoryScope, group_barrier
from kapi_sim.errors import KernelProblem
from kapi_types import ArrayType, GroupType, ItemType, NdItemType, weak_bool, weak_float, weak_int
from kapi_types.kernel_api import ConstantType, EnumerationType
from kapi_types.kernel_typing import ProblemsFound, describe_problems, first_words, spell_type

A = ArrayType(types.float32, 2, "C")
B = ArrayType(types.int32, 1, "C")
READONLY = ArrayType(types.float32, 1, "C", readonly=True)
BIG = 2**70
TEXT = "text"


def many(item, a, b):
    i = item.get_id(0)
    a[i] = 3
    b[i] = undefined_name  # noqa: F821
    x = item.foo  # noqa: F841
    y = [1, 2, 3]  # noqa: F841
    z = a[0, 0] << 2  # noqa: F841
    b[i] = "text"


def test_problems_of_a_kernel_are_found_at_once(infer):
    """Six mistakes, six problems, each on its own line."""
    with pytest.raises(ProblemsFound) as caught:
        infer(many, ItemType(1), A, B, returns=types.none)
    first = many.__code__.co_firstlineno
    told = sorted((problem.line - first, problem.code) for problem in caught.value.problems)
    assert told == [
        (2, "too-many-indices"),
        (3, "name-undefined"),
        (4, "attribute-unknown"),
        (5, "list-in-kernel"),
        (6, "operator-operands"),
        (7, "outside-text"),
    ]
    assert {problem.filename for problem in caught.value.problems} == {__file__}


def takes_no_text(x):
    return x + TEXT


def takes_no_list(x):
    return [x]


def calls_wrongly(item, a, b):
    i = item.get_id(0)
    b[i] = takes_no_text(b[i])
    b[i] = takes_no_list(b[i])
    x = divmod(a[i, 0], 1j)  # noqa: F841
    y = round(1j)  # noqa: F841
    z = a[0, 0] << 2  # noqa: F841


def test_problems_of_called_functions_are_reported_with_all_others(infer):
    """Each on its own line, or, if kapi's own function has it, on the line of the call."""
    with pytest.raises(ProblemsFound) as caught:
        infer(calls_wrongly, ItemType(1), A, B, returns=types.none)
    told = {(problem.line, problem.code) for problem in caught.value.problems}
    first = calls_wrongly.__code__.co_firstlineno
    assert told == {
        (takes_no_text.__code__.co_firstlineno + 1, "outside-text"),
        (takes_no_list.__code__.co_firstlineno + 1, "list-in-kernel"),
        (first + 4, "call-arguments"),
        (first + 5, "call-arguments"),
        (first + 6, "operator-operands"),
    }
    assert {problem.filename for problem in caught.value.problems} == {__file__}
    said = " ".join(problem.text for problem in caught.value.problems)
    assert "divmod() does not take these arguments in a kernel: (float32, Python complex)" in said
    assert "round() does not take these arguments in a kernel: (Python complex)" in said


def literal_too_large(item, a, b):
    b[0] = b[0] + 3_000_000_000


def literal_too_small(item, a, b):
    b[0] -= -2_147_483_649


def literal_of_many_bits(item, a, b):
    b[0] = 1180591620717411303424


def global_of_many_bits(item, a, b):
    b[0] = BIG


def returned_value(item, a, b):
    return b[0]


def value_returned_once(item, a, b):
    if item.get_id(0) > 3:
        return
    return a[0, 0]


def array_or_array(item, a, b):
    x = b if item.get_id(0) > 1 else a
    b[0] = len(x)  # without it, Python 3.12 ends the function twice, and has no variable of two types


def function_of_python(item, a, b):
    b[0] = sum(a)


def function_of_numpy(item, a, b):
    a[0, 0] = np.linalg.norm(a)


def text_in_a_global(item, a, b):
    b[0] = TEXT


def trying(item, a, b):
    try:
        b[0] = 1
    except ValueError:
        pass


def raising(item, a, b):
    raise ValueError("a text, which is no second problem")


def yielding(item, a, b):
    yield 3


def printing(item, a, b):
    print(b[0], a, "a text, which is no second problem")


def loop_over_a_number(item, a, b):
    for x in b[0]:
        a[0, 0] = x


def barrier_of_an_item(item, a, b):
    group_barrier(item)


def id_of_a_text(item, a, b):
    b[0] = item.get_id("x")


def id_of_nothing(item, a, b):
    b[0] = item.get_id()


def misspelled(item, a, b):
    b[0] = item.get_idd(0)


def group_of_an_item(item, a, b):
    b[0] = item.get_group().get_group_id(0)


def mixed_tuple(item, a, b):
    members = (1, (2, 3), b[0])
    for i in range(3):
        a[0, i] = members[i]


def attribute_of_an_array(item, a, b):
    b[0] = a.flat[0]


def attribute_of_a_number(item, a, b):
    b[0] = b[0].nothing


def slice_of_an_array(item, a, b):
    b[1:3] = 2


def index_by_a_float(item, a, b):
    b[b[0] / 2] = 1


def too_many_indices(item, a, b):
    b[0, 0] = 1


def array_as_element(item, a, b):
    b[0] = a


def operator_on_arrays(item, a, b):
    b[0] = (a + b)[0]


def negated_tuple(item, a, b):
    b[0] = -(1, 2)


def unary_of_bool(item, a, b):
    b[0] = -np.bool_(True)


def indexed_number(item, a, b):
    b[0] = b[0][0]


def called_number(item, a, b):
    b[0] = BIG_INDEX(3)


def mathematics_of_an_array(item, a, b):
    a[0, 0] = math.sqrt(a)


def mathematics_of_two(item, a, b):
    a[0, 0] = math.sqrt(a[0, 0], 2.0)


def dictionary(item, a, b):
    x = {b[0]: 2}  # noqa: F841


def a_set(item, a, b):
    x = {1, b[0]}  # noqa: F841


def membership(item, a, b):
    b[0] = 2 in b


def identity(item, a, b):
    b[0] = b is not a


def a_string(item, a, b):
    x = f"{b[0]}"  # noqa: F841


def range_of_floats(item, a, b):
    for i in range(2.0):
        b[i] = 1


def length_of_a_number(item, a, b):
    b[0] = len(b[0])


def an_undefined_module(item, a, b):
    b[0] = nowhere.float32(3)  # noqa: F821


def returned_constant(item, a, b):
    return 1


def power_of_constants(item, a, b):
    b[0] = 2**70


def shift_of_constants(item, a, b):
    b[0] = 1 << 100


def dimension_too_large(item, a, b):
    b[item.get_id(1)] = 1


def dimension_below_zero(item, a, b):
    b[item.get_id(dim=-1)] = 1


def context_manager(item, a, b):
    with a:
        b[0] = 1


def attribute_assigned(item, a, b):
    a.x = 1


def imaginary(item, a, b):
    b[0] = 1j


BIG_INDEX = 3


@pytest.mark.parametrize(
    ("kernel", "line", "text"),
    [
        (literal_too_large, 1, "literal must fit int32, got 3000000000"),
        (literal_too_small, 1, "literal must fit int32, got -2147483649"),
        (literal_of_many_bits, 1, "a constant must fit 64 bits, got 1180591620717411303424"),
        (global_of_many_bits, 1, "BIG must fit 64 bits, got 1180591620717411303424"),
        (returned_value, 1, "a kernel cannot return a value, got int32"),
        (returned_constant, 1, "a kernel cannot return a value, got Python int"),
        (power_of_constants, 1, "a constant must fit 64 bits, got 2 power 70"),
        (shift_of_constants, 1, "a constant must fit 64 bits, got "),
        (dimension_too_large, 1, "dim must be from 0 to 0 in a space of 1 dimensions, got 1"),
        (dimension_below_zero, 1, "dim must be from 0 to 0 in a space of 1 dimensions, got -1"),
        (context_manager, 1, "kernels have no with statement: enter the context around the launch"),
        (attribute_assigned, 1, "a kernel cannot assign an attribute, only a field of a record: write to an array"),
        (
            imaginary,
            1,
            "an element of a int32 array of rank 1 cannot hold an imaginary part, got Python complex; store",
        ),
        (value_returned_once, 3, "a kernel cannot return a value, got float32"),
        (
            array_or_array,
            1,
            "a variable must have one type throughout a kernel, got float32 array of rank 2 and int32 array of rank 1",
        ),
        (
            function_of_python,
            1,
            "sum() does not take these arguments in a kernel: (float32 array of rank 2)",
        ),
        (function_of_numpy, 1, "numpy.linalg.norm is not a function that kernels can call"),
        (text_in_a_global, 1, "TEXT is a string, which a kernel can only print or raise"),
        (trying, 2, "kernels have no try: a device catches no exceptions"),
        (raising, 1, "a kernel raises in debug mode only: write @kernel(debug=True)"),
        (yielding, 1, "kernels cannot yield or await"),
        (
            printing,
            1,
            "print() in a kernel takes constant strings, numbers and bools, got float32 array of rank 2",
        ),
        (
            loop_over_a_number,
            1,
            "a loop must be over range(...), an array or a tuple of one type, got int32",
        ),
        (barrier_of_an_item, 1, "group of group_barrier() must be a Group or SubGroup, got Item; an NdItem's"),
        (id_of_nothing, 1, "Item.get_id() does not take these arguments in a kernel: ()"),
        (id_of_a_text, 1, "constant 'x' is a string, which a kernel can only print or raise"),
        (group_of_an_item, 1, "Item has no 'get_group' in a kernel"),
        (misspelled, 1, "Item has no 'get_idd' in a kernel: did you mean get_id?"),
        (
            mixed_tuple,
            3,
            "index of a tuple (Python int, tuple (Python int, Python int), int32), whose members differ in type, must"
            " be a constant in its range",
        ),
        (attribute_of_an_array, 1, "float32 array of rank 2 has no 'flat' in a kernel"),
        (attribute_of_a_number, 1, "int32 has no 'nothing' in a kernel"),
        (slice_of_an_array, 1, "a kernel stores to one element at a time, got a store to a slice"),
        (index_by_a_float, 1, "index must be made of integers, got float64"),
        (too_many_indices, 1, "index must have 1 integer, one for each axis, got 2"),
        (array_as_element, 1, "an element of a int32 array of rank 1 must be a number, got float32 array of rank 2"),
        (
            operator_on_arrays,
            1,
            "operator + does not have these operands: float32 array of rank 2 + int32 array of rank 1",
        ),
        (
            negated_tuple,
            1,
            "operator - does not have this operand: -tuple (Python int, Python int)",
        ),
        (unary_of_bool, 1, "operator - does not have this operand: -bool"),
        (indexed_number, 1, "int32 cannot be indexed, got an index of Python int"),
        (mathematics_of_an_array, 1, "math.sqrt() does not take these arguments in a kernel: (float32"),
        (
            mathematics_of_two,
            1,
            "math.sqrt() does not take these arguments in a kernel: (float32, Python",
        ),
        (dictionary, 1, "kernels have no dicts: use tuples or arrays"),
        (
            membership,
            1,
            "operator in must have a tuple on its right, got Python int in int32",
        ),
        (identity, 1, "kernels do not have operator is not"),
        (a_set, 1, "kernels have no sets: use tuples or arrays"),
        (a_string, 1, "kernels have no strings: give print() constant strings and numbers one by one"),
        (range_of_floats, 1, "range() does not take these arguments in a kernel: (Python float)"),
        (length_of_a_number, 1, "len() does not take these arguments in a kernel: (int32)"),
        (an_undefined_module, 1, "name 'nowhere' is not defined"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_mistake_is_one_problem(infer, kernel, line, text):
    """One mistake is told once, with its line and in plain words."""
    with pytest.raises(ProblemsFound) as caught:
        infer(kernel, ItemType(1), A, B, returns=types.none)
    (problem,) = caught.value.problems
    assert problem.text.startswith(text)
    assert problem.line == kernel.__code__.co_firstlineno + line


def test_assertion_is_taken_out(infer):
    """Without debug mode `assert` is nothing, whatever its text; its condition has types all the same."""
    namespace = {}
    source = "def kernel(item, b):\n    assert b[0] {}, f'text {{b}}'\n"
    exec(source.format("> 1"), namespace)  # pytest rewrites those of a test file
    infer(namespace["kernel"], ItemType(1), B, returns=types.none)
    exec(source.format("is b"), namespace)
    with pytest.raises(ProblemsFound, match="kernels do not have operator is"):
        infer(namespace["kernel"], ItemType(1), B, returns=types.none)


def test_store_to_a_readonly_array_is_refused(infer):
    """A kernel does not write an array that its owner made read-only."""

    def store(item, r):
        r[0] = 1

    with pytest.raises(ProblemsFound, match="a kernel cannot store to a read-only array, got read-only float32 array"):
        infer(store, ItemType(1), READONLY, returns=types.none)


def test_barrier_needs_a_memory_scope(infer):
    """A scope of another kind is none."""

    def barrier(item):
        group_barrier(item.get_group(), AddressSpace.LOCAL)

    with pytest.raises(ProblemsFound, match=r"fence_scope of group_barrier\(\) must be a member of MemoryScope itself"):
        infer(barrier, NdItemType(1), returns=types.none)


def test_problems_in_a_file_that_is_gone_have_no_source_line():
    """Of what was never in a file there is no text to show."""
    text = describe_problems(
        [KernelProblem("recursion", "<nowhere>", 3, "second"), KernelProblem("generator", "<nowhere>", 1, "first")]
    )
    assert text == "<nowhere>:1: first [generator]\n<nowhere>:3: second [recursion]"


def test_describe_problems_shows_source_in_the_order_of_lines():
    """`file:line`, what is wrong, and the line itself."""
    first = many.__code__.co_firstlineno
    problems = [KernelProblem("recursion", __file__, first + line, "wrong") for line in (7, 2)]
    assert describe_problems(problems) == (
        f"{__file__}:{first + 2}: wrong [recursion]\n    a[i] = 3\n"
        f'{__file__}:{first + 7}: wrong [recursion]\n    b[i] = "text"'
    )


def test_problems_found_holds_each_once():
    """A problem of several rounds of inference is reported once."""
    problem = KernelProblem("recursion", "f.py", 1, "twice")
    assert ProblemsFound([problem, problem]).problems == (problem,)


def test_first_words_leaves_out_stages():
    """Numba says where it was; the author wants what it was."""
    error = RuntimeError("Failed in kapi_kernel mode pipeline (step: types)\n\nno such thing. Raised from None\nadvice")
    assert first_words(error) == ("numba-cannot", "Numba has no way to compile this: no such thing")
    assert first_words(RuntimeError()) == ("numba-cannot", "Numba has no way to compile this: RuntimeError")
    assert first_words(RuntimeError("Illegal IR, del found at: del x")).code == "del-in-kernel"


@pytest.mark.parametrize(
    ("type_", "spelled"),
    [
        (A, "float32 array of rank 2"),
        (READONLY, "read-only float32 array of rank 1"),
        (ArrayType(types.int8, 1, "C", address_space=AddressSpace.LOCAL), "int8 local array of rank 1"),
        (weak_int, "Python int"),
        (weak_float, "Python float"),
        (weak_bool, "Python bool"),
        (types.int32, "int32"),
        (types.boolean, "bool"),
        (types.none, "None"),
        (ItemType(1), "Item"),
        (GroupType(2), "Group"),
        (ConstantType(MemoryScope.DEVICE), "MemoryScope.DEVICE"),
        (EnumerationType(MemoryScope), "MemoryScope"),
        (types.Tuple([weak_int, types.int8]), "tuple (Python int, int8)"),
        (types.Module(math), "module math"),
        (types.Module(kapi_sim), "module kapi_sim"),
    ],
    ids=str,
)
def test_spell_type_is_what_an_author_would_say(type_, spelled):
    """No type appears by Numba's own name."""
    assert spell_type(type_) == spelled


def names_of_other_languages(item, a, b):
    i = threadIdx.x  # noqa: F821
    kapi_sim.syncthreads()
    b[i] = item.barrier()


def test_names_of_other_languages_are_answered(infer):
    with pytest.raises(ProblemsFound) as caught:
        infer(names_of_other_languages, NdItemType(1), A, B, returns=types.none)
    told = {problem.code: problem.text for problem in caught.value.problems}
    assert told.keys() == {"name-undefined", "module-attribute", "attribute-unknown"}
    assert "`threadIdx` use `nd_item.get_local_id(0)`" in told["name-undefined"]
    assert all("use `kapi.group_barrier(" in told[code] for code in ("module-attribute", "attribute-unknown"))


def negative_power(item, b):
    b[0] = b[0] ** -2


def test_negative_power_of_an_integer_is_one_problem(infer):
    with pytest.raises(ProblemsFound) as caught:
        infer(negative_power, ItemType(1), B, returns=types.none)
    assert [problem.code for problem in caught.value.problems] == ["negative-exponent"]


def indexes_by_a_float(item, a, b):
    b[item.get_id(0) / 2] = 1


def indexes_by_the_item(item, a, b):
    b[item] = 1


def indexes_a_number(item, a, b):
    b[0] = item.get_id(0)[0]


@pytest.mark.parametrize(
    ("kernel", "code", "hint"),
    [
        (indexes_by_a_float, "index-type", "divide with //, or convert it with int(...)"),
        (indexes_by_the_item, "index-type", "write item.get_id(0)"),
        (indexes_a_number, "indexed-value", "pass an array"),
    ],
)
def test_index_that_cannot_be_is_reported_with_what_to_write(infer, kernel, code, hint):
    with pytest.raises(ProblemsFound) as caught:
        infer(kernel, ItemType(1), A, B, returns=types.none)
    problem = caught.value.problems[0]
    assert problem.code == code
    assert problem.text.endswith(f": {hint}")
