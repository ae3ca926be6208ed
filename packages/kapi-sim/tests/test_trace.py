"""Records of a trace, and its pictures."""

from __future__ import annotations

import colorsys
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

import kapi_sim as kapi
from kapi_sim.testing.reports import raises
from kapi_sim.tracing.figure import item_color
from kapi_sim.tracing.statistics import bank_conflict, segments


@kapi.device_func
def combine(x, y):
    return x + y  # in the function


@kapi.kernel
def tree_sum(nd_item: kapi.NdItem, a, out, tile):
    """Sum the numbers of a group."""
    k = nd_item.get_local_id(0)
    group = nd_item.get_group()
    tile[k] = a[nd_item.get_global_id(0)]  # copy
    kapi.group_barrier(group)  # first barrier
    s = nd_item.get_local_range(0) // 2
    while s > 0:
        if k < s:
            tile[k] = combine(tile[k], tile[k + s])  # step
        kapi.group_barrier(group)
        s //= 2
    if k == 0:
        out[group.get_group_id(0)] = tile[0]


def traced_sum(checks="all", **options):
    out = np.zeros(2, np.float32)
    with kapi.simulation(checks=checks), kapi.trace(**options) as trace:
        kapi.call_kernel(
            tree_sum, kapi.NdRange(16, 8), np.arange(16, dtype=np.float32), out, kapi.LocalAccessor(8, np.float32)
        )
    np.testing.assert_array_equal(out, [28, 92])
    return trace


@pytest.mark.parametrize("checks", ["all", "none"])
def test_every_access_is_recorded_with_its_value(checks, line_with):
    launch = traced_sum(checks).launches[0]
    names = [array.name for array in launch.arrays]
    copies = [event for event in launch.events if launch.sites[event.site][2] == line_with("# copy")]
    assert [(e.kind, e.item, names[e.array], e.element, e.value) for e in copies if e.kind != "line"][:4] == [
        ("read", 0, "a", 0, 0.0),
        ("write", 0, "tile", 0, 0.0),
        ("read", 1, "a", 1, 1.0),
        ("write", 1, "tile", 1, 1.0),
    ]
    assert [e.value for e in launch.events if e.kind == "write" and names[e.array] == "out"] == [28.0, 92.0]
    assert sum(e.kind == "barrier" for e in launch.events) == 16 * 4
    assert {e.phase for e in launch.events} == {0, 1, 2, 3, 4}
    assert launch.describe(9) == "work-item global (9,), local (1,), group (1,)"


def test_lines_of_functions_are_recorded(line_with):
    launch = traced_sum().launches[0]
    line = line_with("# in the function")
    runs = [event.item for event in launch.events if event.kind == "line" and launch.sites[event.site][2] == line]
    assert runs == [0, 1, 2, 3, 0, 1, 0, 8, 9, 10, 11, 8, 9, 8]
    assert [source.lines[0] for source in launch.sources()] == [
        "def tree_sum(nd_item: kapi.NdItem, a, out, tile):",
        "def combine(x, y):",
    ]


def test_statistics_of_lines(line_with):
    rows = {row.site.line: row for row in traced_sum().statistics()}
    copy = rows[line_with("# copy")]
    assert (copy.executions, copy.reads, copy.writes, copy.bytes, copy.active) == (16, 16, 16, 128, 1.0)
    assert (copy.segments, copy.bank_conflict) == (1.0, 1.0)
    step = rows[line_with("# step")]
    assert (step.executions, step.reads, step.writes) == (14, 28, 14)
    assert step.active == pytest.approx(7 / 24)
    assert step.segments == 0


@kapi.kernel
def strided(nd_item: kapi.NdItem, a, out, tile, step):
    k = nd_item.get_local_id(0)
    tile[k * step] = a[k * step]  # far apart
    out[k] = tile[k * step]


@pytest.mark.parametrize(("step", "stretches", "bank_cycles"), [(1, 1, 1), (2, 32, 2), (32, 32, 32), (33, 32, 1)])
def test_coalescing_and_bank_conflicts(step, stretches, bank_cycles, line_with):
    size = 32 * step
    with kapi.trace() as trace:
        kapi.call_kernel(
            strided,
            kapi.NdRange(32, 32),
            np.zeros(size, np.float32),
            np.zeros(32, np.float32),
            kapi.LocalAccessor(size, np.float32),
            step,
        )
    row = next(row for row in trace.statistics() if row.site.line == line_with("# far apart"))
    assert (row.segments, row.bank_conflict) == (stretches, bank_cycles)


