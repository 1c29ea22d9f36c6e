"""Tables that Spark and the driver's own writer (delta-rs) write in turn: each change once, whoever comes again."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from cdckit import INT32, OPTIONAL_STRING, STRING, MarkKind, Record, Struct, struct_schema
from cdckit.api.schema import Stored
from cdckit.tables.context import TableContext
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.groups import Mode
from cdckit.tables.made_tables import MadeTables
from cdckit.tables.marks import Mark
from cdckit.tables.packets import PACKET_SCHEMA, table_packets
from cdckit.tables.sink import Packet
from cdckit_spark.config import LakeConfig
from cdckit_spark.folders import hadoop_path
from cdckit_spark.sink import LakeSink
from spark.test_encoder import KEY, SOURCE, event

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

Row = tuple[str, int, str, str]
"""An operation, a key, a name and a position."""
SPARK, DRIVER = 0, 1000
"""Values of `small.batch.rows`."""


class Writers:
    """A sink for each of two writers, or one that is made anew for each batch, over the same tables."""

    def __init__(self, session: SparkSession, lake: Path, mode: Mode, **options: Any) -> None:
        self.session, self.lake, self.mode, self.options = session, lake, mode, options

    def sink(self, small: int, *, marks: bool = False, made: MadeTables | None = None) -> LakeSink:
        given = {"path": str(self.lake), "mode": self.mode, "small.batch.rows": small, **self.options}
        config, _ = LakeConfig.load(given, "sink")
        sink = LakeSink(config)
        sink.open(self.session, TableContext("p", "g", marks=marks, made=made or MadeTables()))
        return sink

    def frame(self, rows: Sequence[Row]) -> DataFrame:
        packets: list[Packet] = []
        for op, number, name, position in rows:
            packets += self.packets([event(op, number, name).replace(position=position)])
        return self.frame_of(packets)

    def packets(self, records: Sequence[Record]) -> list[Packet]:
        return list(TableEncoder(self.mode, "gone")(records))

    def frame_of(self, packets: Sequence[Packet]) -> DataFrame:
        return self.session.createDataFrame(pa.Table.from_batches([table_packets(packets)]).to_pandas(), PACKET_SCHEMA)

    def content(self, *columns: str) -> list[tuple[Any, ...]]:
        frame = self.session.read.format("delta").load(str(self.lake / "t"))
        return sorted(tuple(row) for row in frame.select(*columns).collect())

    def by_delta_rs(self, *columns: str) -> list[tuple[Any, ...]]:
        found = DeltaTable(str(self.lake / "t")).to_pyarrow_table(columns=list(columns)).to_pydict()
        return sorted(zip(*found.values(), strict=True))

    def writers(self) -> list[str]:
        """Who has made each version, in order."""
        commits = sorted((self.lake / "t" / "_delta_log").glob("*.json"))
        actions = [json.loads(line) for commit in commits for line in commit.read_text().splitlines()]
        told = [action["commitInfo"] for action in actions if "commitInfo" in action]
        return ["Spark" if "Spark" in one.get("engineInfo", "") else "delta-rs" for one in told]


def _batches(seed: int, count: int) -> list[list[Row]]:
    """Inserts, updates and deletes of a few keys."""
    chance, present, found = random.Random(seed), set[int](), []
    for batch in range(count):
        rows: list[Row] = []
        for number in range(chance.randint(1, 5)):
            key = chance.randint(1, 6)
            op = "c" if key not in present else chance.choice("uud")
            present = present - {key} if op == "d" else present | {key}
            rows.append((op, key, f"{batch}.{number}", f"{batch:04d}.{number:04d}"))
        found.append(rows)
    return found


def _folded(batches: Sequence[Sequence[Row]]) -> list[tuple[int, str]]:
    rows: dict[int, str] = {}
    for op, key, name, _ in (row for batch in batches for row in batch):
        if op == "d":
            rows.pop(key)
        else:
            rows[key] = name
    return sorted(rows.items())


@pytest.mark.parametrize("mode", [pytest.param("changelog", marks=pytest.mark.nightly), "mirror"])
def test_batches_that_come_again_to_the_other_writer_are_there_once(
    session: SparkSession, tmp_path: Path, mode: Mode, nightly: bool
) -> None:
    """As after kills between a table's commit and Spark's note of the batch, with a writer chosen anew."""
    writers, batches = Writers(session, tmp_path, mode), _batches(7, 12 if nightly else 4)
    kept = {small: writers.sink(small) for small in (SPARK, DRIVER)}
    for number, rows in enumerate(batches):
        first, second = (SPARK, DRIVER) if number % 2 else (DRIVER, SPARK)
        frame = writers.frame(rows)
        kept[first].write(frame, number)
        if number % 3 == 0:
            kept[second].write(frame, number)
    assert {"Spark", "delta-rs"} <= set(writers.writers())
    if mode == "mirror":
        assert writers.content("id", "name") == _folded(batches)
    else:
        expected = sorted((position, key, op) for rows in batches for op, key, _, position in rows)
        assert writers.content("__position", "id", "__op") == expected


@pytest.mark.nightly
def test_spark_reads_the_note_of_a_checkpoint_that_the_other_writer_has_replaced(
    session: SparkSession, tmp_path: Path
) -> None:
    """Hadoop keeps a checksum beside each file that it writes here, and refuses a file that does not fit it."""
    writers = Writers(session, tmp_path, "changelog")
    small = writers.sink(DRIVER)
    small.write(writers.frame([("c", 1, "a", "0000")]), 0)
    session.sql(f"ALTER TABLE delta.`{tmp_path / 't'}` SET TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    spark = writers.sink(SPARK)
    spark.write(writers.frame([("c", 2, "a", "0001")]), 1)
    note = tmp_path / "t" / "_delta_log" / "_last_checkpoint"
    before = note.read_text()
    assert note.with_name("._last_checkpoint.crc").exists()
    for number in (2, 3):
        small.write(writers.frame([("c", number + 1, "a", f"{number:04d}")]), number)
    assert note.read_text() != before
    files, place = hadoop_path(session, str(note))
    assert bytes(files.open(place).readAllBytes()).decode() == note.read_text()
    spark.write(writers.frame([("c", 5, "a", "0004")]), 4)
    assert [key for (key,) in writers.content("id")] == [1, 2, 3, 4, 5]


@pytest.mark.nightly
@pytest.mark.parametrize(
    "alter",
    [
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "ALTER TABLE {} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    ],
)
def test_tables_with_features_that_delta_rs_does_not_write_are_sparks(
    session: SparkSession, tmp_path: Path, alter: str
) -> None:
    writers = Writers(session, tmp_path, "mirror")
    sink = writers.sink(DRIVER)
    sink.write(writers.frame([("c", 1, "a", "0001")]), 0)
    before = len(writers.writers())
    assert set(writers.writers()) == {"delta-rs"}
    session.sql(alter.format(f"delta.`{tmp_path / 't'}`"))
    sink.write(writers.frame([("u", 1, "b", "0002"), ("c", 2, "c", "0003")]), 1)
    assert set(writers.writers()[before:]) == {"Spark"}
    assert writers.content("id", "name") == [(1, "b"), (2, "c")]


@pytest.mark.parametrize("mode", ["changelog", pytest.param("mirror", marks=pytest.mark.nightly)])
def test_the_choice_is_by_the_rows_of_a_batch(session: SparkSession, tmp_path: Path, mode: Mode) -> None:
    writers = Writers(session, tmp_path, mode)
    sink = writers.sink(2)
    sink.write(writers.frame([("c", 1, "a", "0001"), ("c", 2, "a", "0002")]), 0)
    assert set(writers.writers()) == {"delta-rs"}
    sink.write(writers.frame([("c", key, "a", f"000{key}") for key in (3, 4, 5)]), 1)
    assert writers.writers()[-1] == "Spark"


def test_a_large_mirror_is_merged_by_spark(session: SparkSession, tmp_path: Path) -> None:
    writers = Writers(session, tmp_path, "mirror", **{"small.table.bytes": 10})
    sink = writers.sink(DRIVER)
    sink.write(writers.frame([("c", 1, "a", "0001")]), 0)
    assert writers.writers()[-1] == "delta-rs"
    sink.write(writers.frame([("u", 1, "b", "0002")]), 1)
    assert writers.writers()[-1] == "Spark"
    assert writers.content("id", "name") == [(1, "b")]


def _broken(*_: Any) -> None:
    raise ValueError("delta-rs does not")


def test_what_delta_rs_cannot_spark_does(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("cdckit.tables.delta.target.DeltaTarget.append", _broken)
    writers = Writers(session, tmp_path, "changelog")
    with caplog.at_level("INFO", "cdckit.spark"):
        writers.sink(DRIVER).write(writers.frame([("c", 1, "a", "0001")]), 0)
    assert "written by Spark alone (delta-rs does not)" in caplog.text
    assert writers.writers()[-1] == "Spark"
    assert writers.content("id") == [(1,)]


_EMPTYING = (MarkKind.TRUNCATE, MarkKind.DROP, MarkKind.CREATE)


def _marked(writers: Writers, seed: int, number: int) -> list[Packet]:
    """A batch of one packet with rows of few keys, and marks among them that empty the table or cut the batch."""
    chance, rows, marks = random.Random(seed), [], []
    for at in range(20):
        position = f"{number:04d}.{at:04d}"
        if chance.random() < 0.15:
            marks.append(Mark(chance.choice((MarkKind.ALTER, *_EMPTYING)), position, "d.a", "d.a").packet("t"))
        else:
            op = chance.choice("cuud")
            rows.append(event(op, chance.randint(1, 6), position).replace(position=position))
    return [*writers.packets(rows), *marks]


@pytest.mark.parametrize("mode", ["changelog", "mirror"])
def test_both_write_the_same_table_whatever_happens_to_it(
    session: SparkSession, tmp_path: Path, mode: Mode, nightly: bool
) -> None:
    """Read by Spark and by delta-rs."""
    found = []
    for small, who in ((SPARK, "Spark"), (DRIVER, "delta-rs")):
        writers = Writers(session, tmp_path / who, mode)
        sink = writers.sink(small, marks=True)
        for number in range(12 if nightly else 2):
            sink.write(writers.frame_of(_marked(writers, number, number)), number)
        assert set(writers.writers()) == {who}
        columns = ("__position", "__op") if mode == "changelog" else ("__position", "id", "name")
        found += [writers.content(*columns), writers.by_delta_rs(*columns)]
    assert found[0]
    assert found[1:] == found[:1] * 3


_CITY = OPTIONAL_STRING.replace(stored=Stored(older="Bonn"))
_CITIZEN = struct_schema("Value", {"id": INT32, "name": OPTIONAL_STRING, "city": _CITY}, optional=True)
_OF_CITIZENS = struct_schema("Envelope", {"before": _CITIZEN, "after": _CITIZEN, "source": SOURCE, "op": STRING})


def _with_city(number: int, city: str, position: str) -> Record:
    """A row of the table once it has got a column."""
    value = Struct(_OF_CITIZENS, (None, Struct(_CITIZEN, (number, "n", city)), Struct(SOURCE, (1, "d", "a", 0)), "c"))
    return Record("t", Struct(KEY, (number,)), value, position=position)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["changelog", "mirror"])
def test_columns_are_added_without_spark(session: SparkSession, tmp_path: Path, mode: Mode) -> None:
    """A mirror's older rows get what the source gave them."""
    writers = Writers(session, tmp_path, mode)
    sink = writers.sink(DRIVER)
    sink.write(writers.frame([("c", 1, "n", "0001")]), 0)
    sink.write(writers.frame_of(writers.packets([_with_city(2, "Rome", "0002")])), 1)
    assert set(writers.writers()) == {"delta-rs"}
    older = "Bonn" if mode == "mirror" else None
    assert writers.content("id", "city") == [(1, older), (2, "Rome")]
    spark = writers.sink(SPARK)
    spark.write(writers.frame_of(writers.packets([_with_city(3, "Oslo", "0003")])), 2)
    assert writers.content("id", "city") == [(1, older), (2, "Rome"), (3, "Oslo")]
