"""The public face changes with a line in the changelog, or not at all."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from pathlib import Path

import pytest

import cdckit
from testkit import face


def test_it_is_what_is_recorded() -> None:
    recorded = face.RECORDED.read_text(encoding="utf-8").splitlines()
    changed = sorted(set(recorded) ^ set(face.listing()))
    assert not changed, "tell of them in CHANGELOG.md, under Unreleased, then `make face`"


def test_each_name_of_the_stub_is_in_it() -> None:
    stub = ast.parse(Path(cdckit.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    names = {name.asname or name.name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    listed = {line.split("(")[0] for line in face.listing()}
    assert names
    assert {f"cdckit.{name}" for name in names} <= listed


def test_what_the_changelog_and_the_guide_send_to_is_there() -> None:
    guide = (face.ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
    stable = guide.partition("## What is stable")[2].partition("\n## ")[0].partition("What these offer")[0]
    rows = [line.split("|") for line in face.unreleased().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(cdckit[a-z_.]*)`", row[2])}
    modules = named | set(re.findall(r"`(cdckit[a-z_.]*)`", stable))
    assert {"cdckit", "cdckit.connector.include_lists", "cdckit.testing"} <= modules
    assert not [name for name in sorted(modules) if importlib.util.find_spec(name) is None]


def test_a_change_without_a_line_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name, a member and a parameter less, each of which the listing tells."""
    before = face.listing()
    (split,) = [line for line in before if line.startswith("cdckit.Split(")]
    older = [line for line in before if line not in ("cdckit.lane_of(position: str) -> str", "cdckit.Sought.found")]
    older[older.index(split)] = split.replace("attempt", "try_")
    monkeypatch.setattr(face, "ROOT", tmp_path)
    monkeypatch.setattr(face, "RECORDED", tmp_path / "face.txt")
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n- `Split.attempt`.\n\n## 0.1.0\n\n- `lane_of`, `Sought`.\n")
    face.RECORDED.write_text("\n".join(older))
    assert face.unexplained() == ["Sought", "lane_of"]
    assert face.main() == 1
    assert capsys.readouterr().err == "CHANGELOG.md, under Unreleased, does not tell of: Sought, lane_of\n"
    changelog.write_text(changelog.read_text().replace("\n## 0.1.0\n", "", 1))
    assert face.main() == 0
    assert face.RECORDED.read_text().splitlines() == before


def test_it_is_told_alike_by_every_python() -> None:
    """No address, no type of this version's own."""
    assert not [line for line in face.listing() if " at 0x" in line or "ForwardRef" in line or "<" in line], sys.version
