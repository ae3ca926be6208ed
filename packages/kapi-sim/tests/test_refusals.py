"""Refused kernels, a case for each cause that no other test covers, and errors as objects."""

from __future__ import annotations

import copy
import linecache
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.checks.convergence import Arrival, check_arrivals
from kapi_sim.errors import Finding, KernelProblem
from kapi_sim.items.schedule_state import ScheduleState
from kapi_sim.short_repr import short_repr
from kapi_sim.testing import reports
from kapi_sim.testing.reports import collecting, raises


class Settings:
    @property
    def computed(self):
        return 1


SETTINGS = Settings()
OBJECT = object()
CHOICES = (1, OBJECT)
COUNT = 0


def run(body, *arguments, header="item, a", space=None):
    """Run a kernel with this body; what it calls may stand above it."""
    source = f"def program({header}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    names = {
        "np": np,
        "kapi": kapi,
        "SETTINGS": SETTINGS,
        "OBJECT": OBJECT,
        "CHOICES": CHOICES,
        "SPACE": SimpleNamespace(),
    }
    file = f"<{body}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), names)
    kapi.call_kernel(kapi.kernel(names["program"]), space or kapi.Range(1), *(arguments or (np.zeros(2),)))


LANGUAGE = {
    "item.x = 1": "attribute-assigned",
    "a[0] = a.shape()": "called-value",
    "class A: pass": "class-in-kernel",
    "a[0] = SETTINGS.computed": "computed-attribute",
    "a[0] = a.astype('float32')[0]": "dtype-as-text",
    "a[...] = 1": "ellipsis",
    "a[0] = min(a[0], lambda x: x)": "function-passed",
    "global COUNT\nCOUNT = 1": "global-changed",
    "kapi.LocalAccessor(1, np.float32)": "local-accessor-made",
    "def f(x): return x\na[0] = f(*(1,))": "local-function-call",
    "def f(*x): return 1\na[0] = f(1)": "local-function-parameters",
    "match a[0]:\n    case [x]: a[0] = 1": "match-pattern",
    "a[0] = np.nothing_of_this_name": "module-attribute",
    "a[0] = undefined": "name-undefined",
    "a[0] = float('x')": "number-text",
    "def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n    g()\nf()": "outer-variable-changed",
    "a[0] = OBJECT": "outside-object",
    "a[0] = CHOICES[0]": "outside-object",
    "if a: a[0] = 1": "array-as-condition",
    "if 1 in a: a[0] = 1": "in-array",
    "a[0] = 1j": "imaginary-part",
    "a[0] = None": "stored-value",
    "a[0] = (1, 2)": "stored-value",
    "a[0] = a": "stored-value",
    "a[0] = np.sqrt": "stored-value",
    "a[0] = 2.0 * a": "whole-array",
    "a[0] = -a": "whole-array",
    "a[0] = float(a)": "whole-array",
    "if a == 1: a[0] = 1": "whole-array",
    "if 1 in (a, 2): a[0] = 1": "whole-array",
    "kapi.AtomicRef(a, 0).store(1j)": "atomic-value",
}


SINCE_312 = {"type T = int": "type-in-kernel", "def f[T](x: T): return x\na[0] = f(1)": "type-parameters"}
"""Syntax that older Pythons cannot parse; the snapshot has none of it, so that all compare with one file."""


@pytest.mark.parametrize(
    ("body", "code"), [*LANGUAGE.items(), *(SINCE_312.items() if sys.version_info >= (3, 12) else ())]
)
def test_kernel_is_refused(body, code):
    with raises(kapi.KapiError, code, words=body in LANGUAGE):
        run(body)


@kapi.device_func
def starred(*values):
    return 1


GROUPS = {
    "a[0] = kapi.group_broadcast(nd_item.get_group(), 1, 0.5)": "group-integer",
    "a[0] = kapi.any_of_group(nd_item.get_group(), 1j)": "group-predicate",
    "if nd_item.get_local_id(0):\n    kapi.reduce_over_group(nd_item.get_group(), 1, kapi.plus)\n"
    "else:\n    kapi.any_of_group(nd_item.get_group(), 1)": "meetings-differ",
    "group = nd_item.get_sub_group() if nd_item.get_local_id(0) else nd_item.get_group()\n"
    "kapi.reduce_over_group(group, 1, kapi.plus)": "meeting-groups-differ",
    "word = [kapi.group_barrier(nd_item.get_group()) for k in range(2)]": "comprehension",
    "print([kapi.group_barrier(nd_item.get_group()) for k in range(2)])": "barrier-in-comprehension",
}


def test_branches_that_a_literal_rules_out_are_not_refused():
    a = np.zeros(1)
    run("a[0] = 3 if True else type(a)(0)\nif 0:\n    type(a)\nelse:\n    a[0] += 1", a)
    assert a[0] == 4


@pytest.mark.parametrize(("body", "code"), GROUPS.items())
def test_convergence_is_refused(body, code):
    with raises(kapi.KapiError, code):
        run(body, header="nd_item, a", space=kapi.NdRange(2, 2))