@kapi.kernel
def scattered(nd_item: kapi.NdItem, where, a, indices, tile, bins, hits):
    i = nd_item.get_global_id(0)
    k = nd_item.get_local_id(0)
    tile[k] = 0
    kapi.group_barrier(nd_item.get_group())
    if hits[i] >= 0:
        x = a[where[i]]  # gather
        y = tile[indices[k]]  # tile
        kapi.AtomicRef(bins, hits[i]).fetch_add(x + y)  # atomic


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(4))
def test_statistics_agree_with_an_independent_count(seed, dtype, line_with):
    random = np.random.default_rng(seed)
    width, group, sub_group = 96, 48, 16
    where = random.permutation(np.arange(width) // random.integers(1, 4))
    indices = random.integers(0, group, group)
    hits = random.integers(-2, 4, width)
    with kapi.simulation(profile=kapi.Profile(sub_group_sizes=(sub_group,))), kapi.trace() as trace:
        kapi.call_kernel(
            scattered,
            kapi.NdRange(width, group),
            where,
            np.ones(width, dtype),
            indices,
            kapi.LocalAccessor(group, dtype),
            np.zeros(4, dtype),
            hits,
        )
    rows = {row.site.line: row for row in trace.statistics()}
    gathers, bank_cycles, users, running = [], [], [], []
    for start in range(0, width, sub_group):
        members = [i for i in range(start, start + sub_group) if hits[i] >= 0]
        running.append(len(members))
        if members:
            flags = np.zeros(width + 1, int)
            flags[where[members]] = 1
            gathers.append((np.diff(flags, prepend=0) == 1).sum())
            words = {int(indices[i % group]) for i in members}
            bank_cycles.append(max(sum(word % 32 == bank for word in words) for bank in range(32)))
            users.append(np.bincount(hits[members]).max())
    gather, tile, atomic = (rows[line_with(f"# {name}")] for name in ("gather", "tile", "atomic"))
    # The index is read from memory, too: by neighbours, without a gap if all of them run.
    own = [
        sum(hits[i] >= 0 and (i == start or hits[i - 1] < 0) for i in range(start, start + sub_group))
        for start in range(0, width, sub_group)
    ]
    assert gather.segments == pytest.approx((sum(gathers) + sum(own)) / (len(gathers) + sum(map(bool, running))))
    assert tile.bank_conflict == pytest.approx(np.mean(bank_cycles))
    assert atomic.contention == pytest.approx(np.mean(users))
    assert gather.active == pytest.approx(sum(running) / (sub_group * sum(map(bool, running))))
    itemsize = np.dtype(dtype).itemsize
    assert (gather.reads, gather.bytes) == (2 * sum(running), sum(running) * (itemsize + where.itemsize))
    assert (atomic.atomics, atomic.executions) == (sum(running), sum(running))


def test_segments_and_banks_of_elements():
    assert segments([]) == 0
    assert segments([5, 4, 6, 6, 9]) == 2
    assert bank_conflict([], 4) == 0
    assert bank_conflict(range(32), 8) == 1
    assert bank_conflict(range(32), 1) == 1
    assert bank_conflict([0, 64], 1) == 1
    assert bank_conflict([0, 128], 1) == 2


def test_memory_is_bounded():
    full = len(traced_sum().launches[0].events)
    trace = traced_sum(limit=50)
    assert len(trace.launches[0].events) == 50
    assert trace.launches[0].dropped == full - 50
    assert f"{full - 50} later events were left out" in trace.text()
    assert json_of(trace.html())[0]["dropped"] == full - 50


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_limit_is_validated(limit):
    with raises(kapi.KernelLaunchError, "trace-limit"), kapi.trace(limit=limit):
        pass


def test_table_is_plain_when_piped_and_coloured_on_demand():
    trace = traced_sum()
    plain = trace.text()
    assert "\x1b" not in plain
    assert "tree_sum over NdRange((16,), (8,)): 16 work-items" in plain
    assert re.search(r"16  +100%  +16  +16  +128  +1.0  +1.0  tile\[k\] = a\[nd_item", plain)
    coloured = trace.text(color=True)
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    with kapi.trace() as empty:
        pass
    assert empty.text() == "nothing was launched"
    with raises(kapi.KernelLaunchError, "trace-empty"):
        empty.svg()


def json_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


def test_page_needs_nothing_but_itself():
    page = traced_sum().html()
    assert not re.search(r"https?://|src=|@import|url\(", page)
    (launch,) = json_of(page)
    assert launch["kernel"] == "tree_sum"
    assert len(launch["colors"]) == len(set(launch["colors"])) == 16
    assert [array["cells"] for array in launch["arrays"]] == [list(range(16)), [0, 1], list(range(8))]
    assert "tile[k] = combine(tile[k], tile[k + s])  # step" in "\n".join(launch["sources"][0]["lines"])


def test_page_holds_what_html_and_json_do_not():
    with kapi.trace() as trace:
        kapi.call_kernel(difficult_values, kapi.Range(2), np.array([np.nan, np.inf]), np.zeros(2))
    (launch,) = json_of(trace.html())
    assert launch["arrays"][0]["initial"] == ["nan", "inf"]
    assert "# </script> & <b>" in launch["sources"][0]["lines"][-1]


@kapi.kernel
def difficult_values(item: kapi.Item, a, b):
    b[item.get_id(0)] = a[item.get_id(0)]  # </script> & <b>


def test_figure_is_well_formed_and_has_walls():
    figure = ElementTree.fromstring(traced_sum().svg())
    titles = [title.text for title in figure.iter("{http://www.w3.org/2000/svg}title")]
    assert "work-item global (0,), local (0,), group (0,) wrote tile[0] = 28.0, line" in " ".join(titles)
    assert sum("`kapi.group_barrier(group)" in title for title in titles) == 2 * 4


def test_trace_is_saved_by_the_ending_of_its_path(tmp_path):
    trace = traced_sum()
    for name in ("page.html", "figure.svg", "table.txt"):
        trace.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 500
    with raises(kapi.KernelLaunchError, "picture-format"):
        trace.save(tmp_path / "trace.png")


def test_notebook_shows_the_page():
    trace = traced_sum()
    assert trace._repr_svg_() == trace.svg()
    assert repr(trace).startswith("<Trace of 1 launch, ")
    with kapi.trace() as nothing:
        pass
    assert nothing._repr_svg_() is None
    assert repr(nothing) == "<Trace of 0 launches, 0 events>"
    shown = elements(trace._repr_html_())
    assert [tag for tag, _ in shown] == ["iframe"]
    assert shown[0][1]["srcdoc"] == trace.html()


def elements(page):
    """The elements of a page with their attributes, as a browser reads them."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, dict(attributes)))
    parser.feed(page)
    return found


def test_page_needs_nothing_but_itself_whatever_the_source_says():
    """A notebook's frame has no address: nothing may be loaded, and no text of the kernel may become an element."""
    with kapi.trace() as trace:
        hostile[2](np.zeros(2))
    page = trace.html()
    found = elements(page)
    assert not [attributes for _, attributes in found if attributes.keys() & {"src", "href", "srcset", "action"}]
    assert "img" not in {tag for tag, _ in found}
    assert re.search(r"\b(fetch|import|XMLHttpRequest|localStorage|document\.cookie)\b *[(.]", page) is None
    assert "\\u003cimg src=x>" in page


@kapi.kernel
def hostile(item: kapi.Item, a):
    a[item.get_id(0)] = 1  # </script><img src=x> " ' &quot; ${a} {data} -->


@kapi.kernel
def through_views(item: kapi.Item, a):
    row = a[1]
    row[item.get_id(0)] = 5


@pytest.mark.parametrize("make", [lambda a: a, np.asfortranarray, lambda a: np.repeat(a, 2, 1)[:, ::2]])
def test_elements_of_views_are_those_of_the_array(make):
    with kapi.trace() as trace:
        kapi.call_kernel(through_views, kapi.Range(3), make(np.zeros((2, 3))))
    assert [event.element for event in trace.launches[0].events if event.kind == "write"] == [3, 4, 5]


@kapi.kernel
def races(nd_item: kapi.NdItem, a):
    a[0] = nd_item.get_local_id(0)


def test_trace_of_a_launch_that_fails_shows_how_it_came_to_it():
    with kapi.trace() as trace, raises(kapi.DataRaceError, "data-race", line="a[0] = nd_item.get_local_id(0)"):
        kapi.call_kernel(races, kapi.NdRange(2, 2), np.zeros(1))
    assert [(event.kind, event.item) for event in trace.launches[0].events] == [
        ("line", 0),
        ("write", 0),
        ("line", 1),
        ("write", 1),
    ]
    assert "races over NdRange" in trace.text()


def test_of_several_orders_the_first_is_reported():
    full = len(traced_sum().launches[0].events)
    with kapi.simulation(schedules=3), kapi.trace() as trace:
        kapi.call_kernel(
            tree_sum,
            kapi.NdRange(16, 8),
            np.arange(16, dtype=np.float32),
            np.zeros(2, np.float32),
            kapi.LocalAccessor(8, np.float32),
        )
    assert [len(launch.events) for launch in trace.launches] == [full]
    assert trace.launches[0].dropped == 0


@kapi.kernel
def counts_down(nd_item: kapi.NdItem, n):
    while n > 0:
        n -= 1


def test_lines_are_the_users_own():
    with kapi.trace() as trace:
        kapi.call_kernel(counts_down, kapi.NdRange(2, 2), 3)
    assert [row.executions for row in trace.statistics()] == [2, 6]


@kapi.kernel
def histogram(nd_item: kapi.NdItem, values, bins, tile):
    group = nd_item.get_group()
    k = nd_item.get_local_id(0)
    if k < 4:
        tile[k] = 0
    kapi.group_barrier(group)
    value = values[nd_item.get_global_id(0)]
    kapi.AtomicRef(tile, value, address_space=kapi.AddressSpace.LOCAL).fetch_add(1)  # crowded
    kapi.group_barrier(group)
    kapi.any_of_group(nd_item.get_sub_group(), True)  # parts converge
    if kapi.any_of_group(group, k < 4) and k < 4:  # all converge
        kapi.AtomicRef(bins, k).fetch_add(tile[k])  # apart


def traced_histogram():
    values = np.array([0, 0, 0, 3, 1, 1, 2, 3] * 2)
    bins = np.zeros(4, np.int32)
    with kapi.simulation(profile=kapi.Profile(sub_group_sizes=(4,))), kapi.trace() as trace:
        kapi.call_kernel(histogram, kapi.NdRange(16, 8), values, bins, kapi.LocalAccessor(4, np.int32))
    np.testing.assert_array_equal(bins, [6, 4, 2, 4])
    return trace


def test_atomics_are_recorded_and_their_contention_counted(line_with):
    trace = traced_histogram()
    launch = trace.launches[0]
    names = [array.name for array in launch.arrays]
    atomics = [event for event in launch.events if event.kind == "atomic"]
    assert [(e.item, names[e.array], e.element, e.value) for e in atomics[:4]] == [
        (0, "tile", 0, 1),
        (1, "tile", 0, 2),
        (2, "tile", 0, 3),
        (3, "tile", 3, 1),
    ]
    by_line = {row.site.line: row for row in trace.statistics()}
    crowded, apart = by_line[line_with("# crowded")], by_line[line_with("# apart")]
    # Sub-groups of four: three at one element, two at one; and each at its own.
    assert (crowded.atomics, crowded.bytes, crowded.contention) == (16, 64, 2.5)
    assert (apart.atomics, apart.reads, apart.contention) == (8, 8, 1.0)
    assert "contention" in trace.text()
    assert "contention" not in traced_sum().text()


def test_convergence_of_groups_and_sub_groups_is_distinguished(line_with):
    trace = traced_histogram()
    launch = trace.launches[0]
    convergences = [(e.kind, e.value, e.phase) for e in launch.events if e.item == 0 and e.value.__class__ is str]
    assert convergences == [
        ("barrier", "group_barrier", 0),
        ("barrier", "group_barrier", 1),
        ("sub-group", "any_of_group", 2),
        ("algorithm", "any_of_group", 2),
    ]
    figure = ElementTree.fromstring(trace.svg())
    titles = [element.text for element in figure.iter("{http://www.w3.org/2000/svg}title")]
    assert any("work-item global (0,), local (0,), group (0,) atomically used tile[0], then 1" in t for t in titles)
    assert any(f"any_of_group at test_trace.py:{line_with('# all converge')}" in title for title in titles)
    assert any("converges with its sub-group in any_of_group" in title for title in titles)
    notes = " ".join(element.text or "" for element in figure.iter("{http://www.w3.org/2000/svg}text"))
    assert "group algorithm, which orders no memory" in notes
    assert "dashed: atomic" in notes


def test_private_arrays_of_a_line_are_one_array_of_the_trace(line_with):
    @kapi.kernel
    def reverse(item: kapi.Item, a):
        i = item.get_id(0)
        row = kapi.PrivateArray(2, a.dtype)
        row[0] = a[i, 1]  # kept
        row[1] = a[i, 0]
        a[i, 0] = row[0]
        a[i, 1] = row[1]

    a = np.arange(6).reshape(3, 2)
    for checks in ("all", "none"):
        with kapi.simulation(checks=checks, schedules=2), kapi.trace() as trace:
            kapi.call_kernel(reverse, kapi.Range(3), a)
        launch = trace.launches[0]
        assert [(array.name, array.space, array.shape) for array in launch.arrays][1:] == [("row", "private", (2,))]
        kept = [event for event in launch.events if event.kind == "write" and event.array == 1 and event.element == 0]
        assert [event.item for event in kept] == [0, 1, 2]
        row = next(row for row in trace.statistics() if row.site.line == line_with("# kept"))
        assert (row.reads, row.writes, row.bank_conflict) == (3, 3, 0.0)
    np.testing.assert_array_equal(a, np.arange(6).reshape(3, 2))


def test_accesses_fall_together_however_python_runs_them(line_with):
    @kapi.kernel
    def rows(item: kapi.Item, a, out):
        i = item.get_id(0)
        for k in range(a.shape[1]):
            out[i] += a[i, k]  # strided

    with kapi.trace() as trace:
        kapi.call_kernel(rows, kapi.Range(16), np.ones((16, 4)), np.zeros(16))
    strided = next(row for row in trace.statistics() if row.site.line == line_with("# strided"))
    # Four reads of 16 rows, a stretch each; four reads and four writes of out, one stretch each.
    assert (strided.reads, strided.writes, strided.segments) == (128, 64, (4 * 16 + 8 * 1) / 12)


def test_colours_of_work_items_bear_white_letters():
    for item in range(360):
        hue, saturation, lightness = map(int, re.fullmatch(r"hsl\((\d+),(\d+)%,(\d+)%\)", item_color(item)).groups())
        channels = colorsys.hls_to_rgb(hue / 360, lightness / 100, saturation / 100)
        linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in channels]
        luminance = np.dot(linear, [0.2126, 0.7152, 0.0722])
        assert 1.05 / (luminance + 0.05) >= 4.5  # WCAG's least contrast for small letters
        assert lightness >= 25


