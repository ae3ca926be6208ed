"""A still figure of one launch: what each work-item does between the barriers, for slides and papers."""

from __future__ import annotations

from collections import defaultdict
from colorsys import hls_to_rgb
from html import escape
from textwrap import wrap

from kapi_sim.language.source import SourceLocation
from kapi_sim.tracing.record import Launch, TracedEvent

__all__ = ["dark_rules", "item_color", "svg"]

_DARK = {
    "paper": "fill:#1b2030",
    "band": "fill:#242a3d",
    "ink": "fill:#e6e8ef",
    "soft": "fill:#9aa4b9",
    "hole": "fill:#1b2030; filter:brightness(1.6)",
    "wall": "fill:#c5cad8",
    "told": "fill:#ff8593",
    "race": "stroke:#ff6b7d",
    "outline": "stroke:#aab3c6",
}
"""The style of a figure's parts, by class, for readers who want dark pages; the figure itself is light."""

MOST_ITEMS = 32
MOST_COLUMNS = 120
_MOST_LETTERS = 8
"""Of the name and the index of an element, to fit into its box."""
_LETTER = 6.4
"""Width of a letter of the notes, in pixels; rather more than less."""
_LEGEND = {
    "atomic": "dashed: atomic",
    "barrier": "dark: barrier (its line above)",
    "algorithm": "light: group algorithm, which orders no memory",
    "sub-group": "diamond: convergence of a sub-group",
}
_CELL, _ROW, _LEFT, _TOP, _WALL = 46, 22, 96, 58, 18
_RED = "#d0142c"
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

    The first 32 work-items of the launch are shown, and those of a race.  Columns of one phase are not moments: what
    stands below each other may happen at once, and a wall is what orders it.
    """
    rows = _Rows(launch)
    lanes: dict[tuple[int, int], list[tuple[int, TracedEvent]]] = defaultdict(list)
    walls: dict[tuple[int, int], TracedEvent] = {}
    for number, event in enumerate(launch.events):
        if event.item in rows.y and event.kind in ("read", "write", "atomic", "sub-group"):
            lanes[event.phase, event.item].append((number, event))
        elif event.item in rows.y and event.kind in ("barrier", "algorithm"):
            walls[event.phase, event.item] = event
    rings = () if launch.failure is None else launch.failure.rings
    is_cut = launch.dropped > 0
    if rings:
        is_cut |= _keep_around(lanes, set(rings))
    phases = sorted({phase for phase, _ in (*lanes, *walls)})
    if rings:
        phases = _up_to(phases, lanes, launch.events[rings[1]].phase)
    parts: list[str] = []
    x: float = _LEFT
    columns = 0
    for phase in phases:
        width = max((len(lanes[phase, item]) for item in rows.items), default=0)
        if columns + width > MOST_COLUMNS and columns:
            is_cut = True
            break
        for item in rows.items:
            for column, (number, event) in enumerate(lanes[phase, item]):
                draw = _sub_group if event.kind == "sub-group" else _access
                left = x + column * _CELL
                parts.append(draw(launch, event, left, rows.y[item]))
                rows.offsets[number] = left
        x += width * _CELL + 6
        columns += width
        x = _draw_walls(launch, rows, {item: walls[p, item] for p, item in walls if p == phase}, x, parts)
    parts += _conflict(launch, rows)
    return _framed(launch, rows, max(x, _LEFT + (320 if launch.failure is None else 600)), parts, is_cut)


class _Rows:
    """The work-items of a figure.

    Attributes
    ----------
    items : list of int
        Numbers of the work-items.
    y : dict of int to int
        Upper end of each one's row.
    bottom : int
        Lower end of the last row.
    places : dict of int to float
        Left end of each event that is drawn.
    """

    def __init__(self, launch: Launch) -> None:
        failure = launch.failure
        ringed = [] if failure is None else [launch.events[number].item for number in failure.rings]
        first = range(min(launch.items, MOST_ITEMS))
        self.items = sorted({*first, *ringed})
        self.y = {item: _TOP + row * _ROW for row, item in enumerate(self.items)}
        self.bottom = _TOP + len(self.items) * _ROW
        self.offsets: dict[int, float] = {}


def _keep_around(lanes: dict[tuple[int, int], list[tuple[int, TracedEvent]]], rings: set[int]) -> bool:
    """Leave out of long lanes what comes before the end, but for the ringed accesses; return whether any was."""
    is_cut = False
    for key, lane in lanes.items():
        if len(lane) > MOST_COLUMNS // 3:
            earlier, late = lane[: -MOST_COLUMNS // 3], lane[-MOST_COLUMNS // 3 :]
            lanes[key] = [pair for pair in earlier if pair[0] in rings] + late
            is_cut = True
    return is_cut


def _up_to(phases: list[int], lanes: dict[tuple[int, int], list[tuple[int, TracedEvent]]], last: int) -> list[int]:
    """Return the phases that have room with the last one, which has the race; and those after it."""
    room = MOST_COLUMNS
    first = last
    for phase in sorted((phase for phase in phases if phase <= last), reverse=True):
        room -= max((len(lane) for (at, _), lane in lanes.items() if at == phase), default=0)
        if room < 0 and phase < last:
            break
        first = phase
    return [phase for phase in phases if phase >= first]


def _conflict(launch: Launch, rows: _Rows) -> list[str]:
    """Draw the rings around two accesses that race, a line between them, and the barrier that is missing."""
    failure = launch.failure
    if failure is None or not all(number in rows.offsets for number in failure.rings) or not failure.rings:
        return []
    positions = [
        (rows.offsets[number] + (_CELL - 4) / 2, rows.y[launch.events[number].item] + _ROW / 2)
        for number in failure.rings
    ]
    parts = _missing_wall(launch, rows)
    (x, y), (u, v) = positions
    wide, high = _CELL / 2 + 1, _ROW / 2 + 2
    if abs(u - x) > 2 * wide or abs(v - y) > 2 * high:
        rim = 1 / ((((u - x) / wide) ** 2 + ((v - y) / high) ** 2) ** 0.5)
        along, down = (u - x) * rim, (v - y) * rim
        parts.append(
            f'<path d="M{x + along:.1f},{y + down:.1f} L{u - along:.1f},{v - down:.1f}" stroke="{_RED}" '
            'stroke-width="2" fill="none" class="link race"/>'
        )
    for number, (middle, height), word in zip(failure.rings, positions, ("earlier", "refused"), strict=True):
        event = launch.events[number]
        line = launch.sites[event.site][2]
        title = f"{word}: {launch.describe(event.item)} {event.kind} {_element(launch, event)}, line {line}"
        parts.append(
            f"<g><title>{escape(title)}</title>"
            f'<ellipse cx="{middle:.1f}" cy="{height:.1f}" rx="{wide}" ry="{high}" fill="none" stroke="{_RED}" '
            f'stroke-width="3" class="ring race"/></g>'
        )
    return parts


def _missing_wall(launch: Launch, rows: _Rows) -> list[str]:
    """Draw a dashed wall where a barrier is missing: after what comes before its line, in the race's group."""
    failure = launch.failure
    if failure is None or failure.barrier is None:
        return []
    file, _, line, where = failure.barrier
    one, two = (launch.events[number] for number in failure.rings)
    group = two.item // launch.group_size
    if one.phase != two.phase or one.item // launch.group_size != group or launch.group_size == 1:
        return []

    def is_past(event: TracedEvent) -> bool:
        there, _, at = launch.sites[event.site]
        if where == "within":
            return there == file and (at > line or (at == line and event.kind == "write"))
        return there == file and (at != line if where == "after" else at >= line)

    ends: dict[int, float] = {}
    past: set[int] = set()
    ready: set[int] = set()  # came by the line that the barrier goes after
    for number, left in sorted(rows.offsets.items()):
        event = launch.events[number]
        item = event.item
        if event.phase != two.phase or item // launch.group_size != group or item in past:
            continue
        if is_past(event) and (where != "after" or item in ready):
            past.add(item)
            ends[item] = left
        else:
            ends[item] = left + _CELL
            if not is_past(event):
                ready.add(item)
    for number, other in (failure.rings, failure.rings[::-1]):
        event = launch.events[number]
        if is_past(event) and not is_past(launch.events[other]):
            ends[event.item] = min(ends[event.item], rows.offsets[number])
            past.add(event.item)
        else:
            ends[event.item] = max(ends[event.item], rows.offsets[number] + _CELL)
    most = max(ends.values())
    parts = []
    for item in rows.items:
        if item // launch.group_size == group:
            x = (ends[item] if item in past else most) - 2
            parts.append(f"M{x:.1f},{rows.y[item]} v{_ROW}")
    return [
        f"<g><title>a barrier is missing here, {where} line {line}</title>"
        f'<path d="{" ".join(parts)}" stroke="{_RED}" stroke-width="3" stroke-dasharray="5 3" fill="none" '
        'class="missing race"/></g>'
    ]


