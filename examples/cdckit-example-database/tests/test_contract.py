"""The source against cdckit's suite, which a plugin author gets with it, and against what signals ask for."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import Batch, Offset, Record, Source, SourceError, Struct
from cdckit.testing import SourceSuite


class TestSqlite(SourceSuite):
    type_name = "sqlite-log"

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "shop.db"
        self.more: dict[str, Any] = {}
        self.sql("CREATE TABLE orders (id INTEGER PRIMARY KEY, city TEXT, price REAL, mark BLOB)")

    def options(self) -> Mapping[str, Any]:
        return {"topic.prefix": "shop", "database.path": str(self.file), **self.more}

    def change(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self.sql("INSERT INTO orders VALUES (?, 'Graz', 1.5, x'00ff')", token)

    def token(self, record: Record) -> int | None:
        if record.topic != "shop.main.orders" or not isinstance(record.value, Struct):
            return None
        row = record.value["after"]
        return int(row["id"]) if row is not None else None

    def sql(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.file, isolation_level=None)) as db:
            db.execute(statement, values)

    def test_an_entry_of_the_list_that_matches_no_table_is_named(self, tmp_path: Path) -> None:
        self.more["table.include.list"] = r"main\.orders,main\.order"
        with self.opened(tmp_path) as source:
            [found] = source.unmatched()
        assert str(found).startswith("source.table.include.list: 'main\\.order' matches nothing")

    # -- rows of the log that were not read are deleted

    def test_they_are_told_of(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            [log] = source.plan(begin, None)
            self.change([1, 2, 3])
            end = source.latest_offset(begin)
            self.sql("DELETE FROM cdckit_log WHERE id <= 2")
            said = r"shop: reading goes on behind row 0 of the log, which has lost rows up to 2"
            for ask in (lambda: source.latest_offset(begin), lambda: list(source.read(log))):
                with pytest.raises(SourceError, match=said):
                    ask()
            assert source.latest_offset(end) == end

    def test_a_new_snapshot_is_taken_where_the_mode_says_so(self, tmp_path: Path) -> None:
        self.more["snapshot.mode"] = "when_needed"
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change([1, 2, 3])
            self.sql("DELETE FROM cdckit_log")
            [snapshot] = source.plan(begin, None)
            batches = list(source.read(snapshot))
            assert [token for token, _, _ in self._seen(batches)] == [1, 2, 3]
            assert batches[-1].offset == {"number": 3}

    # -- signals

    @pytest.mark.parametrize("strategy", ["insert_insert", "insert_delete"])
    def test_an_incremental_snapshot_goes_by_whole_keys_with_either_kind_of_marks(
        self, tmp_path: Path, strategy: str
    ) -> None:
        self._take_signals(
            {"incremental.snapshot.chunk.size": 2, "incremental.snapshot.watermarking.strategy": strategy}
        )
        self.sql("CREATE TABLE pairs (a INTEGER, b TEXT, n INTEGER, PRIMARY KEY (a, b))")
        keys = [(a, b) for a in (1, 2, 3) for b in ("x", "y", "z")]
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            for a, b in keys:
                self.sql("INSERT INTO pairs VALUES (?, ?, 0)", a, b)
            self._signal("incremental", "main.pairs")
            batches = self._read_on(source, begin)
        records = [record for batch in batches for record in batch.records if record.topic == "shop.main.pairs"]
        values = [record.value for record in records if isinstance(record.value, Struct)]
        found = [value["after"] for value in values if value["source"]["snapshot"] == "incremental"]
        assert [(row["a"], row["b"]) for row in found] == keys
        positions = [record.position for record in records]
        assert positions == sorted(set(positions))
        assert all(json.loads(json.dumps(batch.offset)) == batch.offset for batch in batches)
        assert set(batches[-1].offset or {}) == {"number"}

    def test_what_changes_between_a_chunks_marks_is_told_by_the_log_alone(self, tmp_path: Path) -> None:
        self._take_signals({})
        self.change([1, 2, 3])
        self.sql(
            "CREATE TRIGGER late BEFORE INSERT ON signals WHEN NEW.type = 'snapshot-window-close' "
            "BEGIN UPDATE orders SET city = 'Wien' WHERE id = 2; END"
        )
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self._signal("incremental", "main.orders")
            records = [record for batch in self._read_on(source, begin) for record in batch.records]
        values = [record.value for record in records if self.token(record) and isinstance(record.value, Struct)]
        told = [(value["op"], value["after"]["id"], value["after"]["city"]) for value in values]
        assert told[:3] == [("u", 2, "Wien"), ("r", 1, "Graz"), ("r", 3, "Graz")]

    def test_a_blocking_snapshot_reads_while_the_log_waits(self, tmp_path: Path) -> None:
        self._take_signals({"max.batch.size": 2})
        self.change([1, 2, 3])
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self._signal("blocking", "main.orders")
            seen = self._seen(self._read_on(source, begin))
        assert [token for token, _, _ in seen] == [1, 2, 3]
        assert len({position for _, _, position in seen}) == 3

    def test_a_table_without_a_key_is_left_and_the_log_goes_on(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        self._take_signals({})
        self.sql("CREATE TABLE notes (text TEXT)")
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self._signal("incremental", "main.notes")
            self.change([1])
            seen = self._seen(self._read_on(source, begin))
        assert [token for token, _, _ in seen] == [1]
        assert "main.notes is not read: it has no primary key" in caplog.text

    def test_heartbeats_come_while_nothing_changes(self, tmp_path: Path) -> None:
        self.more["heartbeat.interval.ms"] = 1
        asked: list[bool] = []
        with self.opened(tmp_path, stopping=lambda: bool(asked), idle_seconds=0.05) as source:
            [log] = source.plan(self._begun(source), None)
            for batch in source.read(log):
                if [record.topic for record in batch.records] == ["__debezium-heartbeat.shop"]:
                    asked.append(True)
        assert asked

    def _take_signals(self, more: Mapping[str, Any]) -> None:
        self.more.update({"signal.data.collection": "main.signals", **more})
        self.sql("CREATE TABLE signals (id TEXT PRIMARY KEY, type TEXT, data TEXT)")

    def _signal(self, kind: str, table: str) -> None:
        data = json.dumps({"type": kind, "data-collections": [table]})
        self.sql("INSERT INTO signals VALUES ('ask', 'execute-snapshot', ?)", data)

    def _read_on(self, source: Source, begin: Offset) -> list[Batch]:
        """To the log's end, as `cdc run --once` does."""
        [log] = source.plan(begin, None)
        [split] = source.bounded(log, source.latest_offset(begin))
        return list(source.read(split))
