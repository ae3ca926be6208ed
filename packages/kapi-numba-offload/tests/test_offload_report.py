"""Diagnostics at each level, the ways to ask for them, and the HTML report."""

import html.parser
import re

import dpnp
import numba
import pytest
from numba import prange

from kapi_numba_offload import html_report, offload, offload_reports
from kapi_numba_offload.elements.work_distribution import distribute
from kapi_numba_offload.libraries.arrays import device_facts, queue_of
from kapi_sim.errors import KernelCompilationError
from kapi_sim.testing.reports import raises


def mixed(a, b):
    c = a * 2 + b
    d = c - 1
    s = 0.0
    for i in prange(a.shape[0]):
        s += d[i]
    for i in range(2):
        b[i] = b[i + 1] + s
    return d


@pytest.fixture(scope="module")
def compiled():
    function = numba.njit(mixed)
    with pytest.warns(UserWarning, match="sequential-loop"):
        function(dpnp.ones(100), dpnp.ones(100))
    return function


CODE = ("define spir_kernel", "SPIR-V", "OpEntryPoint") if dpnp.__name__ == "dpnp" else (
    "define ptx_kernel", "PTX", ".visible .entry"
)  # fmt: skip
FIRST = mixed.__code__.co_firstlineno


def printed(compiled, capsys, level):
    compiled.offload_diagnostics(level)
    return capsys.readouterr().out


def test_level_1_reports_kernels_devices_ranges_moves_and_reasons(compiled, capsys, is_gpu):
    """For each part its line, what it was fused with, kernel, device, range, work-group, data moved, and reason."""
    text = printed(compiled, capsys, 1)
    device = device_facts(queue_of(dpnp.ones(1))).name
    assert re.search(
        rf"#1 line {FIRST + 1}: expression, offloaded, fused with line {FIRST + 2}\n    c = a \* 2 \+ b\n", text
    )
    launch = f"kernel: mixed\n    device: {device}\n    range: 100 work-items\n"
    assert re.search(rf"{re.escape(launch)}    work-group: (\d+ work-items|chosen by the driver)\n", text)
    assert f"#2 line {FIRST + 4}: prange loop, offloaded" in text
    assert f"kernel: mixed_line_{FIRST + 4}" in text
    shares = distribute(100, device_facts(queue_of(dpnp.ones(1))))
    assert f"range: {shares.rows} x {shares.lanes} work-items" in text
    assert re.search(rf"data moved: ({shares.items * 8}|8) bytes\n", text)  # a GPU adds them up
    moved = "1600 bytes" if is_gpu else "none"  # `b`, to the host and back
    assert f"#3 line {FIRST + 6}: loop, host\n    for i in range(2):\n    data moved: {moved}\n    reason: " in text
    assert "[sequential-loop]" in text
    assert "allocations" not in text


@pytest.mark.parametrize(
    ("level", "has", "has_not"),
    [
        (2, ["allocations: float64[100] in device memory, 800 bytes"], ["typed IR:"]),
        (3, ["allocations:", "typed IR:", "weak_int"], ["LLVM IR:"]),
        (4, ["typed IR:", "LLVM IR:", *CODE], []),
    ],
)
def test_higher_levels_add(compiled, capsys, level, has, has_not):
    """Level 2 adds allocations, 3 typed IR, 4 LLVM IR and the code of the device."""
    text = printed(compiled, capsys, level)
    assert [each for each in has if each not in text] == []
    assert [each for each in has_not if each in text] == []


def test_level_must_be_one(compiled):
    """Others are refused."""
    with pytest.raises(ValueError, match="level must be from 1 to 4, got 7"):
        compiled.offload_diagnostics(7)


def test_function_without_usm_calls_says_so(capsys):
    """Numba's own compilations are not reported."""
    function = numba.njit(lambda x: x + 1)
    function(1)
    assert printed(function, capsys, 1) == "no call with device arrays so far\n"


@pytest.mark.parametrize("variable", ["KAPI_OFFLOAD_DIAGNOSTICS", "NUMBA_DPPY_OFFLOAD_DIAGNOSTICS"])
def test_environment_prints_after_the_first_call(variable, monkeypatch, capsys):
    """Once for each list of argument types."""
    monkeypatch.setenv(variable, "1")
    function = numba.njit(lambda a: a + 1)
    for _ in range(2):
        function(dpnp.ones(3))
    assert capsys.readouterr().out.count("Offload of") == 1


def test_environment_must_name_a_level(monkeypatch):
    """A wrong level is refused by its variable's name."""
    monkeypatch.setenv("KAPI_OFFLOAD_DIAGNOSTICS", "many")
    with pytest.raises(ValueError, match="KAPI_OFFLOAD_DIAGNOSTICS must be a level from 0 to 4, got 'many'"):
        numba.njit(lambda a: a + 1)(dpnp.ones(3))


def test_unfused_part_reports_why(capsys):
    """Results of two shapes are no single kernel."""

    @numba.njit
    def f(a, row):
        x = row * 2
        y = a + 1
        return x, y

    f(dpnp.ones((2, 3)), dpnp.ones(3))
    text = printed(f, capsys, 1)
    assert "expression, one by one" in text
    assert "reason: its results have different shapes" in text


def test_html_report_is_a_complete_page(compiled, tmp_path):
    """Tags are balanced, and the parts, kernels and code are in it."""
    html_report(compiled, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")

    class Parser(html.parser.HTMLParser):
        opened: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag, attrs):
            if tag in ("table", "details", "html", "pre", "style"):
                self.opened.append(tag)

        def handle_endtag(self, tag):
            if tag in ("table", "details", "html", "pre", "style"):
                assert self.opened.pop() == tag

    parser = Parser()
    parser.feed(text)
    assert parser.opened == []
    for part in ("c = a * 2 + b", "sequential-loop", "mixed_line_", *CODE):
        assert part in text
    assert [part.kind for part in offload_reports(compiled)[0].parts] == ["expression", "prange loop", "loop"]


def test_offload_options(capsys):
    """`fallback=False` makes fallback an error, `diagnostics` prints, `fastmath` reaches the kernels."""
    strict = offload(fallback=False)(mixed)
    with raises(KernelCompilationError, "offload-falls-back"):
        strict(dpnp.ones(4), dpnp.ones(4))
    loud = offload(diagnostics=4, fastmath=True)(lambda a, b: a * b + 1)
    loud(dpnp.ones(4), dpnp.ones(4))
    assert re.search(r"fmul (reassoc|fast)", capsys.readouterr().out)
    with pytest.raises(ValueError, match="diagnostics must be a level from 0 to 4, got 9"):
        offload(diagnostics=9)


def test_offload_of_numpy_arrays_is_plain_njit():
    """Calls with NumPy arrays are Numba's own."""
    import numpy as np

    @offload
    def f(a):
        return a + 1

    result = f(np.ones(3))
    assert type(result) is np.ndarray
    assert f.targetoptions["parallel"] is True


def test_a_function_with_a_default_argument_reports_what_became_of_it():
    @numba.njit
    def scaled(a, factor=2.0):
        return a * factor

    scaled(dpnp.ones(3))
    (report,) = offload_reports(scaled)
    assert [part.outcome for part in report.parts] == ["offloaded"]