def _element(launch: Launch, event: TracedEvent) -> str:
    return launch.arrays[event.array].spell(event.element)


def _access(launch: Launch, event: TracedEvent, x: float, y: float) -> str:
    color = item_color(event.item)
    verb, fill, ink, dashes = {
        "read": ("read", "#fff", "#223", ""),
        "write": ("wrote", color, "#fff", ""),
        "atomic": ("atomically used", "#fff", "#223", ' stroke-dasharray="3 2"'),
    }[event.kind]
    hole, letters = ("", "") if event.kind == "write" else (' class="hole"', ' class="ink"')
    array = launch.arrays[event.array]
    line = launch.sites[event.site][2]
    is_ = ", then" if event.kind == "atomic" else " ="
    title = f"{launch.describe(event.item)} {verb} {_element(launch, event)}{is_} {event.value}, line {line}"
    index = ",".join(map(str, array.slot(event.element)))
    name = array.name if len(array.name + index) <= _MOST_LETTERS else array.name[:3] + "."
    # As in the kernel where the name alone would not tell that it is an index.
    label = f"{name}{index}" if len(array.shape) == 1 else f"{name[:3]}[{index}]"
    size = 10 if len(label) < _MOST_LETTERS - 1 else 8
    return (
        f"<g><title>{escape(title)}</title>"
        f'<rect x="{x}" y="{y + 2}" width="{_CELL - 4}" height="{_ROW - 4}" rx="4" '
        f'fill="{fill}" stroke="{color}" stroke-width="{2 if dashes else 1.5}"{dashes}{hole}/>'
        f'<text x="{x + (_CELL - 4) / 2}" y="{y + _ROW / 2 + 4}" text-anchor="middle" font-size="{size}" '
        f'fill="{ink}"{letters}>{escape(label)}</text></g>'
    )


