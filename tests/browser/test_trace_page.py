"""The page of a trace in a real browser, light and dark: what a reader sees and clicks."""

from __future__ import annotations

import numpy as np
import pytest

import kapi_sim as kapi

LIGHT, DARK = False, True


@kapi.kernel
def reverse(item: kapi.NdItem, a, tile):
    k = item.get_local_id(0)
    tile[k] = a[k]
    a[k] = tile[item.get_local_range(0) - 1 - k]


@kapi.kernel
def mended(item: kapi.NdItem, a, tile):
    k = item.get_local_id(0)
    tile[k] = a[k]
    kapi.group_barrier(item.get_group())
    a[k] = tile[item.get_local_range(0) - 1 - k]


@pytest.fixture(scope="module")
def race() -> kapi.Trace:
    with kapi.trace() as trace, pytest.raises(kapi.DataRaceError):
        kapi.call_kernel(reverse, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, np.float64))
    return trace


@pytest.fixture(scope="module")
def right() -> kapi.Trace:
    with kapi.trace() as trace:
        kapi.call_kernel(mended, kapi.NdRange(4, 4), np.arange(4.0), kapi.LocalAccessor(4, np.float64))
    return trace


# Pixels of the canvas in the colour of a race, in a box given in rows and parts of the width.
PIXELS = """
const canvas = document.getElementById("timeline"), data = canvas.getContext("2d");
const probe = document.createElement("i");
probe.style.color = getComputedStyle(document.documentElement).getPropertyValue("--race");
document.body.append(probe);
const [r, g, b] = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
const red = (top, bottom) => {
  const box = data.getImageData(0, top, canvas.width, bottom - top).data;
  let n = 0;
  for (let i = 0; i < box.length; i += 4)
    if (Math.abs(box[i] - r) + Math.abs(box[i + 1] - g) + Math.abs(box[i + 2] - b) < 12) n++;
  return n;
};
"""
CONTRAST = """
const luminance = text => {
  const [r, g, b] = text.match(/[\\d.]+/g).map(Number).slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const back = element => {
  for (let e = element; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (!color.endsWith(", 0)")) return color;
  }
  return "rgb(255, 255, 255)";
};
const contrast = element => {
  const [x, y] = [luminance(getComputedStyle(element).color), luminance(back(element))].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
"""


@pytest.mark.parametrize("is_dark", [LIGHT, DARK])
def test_page_of_a_race_opens_at_the_access_that_was_refused(run_script, race, is_dark):
    seen = run_script(
        race.html(),
        """
        const text = id => document.getElementById(id).textContent;
        return {
          isShown: !document.getElementById("report").hidden, error: text("error"), summary: text("summary"),
          details: [...document.querySelectorAll("#details li")].map(e => e.textContent),
          count: text("count"), now: text("now"), here: [...document.querySelectorAll(".jump.here")].map(e => e.id),
        };
        """,
        is_dark=is_dark,
    )
    report = race.launches[0].failure.report.replace("`", "").splitlines()
    assert seen["isShown"]
    assert (seen["error"], seen["summary"]) == ("DataRaceError:", report[0])
    assert seen["details"] == [line.strip() for line in report[1:]]
    assert seen["count"] == "step 10 of 10"
    assert "global (2,), local (2,), group (0,) writes 2 to tile[2]" in seen["now"]
    assert "Nothing orders it and what global (1,), local (1,), group (0,) does" in seen["now"]
    assert seen["here"] == ["later"]


def test_one_click_leads_from_one_access_to_the_other(run_script, race):
    seen = run_script(
        race.html(),
        """
        const now = document.getElementById("now"), told = [];
        document.getElementById("earlier").click(); told.push(now.textContent);
        document.getElementById("later").click(); told.push(now.textContent);
        window.onkeydown({key: "r", target: document.body, preventDefault() {}}); told.push(now.textContent);
        return told;
        """,
    )
    assert "global (1,), local (1,), group (0,) reads tile[2]" in seen[0]
    assert "global (2,), local (2,), group (0,) writes 2 to tile[2]" in seen[1]
    assert seen[2] == seen[0]


@pytest.mark.parametrize("is_dark", [LIGHT, DARK])
def test_both_accesses_and_the_missing_barrier_are_drawn_in_red(run_script, race, right, is_dark):
    script = PIXELS + "return [0, 1, 2, 3].map(row => red(14 + 24 * row, 26 + 24 * row));"
    drawn = run_script(race.html(), script, is_dark=is_dark)
    # The rings are around rows 1 and 2, the dashed wall goes through all four.
    assert min(drawn) > 10
    assert min(drawn[1:3]) > 1.5 * max(drawn[0], drawn[3])
    assert run_script(right.html(), script, is_dark=is_dark) == [0, 0, 0, 0]