@kapi.kernel
def reverse(nd_item: kapi.NdItem, a, tile):
    k = nd_item.get_local_id(0)
    tile[k] = a[k]  # written
    a[k] = tile[nd_item.get_local_range(0) - 1 - k]  # read back


@kapi.kernel
def beyond(item: kapi.Item, a):
    a[item.get_id(0) + 1] = 1


@kapi.kernel
def swap(nd_item: kapi.NdItem, a, flag):
    i = nd_item.get_global_id(0)
    if i == 0:
        a[0] = 1
    kapi.AtomicRef(a, 0).fetch_add(1)


def failed(kernel, space, *args, limit=100_000, **controls):
    with kapi.simulation(**controls), kapi.trace(limit=limit) as trace:
        with pytest.raises(kapi.KapiError) as caught:
            kapi.call_kernel(kernel, space, *args)
    (launch,) = trace.launches
    told = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    assert launch.failure.error == type(caught.value).__name__
    assert launch.failure.report == "\n".join(told)
    return trace, launch


def race_of(**options):
    return failed(reverse, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, np.float64), **options)


@pytest.mark.parametrize("schedules", [1, 3])
def test_race_is_kept_with_both_of_its_accesses(schedules, line_with):
    _, launch = race_of(schedules=schedules)
    earlier, refused = (launch.events[number] for number in launch.failure.rings)
    names = [launch.arrays[event.array].spell(event.element) for event in (earlier, refused)]
    assert (earlier.kind, earlier.item, names[0]) == ("read", 1, "tile[2]")
    assert (refused.kind, refused.item, names[1], refused.value) == ("write", 2, "tile[2]", 2.0)
    assert launch.events[-1] is refused
    assert launch.failure.barrier[2:] == (line_with("# read back"), "before")