def _sub_group(launch: Launch, event: TracedEvent, x: float, y: float) -> str:
    """Draw that a work-item converges with its sub-group."""
    what = launch.in_words("converges with its sub-group")
    title = f"{launch.describe(event.item)} {what} in {event.value}, line {launch.sites[event.site][2]}"
    middle, half = x + (_CELL - 4) / 2, _ROW / 2 - 4
    points = f"{middle},{y + 4} {middle + half},{y + _ROW / 2} {middle},{y + _ROW - 4} {middle - half},{y + _ROW / 2}"
    return f'<g><title>{escape(title)}</title><polygon points="{points}" fill="#8a93ab"/></g>'


def _draw_walls(launch: Launch, rows: _Rows, walls: dict[int, TracedEvent], x: float, parts: list[str]) -> float:
    """Draw a wall across each group that converged, and return where it goes on."""
    groups: dict[int, list[int]] = defaultdict(list)
    for item in walls:
        groups[item // launch.group_size].append(item)
    for members in groups.values():
        event = walls[members[0]]
        site = launch.sites[event.site]
        title = f"{event.value} at {SourceLocation(site[0], site[2])}"
        paint = (
            'fill="#334" class="wall"'
            if event.kind == "barrier"
            else 'fill="#fff" stroke="#8a93ab" stroke-width="2" class="hole outline"'
        )
        top, end = rows.y[min(members)], rows.y[max(members)] + _ROW
        parts.append(
            f"<g><title>{escape(title)}</title>"
            f'<rect x="{x}" y="{top}" width="7" height="{end - top}" rx="2" {paint}/>'
            f'<text x="{x + 3.5}" y="{_TOP - 6}" text-anchor="middle" font-size="9" fill="#556" class="soft">'
            f"{site[2]}</text></g>"
        )
    return x + _WALL if walls else x


def _framed(launch: Launch, rows: _Rows, right: float, parts: list[str], is_cut: bool) -> str:
    backs = []
    band, paper = 'fill="#f4f5f9" class="band"', 'fill="#fff" class="paper"'
    for item in rows.items:
        y = rows.y[item]
        is_odd_group = item // launch.group_size % 2 if launch.group_size > 1 else item % 2
        backs.append(
            f'<rect x="4" y="{y}" width="{right}" height="{_ROW}" {band if is_odd_group else paper}/>'
            f'<circle cx="16" cy="{y + _ROW / 2}" r="5" fill="{item_color(item)}"/>'
            f'<text x="28" y="{y + _ROW / 2 + 4}" font-size="11" fill="#223" class="ink">'
            f"{escape(_label(launch, item))}</text>"
        )
    y = rows.bottom + 4
    texts: list[str] = []
    for paint, size, lines in (
        ('fill="#b00d24" class="told"', 12, _report(launch, right)),
        ('fill="#667" class="soft"', 11, _notes(launch, rows, right, is_cut)),
    ):
        y += 5 if texts else 0
        for text in lines:
            y += 15
            texts.append(f'<text x="8" y="{y}" font-size="{size}" {paint}>{escape(text)}</text>')
    height = y + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 8:.0f} {height}" width="{right + 8:.0f}" '
        f'height="{height}" font-family="system-ui, sans-serif" role="img" aria-label="{escape(launch.kernel)}" '
        f'class="kapi-figure"><style>@media (prefers-color-scheme: dark) {{{dark_rules()}}}</style>'
        f'<rect width="100%" height="100%" {paper}/>'
        f'<text x="8" y="22" font-size="15" font-weight="600" fill="#223" class="ink">{escape(launch.kernel)} '
        f'<tspan font-weight="400" fill="#667" class="soft">over {escape(launch.spelled_space)}</tspan></text>'
        + "".join((*backs, *parts, *texts))
        + "</svg>\n"
    )


