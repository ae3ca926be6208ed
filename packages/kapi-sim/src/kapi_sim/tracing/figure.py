"""A still figure of one launch: what each work-item does between the barriers, for slides and papers."""

from __future__ import annotations

from collections import defaultdict
from colorsys import hls_to_rgb
from html import escape
from textwrap import wrap

from kapi_sim.language.source import Site
from kapi_sim.tracing.trace import Event, Launch

__all__ = ["item_color", "svg"]

MOST_ITEMS = 32
MOST_COLUMNS = 120
_LETTER = 6.4
"""Width of a letter of the notes, in pixels; rather more than less."""
_LEGEND = {
    "atomic": "dashed: atomic",
    "barrier": "dark: barrier (its line above)",
    "algorithm": "light: group algorithm, which orders no memory",
    "sub-group": "diamond: meeting of a sub-group",
}
_CELL, _ROW, _LEFT, _TOP, _WALL = 46, 22, 96, 58, 18
_SATURATION = 58
_MOST_LUMINANCE = 1.05 / 4.5 - 0.05
"""White letters on it have a contrast of 4.5, which small ones need to be legible."""


def item_color(item: int) -> str:
    """Return a colour that differs from those of the neighbours, hues a golden angle apart, and bears white letters."""
    hue, lightness = round(item * 137.508 % 360), 42 + item % 3 * 7
    while _luminance(hue, lightness) > _MOST_LUMINANCE:
        lightness -= 1
    return f"hsl({hue},{_SATURATION}%,{lightness}%)"


def _luminance(hue: int, lightness: int) -> float:
    """Relative luminance, as the guidelines for accessible web content define it."""
    channels = hls_to_rgb(hue / 360, lightness / 100, _SATURATION / 100)
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def svg(launch: Launch) -> str:
    """Return the figure; see `Trace.svg`.

    The first 32 work-items of the launch are shown.  Columns of one phase are not moments: what stands below each
    other may happen at once, and a wall is what orders it.
    """
    shown = min(launch.items, MOST_ITEMS)
    lanes: dict[tuple[int, int], list[Event]] = defaultdict(list)
    walls: dict[tuple[int, int], Event] = {}
    for event in launch.events:
        if event.item < shown and event.kind in ("read", "write", "atomic", "sub-group"):
            lanes[event.phase, event.item].append(event)
        elif event.item < shown and event.kind in ("barrier", "algorithm"):
            walls[event.phase, event.item] = event
    phases = sorted({phase for phase, _ in (*lanes, *walls)})
    parts: list[str] = []
    x: float = _LEFT
    bottom = _TOP + shown * _ROW
    columns = 0
    is_cut = launch.dropped > 0
    for phase in phases:
        width = max((len(lanes[phase, item]) for item in range(shown)), default=0)
        if columns + width > MOST_COLUMNS:
            is_cut = True
            break
        for item in range(shown):
            for column, event in enumerate(lanes[phase, item]):
                draw = _sub_group if event.kind == "sub-group" else _access
                parts.append(draw(launch, event, x + column * _CELL, _TOP + item * _ROW))
        x += width * _CELL + 6
        columns += width
        x = _draw_walls(launch, {item: walls[p, item] for p, item in walls if p == phase}, x, parts)
    return _framed(launch, shown, max(x, _LEFT + 320), bottom, parts, is_cut)


def _access(launch: Launch, event: Event, x: float, y: float) -> str:
    color = item_color(event.item)
    verb, fill, ink, dashes = {
        "read": ("read", "#fff", "#223", ""),
        "write": ("wrote", color, "#fff", ""),
        "atomic": ("atomically used", "#fff", "#223", ' stroke-dasharray="3 2"'),
    }[event.kind]
    array = launch.arrays[event.array]
    site = launch.sites[event.site]
    title = (
        f"{launch.describe(event.item)} {verb} {array.name}[{event.element}], then {event.value}, line {site[2]}"
        if event.kind == "atomic"
        else f"{launch.describe(event.item)} {verb} {array.name}[{event.element}] = {event.value}, line {site[2]}"
    )
    name = array.name if len(array.name) <= 4 else array.name[:3] + "."
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{x}" y="{y + 2}" width="{_CELL - 4}" height="{_ROW - 4}" rx="4" '
        f'fill="{fill}" stroke="{color}" stroke-width="{2 if dashes else 1.5}"{dashes}/>'
        f'<text x="{x + (_CELL - 4) / 2}" y="{y + _ROW / 2 + 4}" text-anchor="middle" font-size="10" '
        f'fill="{ink}">{escape(name)}{event.element}</text></g>'
    )


