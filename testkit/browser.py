"""A real browser without a screen: Chromium, told what to do through a pipe by its own protocol (DevTools)."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shlex
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testkit.servers.apt import ensure_program
from testkit.servers.process import end, spawn

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
    "--force-color-profile=srgb", "--remote-debugging-pipe",
)  # fmt: skip
_HIGH = 20
"""Descriptors from here on are in nobody's way in the shell."""
_SECONDS = 60.0
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9}


def ensure_chromium() -> Path:
    """The browser, installed where it is missing.

    Raises:
        ServerUnavailableError: it is missing and cannot be installed here.
    """
    return ensure_program("chromium", "chromium")


class RefusedError(AssertionError):
    """The browser has not done what it was told to; the message says why."""


class Browser:
    """One browser; each page is a tab of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="cdckit-browser-", ignore_cleanup_errors=True)
        folder = Path(self._folder.name)
        ours, theirs = _pipe()
        answers, answered = _pipe()
        command = shlex.join([str(ensure_chromium()), *_FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"])
        shell = f"exec {command} 3<&{ours} 4>&{answered}"
        self._child = spawn(["bash", "-c", shell], folder / "log", kept=(ours, answered))
        os.close(ours)
        os.close(answered)
        self._to, self._from = theirs, answers
        self._left = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def page(self) -> Page:
        """A new tab."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._pages[session] = page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log"):
            page.call(f"{domain}.enable")
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Has the browser do something; gives its answer.

        Raises:
            RefusedError: it does not.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _SECONDS
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RefusedError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, deadline: float) -> dict[str, Any]:
        """The next message; one that is about a page is told to it, too."""
        waiting = select.poll()  # `select` takes no file above 1,023, which a process of many tests may reach
        waiting.register(self._from, select.POLLIN)
        while b"\0" not in self._left:
            assert waiting.poll(max(0.0, deadline - time.monotonic()) * 1000), "the browser does not answer"
            piece = os.read(self._from, 1 << 20)
            assert piece, "the browser has ended"
            self._left += piece
        text, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.heard(message["method"], message["params"])
        return message

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._to)
        end(self._child, grace=5)
        os.close(self._from)
        self._folder.cleanup()


class Page:
    """One tab.

    Attributes:
        faults: what its scripts failed by, and what was refused.
    """

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self.faults: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Has the browser do something to this tab."""
        return self._browser.call(method, self._session, **parameters)

    def heard(self, method: str, told: dict[str, Any]) -> None:
        """Something has happened to it."""
        if method == "Runtime.exceptionThrown":
            self.faults.append(json.dumps(told["exceptionDetails"])[:1000])
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.faults.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """As so large a screen shows it, in the light or in the dark."""
        small = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=small)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def go(self, url: str) -> None:
        """Opens an address, anew."""
        self.leave()
        self.call("Page.navigate", url=url)

    def leave(self) -> None:
        """Goes nowhere, before the server ends of which it is told: that would be a fault of its scripts."""
        self.call("Page.navigate", url="about:blank")

    def js(self, expression: str) -> Any:
        """What an expression gives; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, expression: str, seconds: float = _SECONDS) -> Any:
        """What an expression gives, as soon as that is something."""
        deadline = time.monotonic() + seconds
        while not (found := self._tried(expression)):
            assert time.monotonic() < deadline, f"never: {expression}; {self.faults}; {self.text()[:2000]}"
            time.sleep(0.05)
        return found

    def _tried(self, expression: str) -> Any:
        """A page that is just being opened knows nothing yet; one that is left has nobody to ask."""
        found = f"const found = {expression}; return found instanceof Node || found"
        try:
            return self.js(f"(() => {{ try {{ {found} }} catch {{ return null }} }})()")
        except RefusedError:
            return None

    def text(self) -> str:
        """All that it shows."""
        return str(self.js("document.body ? document.body.innerText : ''"))

    def press(self, key: str) -> None:
        """Presses a key: a letter, or one of `KEYS`."""
        code = KEYS.get(key) or ord(key.upper())
        text = {"Enter": "\r", "Escape": "", "Tab": ""}.get(key, key)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self) -> bytes:
        """What is seen of it, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", optimizeForSpeed=False)["data"])

    def close(self) -> None:
        """Closes the tab."""
        self._browser.call("Target.closeTarget", targetId=self._target)


def _pipe() -> tuple[int, int]:
    """The reading and the writing end, with high numbers."""
    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HIGH) for end in low]
    for one in low:
        os.close(one)
    return high[0], high[1]
