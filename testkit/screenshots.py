"""The pictures of the page in the docs: `python -m testkit.screenshots` takes them anew (`make screenshots`).

A fleet of two hundred planted pipelines is served by the program and looked at in a real browser; how long that takes
to be shown is printed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from cdckit.ui.fleet import identify
from testkit.browser import Browser, Page
from testkit.planted import STALE_SECONDS, Planted, plant_fleet, planted
from testkit.servers.process import bound_to_parent, end

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LARGEST = 150_000
"""So many bytes a picture may have."""
_FILES = Path("/etc/cdckit")
_FLEET = 200
_CHARTS = "document.querySelectorAll('.chart canvas').length === 4"


class Shot(NamedTuple):
    """One picture: its name, what is opened, on how large a screen, in the dark or not, and what must be there."""

    name: str
    pipeline: str
    tab: str
    width: int
    height: int
    dark: bool
    ready: str


SHOTS = (
    Shot("ui-fleet", "", "", 1120, 640, False, f"document.querySelectorAll('tbody tr').length === {_FLEET}"),
    Shot("ui-pipeline", "inventory-01", "", 1200, 900, True, _CHARTS),
    Shot("ui-quarantine", "catalog-02", "quarantine", 1200, 620, False, "document.querySelectorAll('details').length"),
    Shot("ui-phone", "", "", 390, 780, False, f"document.querySelectorAll('tbody tr').length === {_FLEET}"),
)


def main() -> int:
    """Takes them all; gives the exit code."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, planted(Path(folder), _FILES) as made, Browser() as browser:
        plant_fleet(made, _FLEET)
        command = [sys.executable, "-m", "cdckit", "ui", folder, "--address", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*command, "--stale-after", str(STALE_SECONDS)],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
        )
        assert process.stdout is not None
        url = process.stdout.readline().rpartition(" ")[2].strip()
        sizes = [_take(browser.page(), made, url, shot) for shot in SHOTS]
        end(process, grace=10)  # type: ignore[arg-type]
    return 0 if max(sizes) <= LARGEST else 1


def _take(page: Page, made: Planted, url: str, shot: Shot) -> int:
    page.look(shot.width, shot.height, dark=shot.dark)
    at = f"#/p/{identify(made.folder(shot.pipeline).resolve())}/{shot.tab}".rstrip("/") if shot.pipeline else ""
    page.go(f"{url}{at}")
    page.wait(shot.ready)
    took = page.wait("document.documentElement.dataset.rendered")
    if shot.tab == "quarantine":
        page.js("document.querySelector('details summary').click()")
    for _ in range(3):
        made.breathe()
        time.sleep(1.1)
    picture = page.picture()
    (IMAGES / f"{shot.name}.png").write_bytes(picture)
    print(f"{shot.name}: {len(picture) / 1000:.0f} kB; shown {took} ms after it was asked for")
    page.close()
    return len(picture)


if __name__ == "__main__":
    sys.exit(main())
