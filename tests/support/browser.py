"""A headless Chromium to look at pages with, driven over the two pipes of its debugging protocol."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0  # seconds for one answer, on a busy machine
# Chromium reads the protocol from descriptor 3 and writes it to 4.
_TO_3_AND_4 = "import os, sys; [os.dup2(int(sys.argv[i - 2]), i) for i in (3, 4)]; os.execv(sys.argv[3], sys.argv[3:])"


class Browser:
    """One running Chromium."""

    def __init__(self, profile: Path) -> None:
        chromium = shutil.which("chromium")
        assert chromium, "the tests of pages need Chromium: `make chromium` installs it"
        reads, self._to = (_high(end) for end in os.pipe())
        self._from, writes = (_high(end) for end in os.pipe())
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _TO_3_AND_4,
                str(reads),
                str(writes),
                chromium,
                *FLAGS,
                f"--user-data-dir={profile}",
            ],
            pass_fds=(reads, writes),
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._unread = b""
        self._sent = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """The browser's answer; events that come before it are kept."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._receive()
            if found.get("id") == self._sent:
                assert "error" not in found, f"{method}: {found['error']}"
                return dict(found["result"])
            self.events.append(found)

    def wait_for(self, method: str, session: str) -> None:
        """Go on when such an event has come."""
        while not any(event["method"] == method and event.get("sessionId") == session for event in self.events):
            self.events.append(self._receive())

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            received = os.read(self._from, 1 << 20)
            assert received, f"Chromium has ended with code {self._process.wait()}"
            self._unread += received
        message, self._unread = self._unread.split(b"\0", 1)
        return dict(json.loads(message))

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(AssertionError):
            self.call("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._to)
        os.close(self._from)

    @contextlib.contextmanager
    def page(self, path: Path, *, width: int, scheme: str, media: str = "screen") -> Iterator[Page]:
        """A page as it is shown at so many pixels, in the "light" or "dark" scheme, on "screen" or in "print"."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable", session)
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.call("Emulation.setDeviceMetricsOverride", session, **metrics)
        preferred = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", session, media=media, features=preferred)
        self.call("Page.navigate", session, url=path.as_uri())
        self.wait_for("Page.loadEventFired", session)
        yield Page(self, session)
        self.call("Target.closeTarget", targetId=target)


class Page:
    """A loaded page."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        found = self._browser.call("Runtime.evaluate", self._session, expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def events(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all such events so far."""
        mine = [event for event in self._browser.events if event.get("sessionId") == self._session]
        return [event["params"] for event in mine if event["method"] == method]

    def requests(self) -> list[str]:
        """Every address it asked for."""
        return [str(event["request"]["url"]) for event in self.events("Network.requestWillBeSent")]

    def complaints(self) -> list[str]:
        """What the browser has logged."""
        return [str(event["entry"]["text"]) for event in self.events("Log.entryAdded")]

    def screenshot(self) -> bytes:
        """A PNG of the whole page."""
        shot = self._browser.call("Page.captureScreenshot", self._session, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def pdf(self) -> bytes:
        """The page as printed."""
        return base64.b64decode(self._browser.call("Page.printToPDF", self._session)["data"])


def _high(descriptor: int) -> int:
    """The same end of a pipe, out of the way of 3 and 4, and not passed on by itself."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved
