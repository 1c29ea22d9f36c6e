"""A fleet of planted pipelines, the page that shows it, served by the program, and a browser that looks at it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cdckit.ui.fleet import identify
from testkit.browser import Browser, Page
from testkit.planted import STALE_SECONDS, Planted, plant_fleet, planted
from testkit.servers.process import bound_to_parent, end

FLEET = 200
TOKEN = "a-token-of-the-tests-0123456789"


@dataclass(frozen=True, slots=True)
class Served:
    """The page as the program serves it."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def get(self, path: str) -> Any:
        """What the page is told at a path."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=60) as answer:
            return json.loads(answer.read())

    def at(self, folder: Path, tab: str = "") -> str:
        """The address of a pipeline's view."""
        return f"{self.url}#/p/{identify(folder.resolve())}{tab and f'/{tab}'}"


@contextmanager
def serving(
    folder: Path, *arguments: str, log: Path, variables: Mapping[str, str] | None = None, address: str = "127.0.0.1:0"
) -> Iterator[Served]:
    """Serves the page of a folder while the context lasts."""
    command = [sys.executable, "-m", "cdckit", "ui", str(folder), "--address", address, *arguments]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(variables or {})},
            preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
        )
        try:
            assert process.stdout is not None
            said = process.stdout.readline().decode()
            assert said.startswith("the page is at "), f"{said}{log.read_text()}"
            yield Served(said.removeprefix("the page is at ").strip(), process, log)
        finally:
            end(process, grace=20)


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    """Two hundred pipelines, seven of them ill."""
    with planted(tmp_path_factory.mktemp("fleet")) as made:
        plant_fleet(made, FLEET)
        yield made


@pytest.fixture(scope="session")
def served(fleet: Planted, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The page of the fleet."""
    log = tmp_path_factory.mktemp("ui") / "log"
    with serving(fleet.root, "--stale-after", str(STALE_SECONDS), log=log) as page:
        yield page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser."""
    assert threading.current_thread() is threading.main_thread()  # the browser ends with the thread that starts it
    with Browser() as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab on a desktop's screen, whose scripts must not fail."""
    opened = browser.page()
    opened.look(1280, 800)
    yield opened
    faults = opened.faults
    opened.close()
    assert faults == []


def names(page: Page) -> Sequence[str]:
    """The pipelines that are shown, in their order."""
    found: list[str] = page.js("[...document.querySelectorAll('table.fleet td.name a')].map(a => a.textContent)")
    return found
