"""The recorded session in the docs: its parts agree, and the program prints today what it has printed then."""

from __future__ import annotations

import json
import re

from testkit.session import CAST, COMMANDS, PAGE, read, record, text_of, told


def test_the_page_has_the_text_of_the_recording() -> None:
    cast = CAST.read_text()
    assert json.loads(cast.partition("\n")[0])["version"] == 2
    events = read(cast)
    assert [at for at, _ in events] == sorted(at for at, _ in events)
    assert told(PAGE.read_text()) == text_of(events)


def test_the_program_prints_the_same_today() -> None:
    recorded, today = told(PAGE.read_text()), text_of(record())
    assert [line[2:] for line in today.splitlines() if line.startswith("$ ")] == list(COMMANDS)
    assert _form(today) == _form(recorded), today
    assert _told(today) == _told(recorded), today


def _form(text: str) -> list[str]:
    """The lines that are no log: without what differs from run to run, and the widths that follow from that."""
    text = re.sub(r"\b[\dA-Za-z]{4,}(-[\dA-Za-z]+)+", "PLACE", re.sub("─+", "─", text))
    text = re.sub(r"\d+\.\d(?!\d)", "SECONDS", text)
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if " INFO " not in line)
    return [line for line in lines if line]


def _told(text: str) -> set[str]:
    """What the log says, without numbers; how often depends on how fast the pipeline is."""
    lines = (line.partition(" INFO ")[2] for line in text.splitlines())
    return {re.sub(r"\d+", "#", line) for line in lines if line}
