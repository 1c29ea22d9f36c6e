"""The page's own page of the docs: its pictures, and each option of the command."""

from __future__ import annotations

import re
from pathlib import Path

from cdckit.cli.ui import ui
from cdckit.ui.actions import ACTIONS
from testkit.screenshots import IMAGES, LARGEST, SHOTS

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "ui.md").read_text(encoding="utf-8")
LOGGING = {"--log-format", "--log-level", "--debug", "--plugins-dir"}


def test_its_pictures_are_those_that_the_command_takes() -> None:
    taken = {f"{shot.name}.png" for shot in SHOTS}
    assert {path.name for path in IMAGES.iterdir()} == taken
    assert set(re.findall(r"images/([\w-]+\.png)", TEXT)) == taken
    for name in taken:
        picture = (IMAGES / name).read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert len(picture) <= LARGEST


def test_readme_s_first_screen_ends_with_the_fleet() -> None:
    first = (DOCS.parent / "README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert first.rstrip().endswith("(docs/images/ui-fleet.png)")


def test_each_option_is_told() -> None:
    options = {option for parameter in ui.params for option in parameter.opts if option.startswith("--")}
    assert set(re.findall(r"`(--[\w-]+)", TEXT.partition("## Acting")[0])) == options - LOGGING


def test_each_grade_and_action_is_told() -> None:
    grades = re.findall(r"^\| ([a-z ]+) \|", TEXT.partition("## Who may look")[0], re.MULTILINE)
    assert grades == ["grade", "down", "in trouble", "to look at", "fine", "stopped"]
    acting = TEXT.partition("## Acting")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\| (?!action|---)", acting, re.MULTILINE)) == len(ACTIONS) - 2  # three in a row
