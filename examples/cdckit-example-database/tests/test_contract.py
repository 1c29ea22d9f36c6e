"""The source against cdckit's suite, which a plugin author gets with it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import Record, SourceError, Struct
from cdckit.testing import SourceSuite


class TestSqlite(SourceSuite):
    type_name = "sqlite-log"

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "shop.db"
        with closing(sqlite3.connect(self.file)) as db:
            db.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, price REAL, mark BLOB)")

    def options(self) -> Mapping[str, Any]:
        return {"topic.prefix": "shop", "database.path": str(self.file)}

    def test_rows_of_the_log_that_are_gone_unread_are_told(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change([1, 2, 3])
            end = source.latest_offset(begin)
            with closing(sqlite3.connect(self.file, isolation_level=None)) as db:
                db.execute("DELETE FROM cdckit_log WHERE id <= 2")
            with pytest.raises(SourceError, match=r"rows of its log behind 0 are gone, unread"):
                source.latest_offset(begin)
            assert source.latest_offset(end) == end

    def change(self, tokens: Sequence[int]) -> None:
        with closing(sqlite3.connect(self.file, isolation_level=None)) as db:
            for token in tokens:
                db.execute("INSERT INTO orders VALUES (?, 'Graz', 1.5, x'00ff')", (token,))

    def token(self, record: Record) -> int | None:
        if record.topic != "shop.main.orders" or not isinstance(record.value, Struct):
            return None
        row = record.value["after"]
        return int(row["id"]) if row is not None else None
