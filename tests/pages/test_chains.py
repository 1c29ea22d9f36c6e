"""`docs/chains.md`, word for word: each command prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.page import Page

NAME = "chains.md"


@pytest.fixture
def page(tmp_path: Path) -> Page:
    page = Page(NAME, tmp_path)
    page.write_files()
    [messages] = page.blocks("json")
    (tmp_path / "messages.jsonl").write_text(messages)
    return page


def shown(page: Page, heading: str) -> list[tuple[str, str]]:
    """The commands of a section, each with what stands below it."""
    blocks = (block for block in page.blocks("", heading) if block.startswith("$ "))
    return [(command.removeprefix("$ "), out) for command, _, out in (block.partition("\n") for block in blocks)]


def test_each_command_does_what_the_page_says(page: Page) -> None:
    [(record, _)] = shown(page, "Keeping a sample")
    assert page.run(record).code == 0
    assert len((page.folder / "events.jsonl").read_text().splitlines()) == 3
    [(explain, effects)] = shown(page, "What each step did")
    explained = page.run(explain).stdout
    assert explained.startswith(effects)
    assert "  ExtractNewRecordState: not meant by its predicate\n" in explained
    [(passes, passed), (fails, failed)] = shown(page, "Cases")
    for command, code, out in ((passes, 0, passed), (fails, 1, failed)):
        done = page.run(command)
        assert (done.code, done.stdout) == (code, out)
    [(feed, _)] = shown(page, "Feeding a sink")
    assert page.run(feed).code == 0
    assert len((page.folder / "rows.jsonl").read_text().splitlines()) == 3
