"""Few rows with large values take no more memory than many small ones, before they are columns, too."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cdckit.api.record import Record
from cdckit.tables.context import TableContext
from cdckit.tables.lake.record_bytes import about_bytes
from cdckit_delta.config import DeltaConfig
from cdckit_delta.sink import DeltaSink
from spark.test_encoder import event, rows_event

MB = 1_000_000
COUNT = 24


def calls() -> Iterator[list[Record]]:
    """Four records at a time, as a source of such rows gives them."""
    records = list(rows_event("c", [chr(97 + number) * MB for number in range(COUNT)]))
    for at in range(0, COUNT, 4):
        yield records[at : at + 4]


def opened(folder: Path, mode: str) -> DeltaSink:
    sink = DeltaSink(DeltaConfig.load({"path": str(folder), "mode": mode}, "sink")[0])
    sink.open(TableContext("p", "g"))
    sink.begin("g", ())
    return sink


@pytest.mark.parametrize("mode", ["changelog", "mirror", "history"])
def test_they_are_committed_before_they_are_much(tmp_path: Path, mode: str) -> None:
    with closing(opened(tmp_path, mode)) as sink:
        commits = 0
        for records in calls():
            sink.write(records, ())
            if sink.full:
                commits += 1
                sink.commit(commits)
        assert commits == COUNT * MB // (12 * MB)


@pytest.mark.parametrize("mode", ["changelog", "mirror", "history"])
def test_where_they_are_one_batch_they_wait_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    (tmp_path / "waiting").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "waiting"))
    with closing(opened(tmp_path / "lake", mode)) as sink:
        for records in calls():
            sink.write(records, (), whole=True)
            assert not sink.full
        assert any(file.is_file() for file in (tmp_path / "waiting").rglob("*"))
        sink.commit(1)
    names = DeltaTable(tmp_path / "lake" / "t").to_pyarrow_table().column("name").to_pylist()
    assert sorted(names) == [chr(97 + number) * MB for number in range(COUNT)]


def test_of_many_records_some_are_looked_at() -> None:
    texts = [event("u", number, "ä" * 100) for number in range(2_000)]
    assert about_bytes([]) == 0
    assert 100 * 2_000 <= about_bytes(texts) <= 110 * 2_000
    assert about_bytes([event("c", 1, "x" * MB)]) >= MB
