"""A tab of headless Chromium that is let onto loopback, and remembers what the page asked for and complained of."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.providers.browser import Browser, BrowserError, open_chromium

LOOPBACK_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


@dataclass(slots=True)
class Tab(Browser):
    """requested: every address that was asked for. complaints: errors of the page and its console."""

    requested: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open_tab(self) -> None:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def go(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Open a page in a window of that size, and forget what came before."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.ask("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url="about:blank")
        self.requested.clear()
        self.complaints.clear()
        self._loaded = False
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """What an expression, or a promise of it, comes to in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def until(self, claim: str, seconds: float = 15.0) -> None:
        """Wait until an expression is true."""
        give_up_at = time.monotonic() + seconds
        while not self.run(claim):
            if time.monotonic() > give_up_at:
                raise AssertionError(f"never true: {claim}\n{self.run('document.body.innerText')}")
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def press(self, key: str, code: int, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
            self.ask("Input.dispatchKeyEvent", type=kind, **event, **({"text": text} if kind == "keyDown" else {}))

    def _take(self, message: dict[str, Any]) -> None:
        told = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(told["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(told["args"]))
            case "Log.entryAdded":
                self.complaints.append(told["entry"]["text"])


@contextmanager
def open_tab(profile: Path) -> Iterator[Tab]:
    with open_chromium(profile, LOOPBACK_ONLY) as pipes:
        tab = Tab(*pipes)
        tab.open_tab()
        yield tab
