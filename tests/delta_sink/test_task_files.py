"""Data files that tasks on Spark write, and the commits that take them: here by hand, without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError

from cdckit import INT32, OPTIONAL_INT32, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Record, Struct, struct_schema
from cdckit.errors import SinkError
from cdckit.tables.context import TableContext
from cdckit.tables.delta.version import DeltaVersion
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.lake.data_files import DataFile
from cdckit.tables.lake.gathering import GatheringTableEncoder
from cdckit.tables.sink import Packet
from cdckit_delta.config import DeltaConfig
from cdckit_delta.sink import DeltaOnSpark, DeltaSink

KEY = struct_schema("Key", {"id": INT32})
ROW = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING}, optional=True)
NUMBER = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING, "number": OPTIONAL_INT32}, optional=True)
LONG = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING, "number": OPTIONAL_INT64}, optional=True)
SOURCE = struct_schema("Source", {"ts_ms": OPTIONAL_INT64, "db": STRING, "table": STRING})


def event(number: int, *more: Any, row: Any = ROW, topic: str = "t") -> Record:
    """An inserted row."""
    envelope = struct_schema("Envelope", {"before": row, "after": row, "source": SOURCE, "op": STRING})
    image = Struct(row, (number, f"n{number}", *more))
    value = Struct(envelope, (None, image, Struct(SOURCE, (1, "d", "a")), "c"))
    return Record(topic, Struct(KEY, (number,)), value, position=f"p{number:04}")


class Lake:
    """A sink on Spark without Spark: its tasks are called here, and what they give goes to the driver at once."""

    def __init__(self, folder: Path, **options: Any) -> None:
        given = {"path": str(folder), "mode": "changelog", "task.file.bytes": 1, **options}
        config, _ = DeltaConfig.load(given, "sink")
        self.pauses: list[Exception] = []
        self.folder = folder
        self.sink = DeltaOnSpark(config)
        self.sink.open(None, TableContext("p", "g", pause=self.pauses.append))  # type: ignore[arg-type]

    def task(self) -> GatheringTableEncoder:
        encoder = self.sink.task_encoder(beside_driver=True)
        assert isinstance(encoder, GatheringTableEncoder)
        return encoder

    def packets(self, *records: Record) -> list[Packet]:
        """Of one task that reads them one by one."""
        task, found = self.task(), list[Packet]()
        for record in records:
            found += [*task([record]), *task.flushed(last=False)]
        return [*found, *task.flushed(last=True)]

    def write(self, batch: int, *tasks: Sequence[Packet]) -> int:
        for packet in (packet for task in tasks for packet in task):
            self.sink._sink.take(packet)
        return self.sink._committed(batch)

    def table(self, topic: str = "t") -> DeltaTable:
        return DeltaTable(self.folder / topic)

    def rows(self, *columns: str, topic: str = "t") -> list[tuple[Any, ...]]:
        batches = DeltaVersion(self.table(topic)).scan(["id", *columns])
        return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())

    def on_disk(self, topic: str = "t") -> set[str]:
        return {path.name for path in (self.folder / topic).glob("**/*.parquet") if "_delta_log" not in path.parts}

    def committed(self, topic: str = "t") -> set[str]:
        return {uri.rpartition("/")[2] for uri in self.table(topic).file_uris()}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def files(packets: Sequence[Packet]) -> list[DataFile]:
    return [file for packet in packets if (file := DataFile.loads(packet.data)) is not None]


def test_files_of_tasks_are_committed_as_they_are(lake: Lake) -> None:
    one, other = lake.packets(event(1), event(2)), lake.packets(event(3))
    names = {file.name for file in files([*one, *other])}
    assert lake.write(0, one, other) == 3
    assert lake.committed() == lake.on_disk() == names
    assert (len(names), lake.rows("name", "__op")) == (2, [(1, "n1", "c"), (2, "n2", "c"), (3, "n3", "c")])
    assert lake.table().transaction_version("p/g") == 0
    assert lake.write(1, lake.packets(event(4))) == 1
    assert [row[0] for row in lake.rows()] == [1, 2, 3, 4]


def test_small_shares_become_one_file_of_the_driver(tmp_path: Path) -> None:
    lake = Lake(tmp_path, **{"task.file.bytes": 10_000})
    tasks = [lake.packets(event(number), event(number + 100)) for number in range(3)]
    assert not files([packet for task in tasks for packet in task])
    lake.write(0, *tasks)
    assert (len(lake.rows()), len(lake.committed())) == (6, 1)
    large = lake.packets(*(event(number) for number in range(200, 400)))
    assert len(files(large)) == 1
    lake.write(1, lake.packets(event(4)), large, lake.packets(event(5)))
    assert (len(lake.rows()), len(lake.committed())) == (208, 3)


def test_shares_of_many_tables_are_given_away_before_they_are_much(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdckit.tables.lake.gathering._MOST_BYTES", 1)
    few = Lake(lake.folder, **{"task.file.bytes": 1000})
    few.write(0, few.packets(*(event(number, topic=f"t{number % 2}") for number in range(10))))
    assert [number for topic in ("t0", "t1") for (number,) in few.rows(topic=topic)] == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    packets = lake.packets(*(event(number, topic="many") for number in range(10)))
    assert [file.rows for file in files(packets)] == [10]
    lake.write(1, packets)
    assert len(lake.rows(topic="many")) == 10


def test_rows_that_go_into_no_file_are_given_away_before_they_are_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdckit.tables.lake.gathering._GROUP_BYTES", 1)
    task = GatheringTableEncoder(TableEncoder("changelog", "gone"), lambda _topic, _columns: None, DeltaSink.faults, 1)
    given: list[Packet] = []
    for number in (1, 2):
        task([event(number)])
        given += task.flushed(last=False)
    assert [(packet.position, packet.rows) for packet in given] == [("p0001", 1), ("p0002", 1)]
    assert not files(given)
    assert not [*task.flushed(last=True)]


def test_a_batch_that_comes_again_is_passed_over_and_its_files_are_removed(lake: Lake) -> None:
    lake.write(0, lake.packets(event(1)))
    lake.write(1, lake.packets(event(2)))
    before = lake.on_disk()
    again = Lake(lake.folder)
    again.write(1, again.packets(event(2)))
    assert (again.rows(), again.on_disk()) == ([(1,), (2,)], before)


def test_a_task_that_fails_leaves_no_file(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdckit.tables.lake.gathering._GROUP_BYTES", 1)
    task = lake.task()
    task([event(1)])
    assert not list(task.flushed(last=False))
    assert len(lake.on_disk()) == 1
    task.drop()
    assert not lake.on_disk()
    task([event(1)])
    assert len(files(list(task.flushed(last=True)))) == len(lake.on_disk()) == 1
    task.drop()
    assert not lake.on_disk()


def test_a_record_at_fault_is_told_before_others_of_its_call_are_kept(lake: Lake) -> None:
    """Whoever sets it aside gives the others once more."""
    task, faulty = lake.task(), event(2).replace(value=Struct(KEY, (2,)))
    with pytest.raises(SinkError):
        task([event(1), faulty.replace(value="text")])
    lake.write(0, [*task([event(1)]), *task.flushed(last=True)])
    assert lake.rows() == [(1,)]


def test_a_batch_that_fails_leaves_no_file(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.write(0, lake.packets(event(1)))
    before = lake.on_disk()
    monkeypatch.setattr("cdckit.tables.lake.table.LakeTable.write", _broken)
    with pytest.raises(SinkError):
        lake.write(1, lake.packets(event(2)))
    assert lake.on_disk() == before


def _broken(*_: Any, **__: Any) -> None:
    raise SinkError("no")


def test_files_of_a_commit_whose_answer_is_lost_stay(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.write(0, lake.packets(event(1)))
    commit = DeltaTable.create_write_transaction

    def unanswered(self: DeltaTable, *given: Any, **more: Any) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", commit)
        commit(self, *given, **more)
        raise CommitFailedError("connection reset")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", unanswered)
    lake.write(1, lake.packets(event(2)))
    assert (len(lake.pauses), lake.rows(), lake.on_disk()) == (1, [(1,), (2,)], lake.committed())


def test_a_commit_that_another_came_before_is_made_behind_it(lake: Lake) -> None:
    lake.write(0, lake.packets(event(1)))
    other = lake.table()
    other.alter.set_table_properties({"who": "another"}, raise_if_not_exists=False)
    lake.write(1, lake.packets(event(2)))
    other.alter.set_table_properties({"who": "again"}, raise_if_not_exists=False)
    lake.write(2, lake.packets(event(3)))
    assert lake.rows() == [(1,), (2,), (3,)]
    assert lake.table().metadata().configuration["who"] == "again"


def test_a_column_added_in_mid_batch(lake: Lake) -> None:
    """Files of before it do not have it, which is null to whoever reads them."""
    lake.write(0, lake.packets(event(1)))
    task = lake.packets(event(2), event(3, 5, row=NUMBER), event(4))
    assert len(files(task)) == 3
    lake.write(1, task, lake.packets(event(5, 6, row=NUMBER)))
    assert lake.rows("number") == [(1, None), (2, None), (3, 5), (4, None), (5, 6)]
    assert {file.name for file in files(task)} <= lake.committed() == lake.on_disk()


def test_a_column_that_gets_a_wider_type_in_mid_batch(lake: Lake) -> None:
    """Files of before it are written anew."""
    lake.write(0, lake.packets(event(1, 1, row=NUMBER)))
    before, behind = lake.packets(event(2, 2, row=NUMBER)), lake.packets(event(3, 1 << 40, row=LONG))
    lake.write(1, before, behind)
    assert lake.rows("number") == [(1, 1), (2, 2), (3, 1 << 40)]
    kept = {file.name for file in files(behind)}
    assert kept < lake.committed()
    assert not {file.name for file in files(before)} & lake.on_disk()


def test_columns_that_a_table_does_not_take_are_left_out(tmp_path: Path) -> None:
    lake = Lake(tmp_path, **{"schema.evolution": "ignore"})
    lake.write(0, lake.packets(event(1)))
    lake.write(1, lake.packets(event(2, 5, row=NUMBER), event(3)))
    assert lake.rows() == [(1,), (2,), (3,)]
    assert "number" not in pa.schema(lake.table().schema()).names
    written = {name for name in lake.committed() for name in pa.parquet.read_schema(tmp_path / "t" / name).names}
    assert "number" not in written


@pytest.mark.parametrize(
    "made",
    [
        {"partition_by": ["name"]},
        {"configuration": {"delta.columnMapping.mode": "name"}},
        {"configuration": {"delta.enableDeletionVectors": "true"}},
    ],
    ids=["partitions", "mapped", "vectors"],
)
def test_what_a_table_needs_besides_its_rows_the_driver_writes(lake: Lake, made: dict[str, Any]) -> None:
    DeltaTable.create(lake.folder / "t", Schema.from_arrow(changelog_schema()), **made)
    task = lake.packets(event(1), event(2))
    lake.write(0, task)
    assert lake.rows("name") == [(1, "n1"), (2, "n2")]
    assert not {file.name for file in files(task)} & lake.on_disk()


def changelog_schema() -> pa.Schema:
    """The columns of a changelog of `event`."""
    layout, batch = next(iter(TableEncoder("changelog", "").gathered([event(1)])[0])).batch()
    assert layout
    return batch.schema


def test_checks_of_values_are_not_passed_by(lake: Lake) -> None:
    lake.write(0, lake.packets(event(1)))
    lake.table().alter.add_constraint({"few": "id < 3"})
    lake.write(1, lake.packets(event(2)))
    with pytest.raises(SinkError, match="failed validation"):
        lake.write(2, lake.packets(event(3)))


def test_the_log_is_that_of_the_driver_s_own_commits(tmp_path: Path) -> None:
    """Properties of the commit, and the statistics of columns that both tell alike."""
    found = []
    for least in (1, 0):
        lake = Lake(tmp_path / str(least), **{"task.file.bytes": least})
        lake.sink._sink.ends_at({"file": "log", "pos": 7})
        records = event(1), event(2)
        lake.write(0, lake.packets(*records) if least else [*lake.sink.encoder()(records)])
        found.append(actions(lake, 1))
    (ours, theirs) = found
    assert ours["commitInfo"]["cdckit.offset"] == theirs["commitInfo"]["cdckit.offset"] == '{"file": "log", "pos": 7}'
    assert ours["txn"] == theirs["txn"]
    assert ours["add"].keys() == theirs["add"].keys()
    mine, other = json.loads(ours["add"]["stats"]), json.loads(theirs["add"]["stats"])
    assert mine["numRecords"] == other["numRecords"] == 2
    assert mine["nullCount"] == other["nullCount"]
    for bound in ("minValues", "maxValues"):
        assert mine[bound] == {name: value for name, value in other[bound].items() if name != "__deleted"}


def actions(lake: Lake, version: int) -> dict[str, Any]:
    lines = (lake.folder / "t" / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    return {name: action for line in lines for name, action in json.loads(line).items()}


def test_checkpoints_have_what_the_log_has(tmp_path: Path) -> None:
    lake = Lake(tmp_path, **{"table.delta.checkpointInterval": "5"})
    for batch in range(6):
        lake.write(batch, lake.packets(event(batch)))
    assert (tmp_path / "t" / "_delta_log" / "_last_checkpoint").exists()
    for log in (tmp_path / "t" / "_delta_log").glob("*.json"):
        if int(log.stem) <= 4:
            log.unlink()
    assert lake.rows() == [(number,) for number in range(6)]
    told = pa.table(lake.table().get_add_actions(flatten=True)).to_pylist()
    assert sorted((one["min.id"], one["max.id"], one["num_records"]) for one in told) == [(n, n, 1) for n in range(6)]
    assert lake.table().transaction_version("p/g") == 5


@pytest.mark.parametrize(
    ("options", "beside", "gathers"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"path": "s3://bucket/lake"}, False, True),
        ({"partition.by": "name"}, True, False),
        ({"mode": "mirror"}, True, False),
        ({"mode": "history"}, True, False),
        ({"task.file.bytes": 0}, True, False),
    ],
)
def test_who_writes(tmp_path: Path, options: dict[str, Any], beside: bool, gathers: bool) -> None:
    config, _ = DeltaConfig.load({"path": str(tmp_path), "mode": "changelog", **options}, "sink")
    sink = DeltaOnSpark(config)
    with closing(sink):
        assert sink.workers_write(beside_driver=beside) is gathers
        assert isinstance(sink.task_encoder(beside_driver=beside), GatheringTableEncoder) is gathers
        assert isinstance(sink.encoder(), TableEncoder)  # what is replayed goes the driver's way


def test_who_has_no_such_files_does_not_load_what_writes_them() -> None:
    """The direct runner's process: they would take memory."""
    code = "import sys, cdckit_delta.sink; sys.exit('pyarrow.parquet' in sys.modules or 'pyarrow.fs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
