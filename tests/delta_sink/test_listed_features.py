"""Tables whose files have other names for the columns, which Spark opens where their features say so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema

from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.target import BatchId

COLUMNS = {"id": "int", "made at": "timestamp_ntz"}
MAPPING = {"delta.columnMapping.mode": "name"}


def test_a_new_table_lists_the_mapping_beside_what_its_columns_need(tmp_path: Path) -> None:
    target = DeltaTarget(str(tmp_path), {}, "t")
    target.create(COLUMNS, {"sources": "{}"})
    assert _features(tmp_path / "t") >= {"columnMapping", "timestampNtz"}
    target.note({"sources": "[]"})
    target.append(pa.table([[1], [0]], schema=target.schema()), BatchId("p/g", 1))
    assert _features(tmp_path / "t") >= {"columnMapping", "timestampNtz"}


def test_one_that_was_made_without_is_completed_ahead_of_a_batch(tmp_path: Path) -> None:
    schema = Schema.from_arrow(pa.schema([("id", pa.int32()), ("made at", pa.timestamp("us"))]))
    DeltaTable.create(tmp_path / "t", schema, configuration=MAPPING)
    assert "columnMapping" not in _features(tmp_path / "t"), "delta-rs does it by itself"
    DeltaTarget(str(tmp_path), {}, "t").expect(BatchId("p/g", 1))
    assert "columnMapping" in _features(tmp_path / "t")


def _features(folder: Path) -> set[str]:
    protocol = DeltaTable(folder).protocol()
    assert {*(protocol.reader_features or ())} <= {*(protocol.writer_features or ())}
    return {*(protocol.reader_features or ())}
