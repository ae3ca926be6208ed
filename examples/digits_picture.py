"""The digits demo's picture: the distances ordered by class, and digits beside their nearest neighbours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

__all__ = ["draw"]

Array = np.ndarray[Any, Any]

# Told apart by every kind of colour vision, and in grey by their lightness.
RIGHT, WRONG = "#0072B2", "#D55E00"
INK = "#222222"
COLUMNS, ROWS = 4, 3  # pairs of each kind that fit


def draw(path: Path, digits: Array, label: Array, distance: Array, neighbour: Array) -> None:
    """Write the picture.

    Parameters
    ----------
    path : Path
        The file to write.
    digits : numpy.ndarray, shape (n, 64)
        Pixels, one digit a row.
    label, neighbour : numpy.ndarray, shape (n,)
        Each digit's class, and the index of its nearest neighbour.
    distance : numpy.ndarray, shape (n, n)
        Between all pairs.
    """
    with tqdm(total=3, desc="   drawing", leave=False, disable=None) as bar:
        figure = Figure(figsize=(12, 6.3), dpi=110, facecolor="white")
        _matrix(figure, distance, label)
        bar.update()
        wrong = np.flatnonzero(label[neighbour] != label)
        right = _one_of_each_class(label, np.flatnonzero(label[neighbour] == label))
        most = f"{1 - len(wrong) / len(label):.1%} have a neighbour of their own class"
        _pairs(figure, 0.905, most, RIGHT, right, digits, label, neighbour)
        shown = f", {COLUMNS * ROWS} of them shown" if len(wrong) > COLUMNS * ROWS else ""
        _pairs(figure, 0.45, f"{len(wrong)} do not{shown}", WRONG, wrong, digits, label, neighbour)
        bar.update()
        figure.savefig(path)
        bar.update()


def _matrix(figure: Figure, distance: Array, label: Array) -> None:
    order = np.argsort(label, kind="stable")
    axes = figure.add_axes((0.035, 0.09, 0.4252, 0.81))
    # The few very near and very far pairs would take most of the colours.
    low, high = np.percentile(distance, (1, 99.9))
    ordered = distance[np.ix_(order, order)]
    image = axes.imshow(ordered, cmap="viridis", interpolation="antialiased", vmin=low, vmax=high)
    edges = np.searchsorted(label[order], np.arange(11))
    for edge in edges[1:-1]:
        axes.axhline(edge - 0.5, color="white", linewidth=0.8)
        axes.axvline(edge - 0.5, color="white", linewidth=0.8)
    middles = (edges[:-1] + edges[1:]) / 2 - 0.5
    axes.set_xticks(middles, [str(digit) for digit in range(10)])
    axes.set_yticks(middles, [str(digit) for digit in range(10)])
    axes.tick_params(length=0, labelsize=13, colors=INK)
    axes.set_xlabel("digits, ordered by class", fontsize=12, color=INK)
    axes.set_title(f"{distance.size:,} distances between handwritten digits", fontsize=14, color=INK, pad=10)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, extend="both", cax=figure.add_axes((0.475, 0.09, 0.014, 0.81)))
    bar.set_label("Euclidean distance", fontsize=12, color=INK)
    bar.ax.tick_params(labelsize=11, colors=INK)
    bar.outline.set_visible(False)


def _one_of_each_class(label: Array, chosen: Array) -> Array:
    firsts = [chosen[label[chosen] == digit][:2] for digit in range(10)]
    return np.array([pair[k] for k in range(2) for pair in firsts if len(pair) > k])


def _pairs(
    figure: Figure, top: float, title: str, colour: str, chosen: Array, digits: Array, label: Array, neighbour: Array
) -> None:
    """Draw digits, each with its nearest neighbour to the right of it, in a block below `top`."""
    left, step, line = 0.597, 0.098, 0.135
    side = 0.045
    tall = side * figure.get_figwidth() / figure.get_figheight()
    figure.text(left, top, title, fontsize=14, color=colour, weight="bold", va="bottom")
    for place, index in enumerate(chosen[: COLUMNS * ROWS]):
        row, column = divmod(place, COLUMNS)
        x, y = left + column * step, top - 0.012 - tall - row * line
        for k, digit in enumerate((index, neighbour[index])):
            axes = figure.add_axes((x + k * (side + 0.002), y, side, tall))
            axes.imshow(digits[digit].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set(color=colour, linewidth=2)
        said = f"{label[index]} read as {label[neighbour[index]]}"
        figure.text(x + side + 0.001, y - 0.008, said, fontsize=11, color=INK, ha="center", va="top")
