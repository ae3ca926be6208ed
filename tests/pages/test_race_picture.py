"""The README's report and picture are those of its program."""

from __future__ import annotations

from tools import race_picture

HOW = "`python -m tools.race_picture` makes it anew"


def test_report_is_what_the_program_prints():
    printed, _ = race_picture.drawn()
    assert printed == race_picture.report_on_page(), HOW


def test_picture_is_what_the_simulator_draws():
    _, svg = race_picture.drawn()
    assert race_picture.PICTURE.read_text("utf-8") == svg + "\n", HOW
