"""The way from an empty environment to the first report: the table that the script prints, and its program."""

from tools import first_race, race_picture


def test_rows_end_with_the_sum():
    assert first_race.rows({"python -m venv env": 3.04, "python race.py": 0.5}).splitlines() == [
        "| step | seconds |",
        "|---|---:|",
        "| `python -m venv env` | 3.0 |",
        "| `python race.py` | 0.5 |",
        "| together | 3.5 |",
    ]


def test_program_is_the_one_whose_report_the_readme_shows():
    """The lines that the report quotes are those of the program."""
    lines = race_picture.program().splitlines()
    report = race_picture.report_on_page()
    assert f"race.py:9: `{lines[8].strip()}`" in report
    assert f"race.py:10: `{lines[9].strip()}`" in report
