"""A fleet of planted pipelines, the page that shows it, and a browser that looks at it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from testkit.browser import Browser, Page
from testkit.planted import STALE_SECONDS, Planted, plant_fleet, planted
from ui.serving import FLEET, Served, serving


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
