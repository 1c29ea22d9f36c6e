"""Holds the plugins to cdckit's contracts, with the suites that cdckit brings for that."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import Record, Struct
from cdckit.testing import Delivered, SinkSuite, SourceSuite, StateStoreSuite, TransformSuite, change_events


class TestFolderSource(SourceSuite):
    type_name = "folder"

    @pytest.fixture(autouse=True)
    def _own_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "data"
        self.folder.mkdir()

    def options(self) -> Mapping[str, Any]:
        return {"topic.prefix": "suite", "path": str(self.folder), "poll.interval.ms": 10}

    def change(self, tokens: Sequence[int]) -> None:
        self._append("".join(json.dumps({"id": token}) + "\n" for token in tokens))

    def token(self, record: Record) -> int | None:
        assert isinstance(record.value, Struct)
        token: int = record.value["after"]["id"]
        return token

    def test_a_line_that_is_still_being_written_is_left_for_later(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            self._append('{"id": 1}\n{"id": ')
            first = source.latest_offset({})
            assert first == {"rows.jsonl": 10}
            self._append("2}\n")
            [split] = source.plan(first, source.latest_offset(first))
            assert [self.token(record) for batch in source.read(split) for record in batch.records] == [2]

    def _append(self, text: str) -> None:
        with (self.folder / "rows.jsonl").open("a") as file:
            file.write(text)


class TestMaskFields(TransformSuite):
    type_name = "MaskFields"

    def options(self) -> Mapping[str, Any]:
        return {"fields": ["customer", "note"]}

    def test_columns_are_hidden_before_and_after(self) -> None:
        rows = [
            made.value[side]
            for made in self.applied(change_events())
            for side in ("before", "after")
            if isinstance(made.value, Struct) and made.value.get(side) is not None
        ]
        assert rows
        assert {row["customer"] for row in rows} == {"***", None}
        assert {row["note"] for row in rows} == {None}


class TestJsonFiles(StateStoreSuite):
    type_name = "json-files"

    @pytest.fixture(autouse=True)
    def _own_folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "states"

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.folder)}


class TestSqliteSink(SinkSuite):
    type_name = "sqlite"
    newest_only = True

    @pytest.fixture(autouse=True)
    def _own_file(self, tmp_path: Path) -> None:
        self.path = tmp_path / "suite.db"

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.path)}

    def delivered(self) -> Sequence[Delivered]:
        with closing(sqlite3.connect(self.path)) as database:
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return [
                Delivered(table, json.loads(key), json.loads(value))
                for table in tables
                for key, value in database.execute(f'SELECT key, value FROM "{table}"')
            ]
