"""The README's picture of speed has the figures of the page of benchmarks."""

from __future__ import annotations

import re
import runpy


def test_picture_is_drawn_from_the_figures_of_the_page(root):
    module = runpy.run_path(str(root / "benchmarks" / "speed_picture.py"))
    assert module["PICTURE"].read_text("utf-8") == module["drawn"](), "python benchmarks/speed_picture.py draws it anew"
    page = (root / "docs" / "benchmarks.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \|(?: \d+ \|)? ([\d.]+) \|", page, re.MULTILINE)
    for device, peers in module["GROUPS"]:
        for peer, speed in peers:
            found = {float(value) for name, value in rows if name.startswith(peer.partition(",")[0])}
            assert speed in found, f"{device}: {peer}"
