"""The pages that `docs-live` has built."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def pages() -> Path:
    """The folder of the pages."""
    folder = os.environ.get("KAPI_PAGES", "")
    if not folder:
        pytest.fail("KAPI_PAGES must name the folder of the pages: run `python3 noxfile.py -s docs-live`")
    return Path(folder)