def dark_rules(of: str = "") -> str:
    """Return the style rules of a dark figure; `of` selects what it stands in."""
    return "".join(f"{of}.kapi-figure .{name} {{{style}}}" for name, style in _DARK.items())


def _report(launch: Launch, right: float) -> list[str]:
    """Return the lines of what ended the launch, cut to the figure's width."""
    if launch.failure is None:
        return []
    width = max(int(right / _LETTER), 20)
    first, *others = launch.failure.report.replace("`", "").split("\n")
    lines = [f"{launch.failure.error}: {first}", *others]
    return [part for line in lines for part in wrap(line.strip(), width, break_on_hyphens=False)]


def _notes(launch: Launch, rows: _Rows, right: float, is_cut: bool) -> list[str]:
    """Return what the marks mean."""
    more = f"; {len(rows.items)} of {launch.items} work-items" if len(rows.items) < launch.items else ""
    more = launch.in_words(more)
    more += "; other steps left out" if is_cut else ""
    kinds = {event.kind for event in launch.events if event.item in rows.y}
    words = [
        launch.in_words("a row is a work-item"),
        "outlined: read",
        "filled: written",
        *(launch.in_words(text) for kind, text in _LEGEND.items() if kind in kinds),
    ]
    if launch.failure is not None and launch.failure.rings:
        words.append("ringed: the two accesses that nothing orders")
        words += ["dashed wall: the missing barrier"] if _missing_wall(launch, rows) else []
    return wrap(", ".join(words) + more, max(int(right / _LETTER), 20))


def _label(launch: Launch, item: int) -> str:
    """Return the global id, without the words around it."""
    return launch.label(item)
