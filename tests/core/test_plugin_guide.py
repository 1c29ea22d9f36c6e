"""`docs/writing-a-plugin.md` tells of every hook, and its examples run; `docs/writing-a-source.md` shows its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cdckit.api import hookspecs
from cdckit.api.hookspecs import ColumnDescription
from cdckit.api.schema import STRING
from cdckit.api.struct import Struct
from cdckit.connector.row_log import Database
from cdckit.connector.source import ConnectorSource
from cdckit.engine.chain import LiveStep, TransformChain
from cdckit.testing import change_events

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "writing-a-plugin.md").read_text()
SOURCE_GUIDE = (ROOT / "docs" / "writing-a-source.md").read_text()


@pytest.fixture(scope="module")
def examples() -> dict[str, Any]:
    """What the guide's Python blocks define, one after the other."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL):
        exec(block, names)
    return names


def test_every_hook_is_told_of() -> None:
    hooks = [name for name in vars(hookspecs) if name.startswith("cdckit_")]
    assert len(hooks) > 10
    assert [name for name in hooks if f"`{name}`" not in GUIDE] == []


def test_the_example_is_registered_by_the_names_it_has(examples: dict[str, Any]) -> None:
    [registration] = examples["cdckit_transforms"]()
    for path in (registration.factory, registration.config):
        assert path.partition(":")[2] in examples


def test_the_example_converts_the_column_that_it_is_told(examples: dict[str, Any]) -> None:
    column = ColumnDescription("d.t", "customer", "VARCHAR", 20, None, True, False, None, "utf8mb4", STRING)
    assert examples["cdckit_converter_types"]() == ["Capitals"]
    converter = examples["cdckit_converter"]("Capitals", {"column": "customer"}, column)
    assert (converter.schema, converter.convert("Ada")) == (STRING, "ADA")
    assert examples["cdckit_converter"]("Capitals", {"column": "name"}, column) is None


def test_the_example_transforms_rows(examples: dict[str, Any]) -> None:
    config, _ = examples["ShoutConfig"].load({"column.name": "customer"}, "")
    chain = TransformChain([LiveStep("Shout", examples["Shout"](config))])
    events = chain.apply(change_events(templates=True))
    rows = [event.value.get("after") for event in events if isinstance(event.value, Struct)]
    assert {row["customer"] for row in rows if row} == {"ADA", "ADA L.", "ŽOFIE 😀", None}


def test_the_walk_through_a_database_source_shows_the_example_as_it_stands() -> None:
    guide = (ROOT / "docs" / "writing-a-source.md").read_text()
    files = [
        path.read_text() for path in (ROOT / "examples" / "cdckit-example-database" / "cdckit_sqlite").glob("*.py")
    ]
    shown = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    assert len(shown) == 3
    assert [block for block in shown if not any(block in file for file in files)] == []
    assert sum(1 for file in files for line in file.splitlines() if line.strip()) < 300


def test_the_walk_through_a_database_source_names_what_its_author_writes() -> None:
    asked = {*Database.__abstractmethods__ - {"close"}, *ConnectorSource.__abstractmethods__ - {"open", "close"}}
    assert {name for name in asked if f"`{name}`" not in SOURCE_GUIDE} == {"initial_offset"}