def _sub_group(launch: Launch, event: Event, x: float, y: float) -> str:
    """Draw that a work-item meets its sub-group."""
    title = f"{launch.describe(event.item)} meets its sub-group in {event.value}, line {launch.sites[event.site][2]}"
    middle, half = x + (_CELL - 4) / 2, _ROW / 2 - 4
    points = f"{middle},{y + 4} {middle + half},{y + _ROW / 2} {middle},{y + _ROW - 4} {middle - half},{y + _ROW / 2}"
    return f'<g><title>{escape(title)}</title><polygon points="{points}" fill="#8a93ab"/></g>'


def _draw_walls(launch: Launch, walls: dict[int, Event], x: float, parts: list[str]) -> float:
    """Draw a wall across each group that met, and return where it goes on."""
    groups: dict[int, list[int]] = defaultdict(list)
    for item in walls:
        groups[item // launch.group_size].append(item)
    for members in groups.values():
        event = walls[members[0]]
        site = launch.sites[event.site]
        title = f"{event.value} at {Site(site[0], site[2])}"
        paint = 'fill="#334"' if event.kind == "barrier" else 'fill="#fff" stroke="#8a93ab" stroke-width="2"'
        top, end = _TOP + min(members) * _ROW, _TOP + (max(members) + 1) * _ROW
        parts.append(
            f"<g><title>{escape(title)}</title>"
            f'<rect x="{x}" y="{top}" width="7" height="{end - top}" rx="2" {paint}/>'
            f'<text x="{x + 3.5}" y="{_TOP - 6}" text-anchor="middle" font-size="9" fill="#556">{site[2]}</text></g>'
        )
    return x + _WALL if walls else x


def _framed(launch: Launch, shown: int, right: float, bottom: float, parts: list[str], is_cut: bool) -> str:
    rows = []
    for item in range(shown):
        y = _TOP + item * _ROW
        is_odd_group = item // launch.group_size % 2 if launch.group_size > 1 else item % 2
        rows.append(
            f'<rect x="4" y="{y}" width="{right}" height="{_ROW}" fill="{"#f4f5f9" if is_odd_group else "#fff"}"/>'
            f'<circle cx="16" cy="{y + _ROW / 2}" r="5" fill="{item_color(item)}"/>'
            f'<text x="28" y="{y + _ROW / 2 + 4}" font-size="11" fill="#223">{escape(_label(launch, item))}</text>'
        )
    more = f"; the first {shown} of {launch.items} work-items" if shown < launch.items else ""
    more += "; later steps left out" if is_cut else ""
    kinds = {event.kind for event in launch.events if event.item < shown}
    words = [
        "outlined: read",
        "filled: written",
        *(text for kind, text in _LEGEND.items() if kind in kinds),
    ]
    notes = wrap(", ".join(words) + more, max(int(right / _LETTER), 20))
    height = bottom + 14 + 15 * len(notes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 8:.0f} {height}" width="{right + 8:.0f}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img" aria-label="{escape(launch.kernel)}">'
        f'<rect width="100%" height="100%" fill="#fff"/>'
        f'<text x="8" y="22" font-size="15" font-weight="600" fill="#223">{escape(launch.kernel)} '
        f'<tspan font-weight="400" fill="#667">over {escape(repr(launch.space))}</tspan></text>'
        + "".join(rows)
        + "".join(parts)
        + "".join(
            f'<text x="8" y="{bottom + 18 + 15 * row}" font-size="11" fill="#667">{escape(note)}</text>'
            for row, note in enumerate(notes)
        )
        + "</svg>\n"
    )


def _label(launch: Launch, item: int) -> str:
    """Return the global id, without the words around it."""
    return launch.describe(item).partition("global ")[2].partition("), ")[0].rstrip(")") + ")"
