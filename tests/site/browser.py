"""A browser that looks at the built site: pages are loaded in a frame, and a script in it reports what it sees."""

import contextlib
import functools
import http.server
import json
import queue
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SITE = Path(__file__).resolve().parents[2] / "docs" / "build" / "html"
QUIET = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-extensions --hide-scrollbars
    --remote-debugging-port=0""".split()

#: The page around the frame: runs the program of a test and sends what it returns.
PAGE = """<!doctype html><meta charset="utf-8"><title>frame</title><style>iframe{border:0;height:900px}</style>
<iframe id="frame"></iframe><script>
const frame = document.getElementById("frame");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
async function open(path, width) {
  frame.style.width = width + "px";
  const loaded = new Promise((done) => frame.addEventListener("load", done, { once: true }));
  frame.src = "/" + path;
  await loaded;
  for (const image of frame.contentDocument.images) image.loading = "eager";
  await Promise.all([...frame.contentDocument.images].map((image) => image.decode().catch(() => null)));
  return frame.contentDocument;
}
// What sticks out of the window and can't be scrolled to by itself.
function tooWide(page) {
  const view = page.defaultView, width = frame.clientWidth;
  const scrolls = (element) => ["auto", "scroll"].includes(view.getComputedStyle(element).overflowX);
  const reachable = (element) => {
    const up = element.parentElement;
    return up && up.tagName != "ARTICLE" && (scrolls(up) || reachable(up));
  };
  return [...page.querySelectorAll("article *")]
    .filter((element) => element.getClientRects().length && element.getBoundingClientRect().right > width + 1)
    .filter((element) => !element.closest(".math, svg") && !reachable(element))
    .map((element) => element.tagName.toLowerCase() + ": " + element.textContent.trim().slice(0, 60)).slice(0, 5);
}
async function until(found, seconds = 20) {
  for (let i = 0; i < seconds * 20; i++) {
    const value = found();
    if (value) return value;
    await sleep(50);
  }
  return null;
}
(async () => {
  let report;
  try { report = await (async () => { %s })(); } catch (error) { report = { error: String(error.stack ?? error) }; }
  await fetch("/report", { method: "POST", body: JSON.stringify(report) });
})();
</script>"""


def chromium() -> str | None:
    """Where the browser is, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class _Handler(http.server.SimpleHTTPRequestHandler):
    page = b""
    reports: "queue.Queue[Any]"

    def do_GET(self) -> None:
        if self.path != "/frame":
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.server.page)  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        self.server.reports.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@contextlib.contextmanager
def _serving(program: str) -> Iterator[Any]:
    handler = functools.partial(_Handler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.page = (PAGE % program).encode()  # type: ignore[attr-defined]
        server.reports = queue.Queue()  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def run(program: str, timeout: float = 600) -> Any:
    """What the body of an asynchronous function returns that can open pages in the frame."""
    with _serving(program) as server, tempfile.TemporaryDirectory() as profile:
        address = f"http://127.0.0.1:{server.server_port}/frame"
        command = [chromium(), *QUIET, f"--user-data-dir={profile}", address]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            report = server.reports.get(timeout=timeout)
        finally:
            browser.terminate()
            browser.wait(20)
    if isinstance(report, dict) and "error" in report:
        raise AssertionError(report["error"])
    return report
