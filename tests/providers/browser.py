"""What a real browser shows of a saved page: headless Chromium, driven through its debugging pipe.

No page reaches the network: every request is answered here, all but the one for the page with a refusal. Scripts of the
page are kept from running by its policy header, not by turning scripting off, so `<noscript>` stays unseen as it does
for most people.
"""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STEP_SECONDS = 60.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1280,900",
    "--remote-debugging-pipe",
)

_SEEN = """
(() => {
  for (const moving of document.getAnimations()) {
    try { moving.finish(); } catch { moving.cancel(); }  // one without an end
  }
  const tiny = 2, seen = [], apart = [];
  const boxes = new Map();
  const box = (element) => {  // the part of the document in which what stands in the element can be drawn
    if (!element || element === document.documentElement || element === document.body)
      return [0, 0, Infinity, Infinity];
    if (boxes.has(element)) return boxes.get(element);
    const style = getComputedStyle(element);
    let [left, top, right, bottom] = box(style.position === 'fixed' ? null
      : style.position === 'absolute' ? element.offsetParent : element.parentElement);
    const own = element.getBoundingClientRect();
    const cuts = (value) => value === 'hidden' || value === 'clip';
    const clipped = style.clip !== 'auto' || style.clipPath !== 'none';
    if (own.width <= tiny && (cuts(style.overflowX) || clipped)) right = -Infinity;
    if (own.height <= tiny && (cuts(style.overflowY) || clipped)) bottom = -Infinity;
    if (/^rect\\((0|1)px(, (0|1)px){3}\\)$/.test(style.clip) && style.position !== 'static') right = -Infinity;
    if (/^inset\\((50|100)%/.test(style.clipPath) || /^circle\\(0/.test(style.clipPath)) right = -Infinity;
    boxes.set(element, [left, top, right, bottom]);
    return boxes.get(element);
  };
  const asked = {opacityProperty: true, visibilityProperty: true};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest('script, style, noscript, option, textarea')) continue;
    if (!parent.checkVisibility(asked)) continue;
    const style = getComputedStyle(parent);
    if (parseFloat(style.fontSize) <= tiny || /^rgba\\(.*, 0\\)$/.test(style.color)) continue;
    range.selectNodeContents(node);
    const [left, top, right, bottom] = box(parent);
    const drawn = [...range.getClientRects()].some((r) => r.width > 0 && r.height > 0
      && r.right > left && r.bottom > top && r.left < right && r.top < bottom);
    if (drawn) (parent.closest('[aria-hidden="true" i]') ? apart : seen).push(node.data);
  }
  for (const element of document.querySelectorAll('[aria-hidden="true" i]')) element.style.display = 'none';
  return [seen.join('\\n'), apart.join('\\n'), document.body.innerText];
})()
"""
"""Text nodes that take up room on the page and are not see-through, cut off or off its left or upper edge."""


class BrowserError(Exception):
    """Chromium said no to a command, went away, or did not answer in time."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Visible text of one page; `apart` is the visible text inside `aria-hidden`, which is not in `seen`."""

    seen: str
    apart: str
    inner: str


@dataclass(slots=True)
class Browser:
    """One tab. Messages are JSON objects that end in a zero byte, answers and events on one pipe."""

    to_browser: int
    from_browser: int
    session: str = ""
    _count: int = 0
    _buffer: bytearray = field(default_factory=bytearray)
    _page: tuple[str, bytes] | None = None
    _loaded: bool = False

    def open_tab(self) -> None:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.enable")
        self.ask("Fetch.enable", patterns=[{"urlPattern": "*"}])

    def show(self, url: str, html: bytes) -> Shown:
        """What is visible of `html` served at `url` as UTF-8."""
        self._page, self._loaded = (url.partition("#")[0], html), False
        self.ask("Page.navigate", url=url)
        deadline = time.monotonic() + STEP_SECONDS
        while not self._loaded:
            self._take(self._receive(deadline))
        answer = self.ask("Runtime.evaluate", expression=_SEEN, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return Shown(*answer["result"]["value"])

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = self._send(method, params)
        deadline = time.monotonic() + STEP_SECONDS
        while True:
            message = self._receive(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']}")
                return dict(message["result"])
            self._take(message)

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self.to_browser, data) :]
        return self._count

    def _receive(self, deadline: float) -> dict[str, Any]:
        while (end := self._buffer.find(0)) < 0:
            ready, _, _ = select.select([self.from_browser], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self.from_browser, 1 << 20) if ready else b""
            if not part:
                raise BrowserError("no answer" if not ready else "gone")
            self._buffer += part
        message = json.loads(self._buffer[:end])
        del self._buffer[: end + 1]
        return dict(message)

    def _take(self, message: dict[str, Any]) -> None:
        """Answer a paused request, the page once and all others with a refusal, and note when the page is there."""
        if message.get("method") == "Page.loadEventFired":
            self._loaded = True
        if message.get("method") != "Fetch.requestPaused":
            return
        paused = message["params"]
        if self._page is None or paused["resourceType"] != "Document":
            self._send("Fetch.failRequest", {"requestId": paused["requestId"], "errorReason": "Aborted"})
            return
        html, self._page = self._page[1], None
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY}
        self._send(
            "Fetch.fulfillRequest",
            {
                "requestId": paused["requestId"],
                "responseCode": 200,
                "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
                "body": base64.b64encode(html).decode(),
            },
        )


@contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """A Chromium with an empty profile in the folder `profile`; it ends with the block."""
    with open_chromium(profile) as pipes:
        browser = Browser(*pipes)
        browser.open_tab()
        yield browser


@contextmanager
def open_chromium(profile: Path, *more_flags: str) -> Iterator[tuple[int, int]]:
    """The pipes to and from a Chromium with an empty profile; it ends with the block. Later flags win."""
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    flags = (*FLAGS, f"--user-data-dir={profile}", *more_flags)
    # Chromium reads commands from descriptor 3 and writes answers to 4; the shell puts the pipes there.
    script = f'exec chromium "$@" 3<&{commands} 4>&{answers}'
    process = subprocess.Popen(
        ["bash", "-c", script, "chromium", *flags],
        pass_fds=(commands, answers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield to_browser, from_browser
    finally:
        os.close(to_browser)  # Chromium ends when its pipe does
        os.close(from_browser)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
