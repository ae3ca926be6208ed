"""Draw the README's picture of speed: ``python benchmarks/speed_picture.py`` writes ``docs/images/speed.svg``.

The figures are the geometric means of FINDINGS.md, and of the tables in ``docs/benchmarks.md``.
"""

from __future__ import annotations

import math
from pathlib import Path

__all__ = ["GROUPS", "drawn", "main"]

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "speed.svg"

GROUPS = (
    (
        "CPU, two cores",
        (("OpenCL C", 1.35), ("Numba parallel", 2.46), ("Taichi", 6.0), ("Warp, one thread", 6.6)),
    ),
    ("NVIDIA H100", (("CUDA C++", 1.05), ("numba-cuda", 1.29), ("Triton", 0.88))),
)
"""Devices, and how many times as fast kapi's kernels are there as each peer."""

_WIDTH, _ROW, _LEFT = 480, 26, 150
_LEAST, _MOST = 0.7, 9.0
_FAST, _SLOW, _INK, _PALE = "#1f6f8b", "#b3541e", "#1b1b1b", "#8a8a8a"


def drawn() -> str:
    """Return the picture as SVG: a bar for each peer, from 1 on a logarithmic scale."""
    parts, y = [], 28.0
    parts.append(_text(12, y, "kapi's kernels: how many times as fast as", weight="bold"))
    for title, peers in GROUPS:
        y += 34
        parts.append(_text(12, y, title, fill=_INK, weight="bold"))
        axis = _x(1.0)
        parts.append(f'<path d="M {axis:.1f} {y + 8} v {_ROW * len(peers) + 2}" stroke="{_PALE}"/>')
        for peer, speed in peers:
            y += _ROW
            start, end = sorted((_x(1.0), _x(speed)))
            colour = _FAST if speed >= 1 else _SLOW
            parts.append(_text(_LEFT - 8, y, peer, anchor="end"))
            parts.append(
                f'<rect x="{start:.1f}" y="{y - 14}" width="{end - start:.1f}" height="18" fill="{colour}" rx="2"/>'
            )
            parts.append(_text(max(end, _x(1.0)) + 6, y, f"{speed:.1f}" if speed >= 2 else f"{speed:.2f}"))
    height = y + 44
    parts.append(_text(_x(1.0), height - 12, "1 = as fast", anchor="middle", fill="#5c5c5c"))
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" role="img">'
    paper = f'<rect width="{_WIDTH}" height="{height:.0f}" fill="#ffffff" rx="6"/>'
    style = '<g font-family="system-ui, sans-serif" font-size="15">'
    return "\n".join([head, paper, style, *parts, "</g>", "</svg>"]) + "\n"


def _x(speed: float) -> float:
    part = math.log(speed / _LEAST) / math.log(_MOST / _LEAST)
    return _LEFT + part * (_WIDTH - _LEFT - 24)


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = _INK, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.0f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">{text}</text>'


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(drawn(), "utf-8")


if __name__ == "__main__":
    main()
