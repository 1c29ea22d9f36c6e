"""Commands of a pipeline whose state is in another store than a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cdc = Callable[..., Any]
SAID = "error CDC7000: state.address: db:1 cannot be reached for 'scripted'"


@pytest.fixture
def away(pipeline: Path) -> str:
    """A pipeline whose store cannot be reached."""
    pipeline.write_text(pipeline.read_text() + "state: {type: away, address: 'db:1', password: geheim}\n")
    return pipeline.name


@pytest.mark.parametrize(
    "command", [("run", "--once"), ("status",), ("offsets", "show"), ("offsets", "reset"), ("resnapshot", "--table=a")]
)
def test_a_store_that_cannot_be_reached_ends_a_command(cdc: Cdc, away: str, command: tuple[str, ...]) -> None:
    called = cdc(*command, away)
    assert (called.code, called.stdout) == (7, "")
    assert SAID in called.stderr
    assert "geheim" not in called.stderr


def test_validate_names_the_store_and_connect_asks_it(cdc: Cdc, away: str) -> None:
    called = cdc("validate", away)
    assert called.code == 0
    assert called.stdout.endswith("; runner direct; state in the store 'away'\n")
    called = cdc("validate", away, "--connect")
    assert called.code == 7
    assert "fail state: state store: db:1 cannot be reached\n     start it\n" in called.stdout
    assert "geheim" not in called.stdout + called.stderr


def test_list_tells_of_it_beside_the_others(cdc: Cdc, away: str) -> None:
    called = cdc("list", "--json")
    assert called.code == 1
    [listed] = json.loads(called.stdout)
    assert (listed["file"], listed["error"]) == (away, SAID.removeprefix("error CDC7000: "))


def test_stores_are_listed_and_described(cdc: Cdc) -> None:
    found = {(c["kind"], c["name"]): c["distribution"] for c in json.loads(cdc("plugins", "--json").stdout)}
    assert found["state-store", "away"] == "scripted 1.0"
    assert found["state-store", "file"].startswith("cdckit ")
    assert cdc("describe", "away").stdout.startswith("state-store away: a store that cannot be reached\n\naddress  (")
    [described] = json.loads(cdc("describe", "state-store.file", "--json").stdout)
    assert [option["name"] for option in described["options"]] == ["path"]
    assert len(json.loads(cdc("describe", "file", "--json").stdout)) == 2


def test_the_folder_of_this_machine_may_be_lost_or_elsewhere(cdc: Cdc, pipeline: Path, tmp_path: Path) -> None:
    call = ("run", pipeline.name, "--once", "--set", "state=kept", "--set", "local.folder=here")
    assert len(cdc(*call).lines) == 3
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"status.json", "details.json", "runner"}
    assert (tmp_path / "kept" / "state.db").exists()
    for path in (tmp_path / "here").iterdir():
        path.unlink()
    (tmp_path / "here").rmdir()
    assert cdc(*call).lines == []
