"""A lesson in a real browser: the button runs the kernel; its report and picture appear; the mended one is right."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

# It presses Run, mends the kernel, presses Run again, and sends what it saw after each.
PROBE = """
const box = document.querySelector(".kapi-live"), editor = box.querySelector("textarea");
const report = box.querySelector("pre"), trace = box.querySelector("iframe"), seen = [];
window.onerror = (text) => fetch("/told", { method: "POST", body: JSON.stringify({ failure: text }) });
new MutationObserver(() => {
  if (report.hidden || box.querySelector(".kapi-run").disabled) return;
  seen.push({ report: report.textContent, right: report.className, trace: trace.srcdoc.length, hidden: trace.hidden });
  if (seen.length === 2) return void fetch("/told", { method: "POST", body: JSON.stringify(seen) });
  editor.value = MENDED;
  box.querySelector(".kapi-run").click();
}).observe(box.querySelector("[role=status]"), { childList: true });
box.querySelector(".kapi-run").click();
"""


class Handler(SimpleHTTPRequestHandler):
    """Serves the pages, with the probe at the end of the lesson, and takes what the probe sends."""

    told: Queue[Any]
    probe: str

    def do_GET(self) -> None:
        if not self.path.endswith("04_shared_tile.html"):
            return super().do_GET()
        page = Path(self.directory, self.path.lstrip("/")).read_text("utf-8")
        content = page.replace("</body>", f"<script type='module'>{self.probe}</script></body>").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


def test_button_runs_the_kernel_in_the_page(pages, tmp_path):
    from kapi_sim.exercises import find

    mended = find(4).answer.read_text("utf-8").replace("def right", "def wrong")
    handler = type("Probed", (Handler,), {"told": Queue(), "probe": PROBE.replace("MENDED", json.dumps(mended))})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(pages)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/learn/04_shared_tile.html"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command = [os.environ["KAPI_BROWSER"], *options, f"--user-data-dir={tmp_path / 'profile'}", address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        try:
            told = handler.told.get(timeout=300)
        except Empty:
            pytest.fail("the page must answer within five minutes")
        finally:
            browser.kill()
            server.shutdown()
            server.server_close()
    assert isinstance(told, list), told
    before, after = told
    assert "data race on tile" in before["report"]
    assert "exercise_4_run_1.py" in before["report"]
    assert before["right"] == "kapi-wrong"
    assert before["trace"] > 1000
    assert not before["hidden"]
    assert after["right"] == "kapi-right"
    assert "is right" in after["report"]
    assert after["trace"] > 1000


def test_script_of_the_editors_is_loaded_where_there_are_editors(pages):
    with_script = {
        page.relative_to(pages).as_posix()
        for page in pages.rglob("*.html")
        if "_static/live/page.js" in page.read_text("utf-8")
    }
    assert "learn/puzzles.html" in with_script
    assert {page for page in with_script if not page.startswith("learn/")} == set()
    for name in with_script:
        assert 'class="kapi-live"' in (pages / name).read_text("utf-8")