def test_race_in_a_later_order_is_reported_in_that_order():
    @kapi.kernel
    def first_wins(nd_item: kapi.NdItem, flag, out):
        i = nd_item.get_global_id(0)
        won = kapi.AtomicRef(flag, 0).fetch_add(1)
        if won == 1 and i == 0:
            out[1] = 1  # by the first, where it comes second
        if i == 1:
            out[1] = 2

    _, launch = failed(first_wins, kapi.NdRange(2, 1), np.zeros(1, np.int32), np.zeros(2), schedules=8)
    assert "in the order that simulation(seed=" in launch.failure.report
    assert {launch.events[number].item for number in launch.failure.rings} == {0, 1}
    assert [launch.arrays[event.array].name for event in launch.events if event.kind == "write"] == ["out", "out"]


def test_race_is_kept_where_the_trace_is_full():
    trace, launch = race_of(limit=5)
    assert launch.failure.other is None
    assert launch.events[launch.failure.event].value == 2.0
    assert len(launch.events) == 6
    assert "ellipse" not in trace.svg()


def test_race_of_an_atomic_operation_is_kept():
    _, launch = failed(swap, kapi.NdRange(2, 2), np.zeros(1, np.int32), np.zeros(1))
    assert [launch.events[number].kind for number in launch.failure.rings] == ["write", "atomic"]


