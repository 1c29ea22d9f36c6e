"""The page as the program serves it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdckit.ui.fleet import identify
from testkit.browser import Page
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


def names(page: Page) -> Sequence[str]:
    """The pipelines that are shown, in their order."""
    found: list[str] = page.js("[...document.querySelectorAll('table.fleet td.name a')].map(a => a.textContent)")
    return found
