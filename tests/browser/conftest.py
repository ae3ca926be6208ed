"""Pages in a real browser: each is opened, a script in it acts and reads, and what it found comes back."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunScript = Callable[..., Any]

# Errors are collected from the first script on; the answer is put into the document, which the browser prints.
CATCH = "<script>window.failures = []; window.onerror = text => { window.failures.push(text); };</script>"
ANSWER = """<pre id="answer"></pre><script>
window.addEventListener("load", () => setTimeout(() => {
  let answer;
  try { answer = (() => { SCRIPT })(); } catch (error) { window.failures.push(String(error)); }
  document.getElementById("answer").textContent = JSON.stringify({answer, failures: window.failures});
}, 50));
</script>"""


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of the browser, which the session `browser` gives."""
    path = os.environ.get("KAPI_BROWSER", "")
    if not path:
        pytest.fail("KAPI_BROWSER must name a browser, got nothing: run `python3 noxfile.py -s browser`")
    return path


@pytest.fixture
def run_script(browser: str, tmp_path: Path) -> RunScript:
    """Return a function that opens a page, light or dark, runs a script in it, and returns what that returns."""

    def opened(page: str, script: str, *, is_dark: bool = False, size: tuple[int, int] = (1200, 900)) -> Any:
        file = tmp_path / "page.html"
        scripted = page.replace("<head>", f"<head>{CATCH}", 1) + ANSWER.replace("SCRIPT", script)
        file.write_text(scripted, "utf-8")
        options = [
            "--headless=new",
            "--no-sandbox",  # it would not start as root
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={size[0]},{size[1]}",
            f"--blink-settings=preferredColorScheme={0 if is_dark else 1}",
            "--virtual-time-budget=4000",
            "--dump-dom",
        ]
        done = subprocess.run(
            [browser, *options, file.as_uri()], capture_output=True, text=True, check=True, timeout=120
        )
        found = re.search(r'<pre id="answer">(.*?)</pre>', done.stdout, re.DOTALL)
        assert found is not None, done.stderr
        told = json.loads(html.unescape(found[1]))
        assert told["failures"] == []
        return told.get("answer")

    return opened