@pytest.mark.parametrize("is_dark", [LIGHT, DARK])
def test_element_and_lines_are_marked(run_script, race, is_dark):
    seen = run_script(
        race.html(),
        """
        const rows = [...document.querySelectorAll("#source > .row, #source > .gap")];
        return {
          cells: [...document.querySelectorAll(".cell.raced")].map(e => [e.dataset.array, e.dataset.element]),
          outline: getComputedStyle(document.querySelector(".cell.raced")).outlineStyle,
          rows: rows.map(e => e.className.split(" ").filter(c => c === "raced" || c === "gap").join("")),
        };
        """,
        is_dark=is_dark,
    )
    assert seen["cells"] == [["1", "2"]]
    assert seen["outline"] == "solid"
    assert seen["rows"] == ["", "", "raced", "gap", "raced"]


@pytest.mark.parametrize("is_dark", [LIGHT, DARK])
def test_letters_stand_out_from_what_is_behind_them(run_script, race, is_dark):
    script = CONTRAST + (
        "return ['h1', '#space', '#error', '#summary', '#details li', '.jump', '#now', '#now em', '.legend', '.code',"
        " '#source .number', '#source .raced .number', '#source .gap', '.array h3', '.array small', '#count']"
        ".map(each => [each, contrast(document.querySelector(each))]);"
    )
    assert [each for each in run_script(race.html(), script, is_dark=is_dark) if each[1] < 4.5] == []


def test_page_is_dark_where_the_reader_wants_it(run_script, race):
    script = CONTRAST + "return luminance(getComputedStyle(document.body).backgroundColor);"
    assert run_script(race.html(), script) > 0.8
    assert run_script(race.html(), script, is_dark=True) < 0.05


def test_page_of_a_right_kernel_opens_at_its_first_step(run_script, right):
    seen = run_script(
        right.html(),
        """
        const text = id => document.getElementById(id).textContent, told = [text("count")];
        document.getElementById("wall").click(); told.push(text("count"));
        document.getElementById("lines").click(); told.push(text("count"));
        return {told, isShown: !document.getElementById("report").hidden,
          marks: document.querySelectorAll(".raced, .gap").length - 1};  // the legend has one
        """,
    )
    assert seen["told"][0] == "step 1 of 20"
    assert seen["told"][1] == "step 13 of 20"
    assert seen["told"][2].startswith("step 1 of ")
    assert not seen["isShown"]
    assert seen["marks"] == 0


@pytest.mark.parametrize("width", [1200, 500])
def test_page_does_not_scroll_sideways(run_script, race, width):
    script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"
    assert run_script(race.html(), script, size=(width, 900)) == 0


def test_notebooks_frame_is_as_high_as_the_page(run_script, race):
    shown = run_script(
        f"<!DOCTYPE html><html><head></head><body>{race._repr_html_()}",
        """
        const frame = document.querySelector("iframe"), inner = frame.contentDocument;
        return [frame.getBoundingClientRect().height, inner.documentElement.scrollHeight,
          inner.getElementById("report").hidden, inner.getElementById("count").textContent];
        """,
    )
    height, needed, is_hidden, count = shown
    assert needed <= height <= needed + 20
    assert not is_hidden
    assert count == "step 10 of 10"


def test_figure_has_the_rings_and_the_missing_barrier(run_script, race):
    seen = run_script(
        f"<!DOCTYPE html><html><head></head><body>{race.svg()}",
        """
        const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.right, r.top, r.bottom]; };
        const rings = [...document.querySelectorAll("ellipse.ring")].map(box);
        return {rings, wall: box(document.querySelector("path.missing"))};
        """,
    )
    (one, other), wall = seen["rings"], seen["wall"]
    # The read comes after the wall, the write before it, in the row below.
    assert (one[0] + one[1]) / 2 > wall[1] - 4
    assert (other[0] + other[1]) / 2 < wall[0] + 4
    assert other[2] > one[2]


def test_figure_is_dark_where_the_reader_wants_it(run_script, race):
    page = f"<!DOCTYPE html><html><head></head><body>{race.svg()}</body></html>"
    script = CONTRAST + (
        """
        const paper = luminance(getComputedStyle(document.querySelector(".kapi-figure > rect")).fill);
        const against = element => {
          const [x, y] = [luminance(getComputedStyle(element).fill), paper].sort((p, q) => q - p);
          return (x + 0.05) / (y + 0.05);
        };
        const letters = [...document.querySelectorAll(".ink, .soft, .told")].map(against);
        return {paper, least: Math.min(...letters), count: letters.length};
        """
    )
    light, dark = (run_script(page, script, is_dark=is_dark) for is_dark in (LIGHT, DARK))
    assert light["paper"] == 1
    assert dark["paper"] < 0.05
    assert light["count"] == dark["count"] > 10
    assert min(light["least"], dark["least"]) >= 4.5