def test_error_that_is_no_race_is_kept_with_its_work_item():
    _, launch = failed(beyond, kapi.Range(2), np.zeros(2))
    assert launch.failure.rings == ()
    assert launch.events[launch.failure.event].item == 1
    assert launch.failure.barrier is None


def test_figure_of_a_race_has_rings_the_report_and_the_missing_barrier(line_with):
    trace, launch = race_of()
    figure = ElementTree.fromstring(trace.svg())
    space = "{http://www.w3.org/2000/svg}"
    assert len(list(figure.iter(f"{space}ellipse"))) == 2
    titles = [title.text for title in figure.iter(f"{space}title")]
    assert f"a barrier is missing here, before line {line_with('# read back')}" in titles
    assert sum(title.startswith(("earlier: ", "refused: ")) for title in titles) == 2
    told = " ".join(text.text for text in figure.iter(f"{space}text") if text.text)
    assert " ".join(launch.failure.report.replace("`", "").split()) in " ".join(told.split())


def test_figure_shows_work_items_far_behind_if_they_race():
    @kapi.kernel
    def far(nd_item: kapi.NdItem, a):
        i = nd_item.get_global_id(0)
        a[i] = i
        if i == 90:
            a[3] = 1

    trace, launch = failed(far, kapi.NdRange(96, 96), np.zeros(96))
    assert {launch.events[number].item for number in launch.failure.rings} == {3, 90}
    assert "33 of 96 work-items" in trace.svg()
    assert trace.svg().count("<ellipse") == 2


def test_figure_of_long_lanes_ends_with_the_race():
    @kapi.kernel
    def long(nd_item: kapi.NdItem, a):
        k = nd_item.get_local_id(0)
        for i in range(200):
            a[k] = i
        a[1 - k] = 7

    trace, _ = failed(long, kapi.NdRange(2, 2), np.zeros(2))
    assert trace.svg().count("<ellipse") == 2
    assert "other steps left out" in trace.svg()


def test_elements_of_two_axes_are_labelled_by_their_indices():
    @kapi.kernel
    def fill(item: kapi.Item, grid):
        grid[item.get_id(0), item.get_id(1)] = 1

    with kapi.trace() as trace:
        kapi.call_kernel(fill, kapi.Range(2, 3), np.zeros((2, 3)))
    figure = ElementTree.fromstring(trace.svg())
    labels = [text.text for text in figure.iter("{http://www.w3.org/2000/svg}text")]
    assert "gri[1,2]" in labels
    assert "wrote grid[1, 2] = 1.0" in trace.svg()