def test_launches_are_refused():
    @kapi.kernel
    def with_star(item, *arrays):
        pass

    @kapi.kernel
    def calls_star(item, a):
        a[0] = starred(1)

    @kapi.kernel
    def store(item, a):
        a[0] = 1

    with raises(kapi.KernelLaunchError, "kernel-parameters"):
        kapi.call_kernel(with_star, kapi.Range(1), np.zeros(1))
    with raises(kapi.KernelCompilationError, "function-parameters"):
        kapi.call_kernel(calls_star, kapi.Range(1), np.zeros(1))
    with raises(kapi.LimitError, "range-too-large"):
        kapi.Range(2**32, 2**32)
    bound = store.bind(kapi.Range(1), np.zeros(1))
    with raises(kapi.KernelLaunchError, "argument-unknown"):
        bound.replace(b=np.zeros(1))


ERRORS = (
    kapi.LimitError("a Range must have one to three dimensions", code="range-dimensions"),
    kapi.KernelCompilationError(
        "kernel `k` cannot be run:\n  k.py:3: no [del-in-kernel]",
        problems=[KernelProblem("del-in-kernel", "k.py", 3, "no"), Finding("list-in-kernel", "nor").at("k.py", 4)],
    ),
)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
@pytest.mark.parametrize("error", ERRORS)
def test_error_is_copied_entirely(error, again):
    made = again(error)
    assert type(made) is type(error)
    assert (str(made), made.code, made.message) == (str(error), error.code, error.message)
    assert getattr(made, "problems", ()) == getattr(error, "problems", ())


def test_code_ends_the_message():
    limit, compilation = ERRORS
    assert str(limit) == "a Range must have one to three dimensions [range-dimensions]"
    assert limit.message == limit.args[0] == "a Range must have one to three dimensions"
    assert str(kapi.LimitError("made by a user")) == "made by a user"
    assert compilation.code == "del-in-kernel"  # that of the first problem
    assert [(each.code, each.line) for each in compilation.problems] == [("del-in-kernel", 3), ("list-in-kernel", 4)]
    assert str(compilation) == compilation.message  # each problem in it has its code


class Unprintable:
    def __repr__(self):
        raise ValueError("no")


@pytest.mark.parametrize(
    "value",
    [
        list(range(100_000)),
        "x" * 100_000,
        10**100_000,
        dict.fromkeys(range(999), "v" * 999),
        np.zeros(10**6),
        Unprintable(),
    ],
    ids=["list", "text", "integer", "dict", "array", "unprintable"],
)
def test_value_is_displayed_short(value):
    assert len(short_repr(value)) < 1000
    assert "\n" not in short_repr(value)


@pytest.mark.parametrize("value", [(1, 2, 3, 4, 5, 6), [1, 2], "text", 2**64, 1.5, None, np.float32, print])
def test_short_value_is_printed_as_python_writes_it(value):
    assert short_repr(value) == repr(value)


def test_argument_of_any_length_makes_a_short_message():
    @kapi.kernel
    def store(item, a):
        a[0] = 1

    with raises(kapi.DtypeError, "argument-type") as caught:
        kapi.call_kernel(store, kapi.Range(1), list(range(100_000)))
    assert len(str(caught.value)) < 500


def limit_error():
    kapi.Range(-1)


def fails(**wanted):
    """The message of the assertion about `limit_error` that does not hold."""
    expected = {"expected": kapi.LimitError, "code": "range-extent", "action": limit_error, **wanted}
    action, code = expected.pop("action"), expected.pop("code")
    with pytest.raises(AssertionError) as caught, raises(expected.pop("expected"), code, **expected):
        action()
    return str(caught.value)


def test_assertion_about_an_error_can_fail():
    assert "must have code range-too-large, got range-extent" in fails(code="range-too-large")
    assert "must name line 'kapi.Range'" in fails(line="kapi.Range")
    assert "must be raised, got no error" in fails(action=lambda: None)
    with pytest.raises(kapi.LimitError), raises(kapi.DtypeError, "range-extent"):
        limit_error()
    with pytest.raises(ValueError, match="rows of kapi_sim.codes.CODES"), raises(kapi.LimitError, "no such code"):
        limit_error()


def test_other_texts_than_the_snapshots_are_refused(monkeypatch):
    def in_other_terms():
        raise kapi.LimitError("words that no snapshot has", code="range-extent")

    with monkeypatch.context() as comparing:
        comparing.setattr(reports, "_collected", None)
        assert "words that no snapshot has" in fails(action=in_other_terms)
    with collecting() as collected, raises(kapi.LimitError, "range-extent"):
        in_other_terms()
    assert [(message.code, message.words) for _, message in collected] == [
        ("range-extent", "words that no snapshot has")
    ]


def test_different_algorithms_at_one_call_are_reported():
    """A name stands for one function for all work-items today, so that the check alone can see this."""
    site = (__file__, 1, 0)
    arrivals = {0: Arrival(site, (), 0, kapi.any_of_group), 1: Arrival(site, (), 0, kapi.all_of_group)}
    with raises(kapi.CollectiveMismatchError, "meeting-words-differ"):
        check_arrivals(ScheduleState(kapi.NdRange(2, 2)), 0, 2, arrivals, [])
