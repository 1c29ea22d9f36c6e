"""Mirrors and changelogs of scripted logs among whose rows stand table marks, and of logs that tell none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from cdckit.api.marks import MarkKind
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from cdckit.tables.context import TableContext
from cdckit.tables.definitions import Fitting
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.marks import Mark
from cdckit.tables.packets import PACKET_SCHEMA, table_packets
from cdckit.tables.segments import emptied, segments
from cdckit.tables.sink import Packet
from cdckit.tables.target import BatchId
from cdckit_spark.config import LakeConfig
from cdckit_spark.mirror import Mirror
from cdckit_spark.packets import tables_of
from cdckit_spark.sink import LakeSink
from cdckit_spark.targets import DeltaTarget
from spark.script import Script
from spark.test_encoder import event
from spark.writers import BY_DRIVER, BY_EITHER

pytestmark = pytest.mark.spark

TOPIC = "script.shop.customers"
ROUTER = {"type": "ByLogicalTableRouter", "topic.regex": r".*\.shard.*", "topic.replacement": "script.shop.all"}


class Lake:
    """Runs a script into tables, and reads them."""

    def __init__(self, session: SparkSession, script: Script, folder: Path, small: int) -> None:
        self.session = session
        self.script = script
        self.folder = folder
        self.small = small

    def run(self, mode: str = "mirror", state: str = "state", **options: Any) -> None:
        options = {"small_batch_rows": self.small, **options}
        pipeline = self.script.pipeline(self.folder / state, "spark", path=self.folder / "lake", mode=mode, **options)
        SparkRunner(pipeline).run(once=True)

    def rows(self, topic: str = TOPIC, *columns: str) -> list[tuple[Any, ...]]:
        frame = self.session.read.format("delta").load(str(self.folder / "lake" / topic))
        return sorted((tuple(row) for row in frame.select(*columns or ["id", "name"]).collect()), key=repr)


@pytest.fixture(params=BY_EITHER)
def lake(session: SparkSession, script: Script, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    """Tables that one of the two writers has."""
    return Lake(session, script, tmp_path, request.param)


@BY_DRIVER
def test_reads_that_no_snapshot_begins_leave_the_rest(lake: Lake) -> None:
    """As those of an incremental snapshot, or of a second connector into the same topic."""
    lake.script.change("c", {"id": 1, "name": "kept"})
    lake.run()
    lake.script.change("r", {"id": 2, "name": "read"})
    lake.run()
    assert lake.rows() == [(1, "kept"), (2, "read")]


@pytest.mark.parametrize(
    ("key", "marks"),
    [
        (("id",), True),
        pytest.param((), False, marks=pytest.mark.nightly),
        pytest.param(("id",), False, marks=pytest.mark.nightly),
        pytest.param((), True, marks=pytest.mark.nightly),
    ],
)
def test_two_truncates_in_one_chunk(lake: Lake, key: tuple[str, ...], marks: bool) -> None:
    """Told by marks, or by events alone."""

    def truncate() -> None:
        lake.script.mark("truncate", key=key) if marks else lake.script.change("t", key=key)

    lake.script.change("c", {"id": 1, "name": "old"}, key=key)
    truncate()
    lake.script.change("c", {"id": 2, "name": "old"}, key=key)
    truncate()
    lake.script.change("c", {"id": 3, "name": "new"}, key=key)
    lake.run(marks=marks)
    assert lake.rows() == [(3, "new")]


@BY_DRIVER
def test_a_table_that_is_empty_at_a_new_snapshot_is_emptied(lake: Lake) -> None:
    lake.script.row({"id": 1, "name": "old"})
    lake.run(marks=True)
    (lake.script.folder / "snapshot.jsonl").unlink()
    lake.script.mark("snapshot_begin", file="snapshot.jsonl")
    lake.script.mark("snapshot_end", file="snapshot.jsonl")
    lake.run(state="another state", marks=True)
    assert lake.rows() == []


@BY_DRIVER
def test_what_happens_to_one_shard_leaves_the_others(lake: Lake) -> None:
    """A router puts the shard into the key; so its rows are known."""

    def change(op: str, shard: int, number: int, name: str) -> None:
        lake.script.change(op, {"id": number, "name": name}, table=f"shard{shard}")

    options: dict[str, Any] = {"marks": True, "transforms": [ROUTER]}
    for shard in (1, 2):
        change("c", shard, 1, f"of {shard}")
    lake.run(**options)
    lake.script.mark("truncate", table="shard1")
    lake.run(**options)
    assert lake.rows("script.shop.all") == [(1, "of 2")]
    change("c", 1, 3, "old")
    change("u", 2, 1, "new of 2")
    lake.script.mark("drop", table="shard1")
    change("c", 1, 4, "new")
    lake.run(**options)
    assert lake.rows("script.shop.all") == [(1, "new of 2"), (4, "new")]


@BY_DRIVER
def test_a_shard_whose_rows_cannot_be_told_apart_is_refused_by_name(lake: Lake) -> None:
    options: dict[str, Any] = {"marks": True, "transforms": [{**ROUTER, "key.enforce.uniqueness": False}]}
    for shard in (1, 2):
        lake.script.change("c", {"id": shard, "name": "x"}, table=f"shard{shard}")
    lake.script.mark("truncate", table="shard1")
    with pytest.raises(SinkError, match=r"shop\.all: at position s0+2\.0 shop.shard1 was truncated.*shop.shard2"):
        lake.run(**options)


@BY_DRIVER
def test_a_changelog_tells_what_empties_a_table(lake: Lake) -> None:
    """Nothing of what is before its first row."""
    lake.script.mark("create")
    lake.script.change("c", {"id": 1, "name": "one"})
    lake.script.mark("truncate")
    lake.run("changelog", marks=True)
    lake.script.mark("drop")
    lake.script.mark("create")
    lake.script.change("c", {"id": 2, "name": "two"})
    lake.run("changelog", marks=True)
    columns = "__position", "id", "__op", "__deleted", "__db", "__table"
    place = False, "shop", "customers"
    expected = [(1, "c"), (None, "t"), (None, "t"), (None, "t"), (2, "c")]
    assert [row[1:] for row in lake.rows(TOPIC, *columns)] == [(*one, *place) for one in expected]


@BY_DRIVER
def test_the_query_of_the_docs_folds_a_changelog(lake: Lake) -> None:
    page = Path(__file__).parents[2] / "docs" / "sinks" / "spark.md"
    [query] = re.findall(r"```sql\n(with emptied.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    for number in (1, 2):
        lake.script.change("c", {"id": number, "name": "old"})
    lake.script.mark("drop")
    for number in (2, 3, 4):
        lake.script.change("c", {"id": number, "name": "new"})
    lake.script.change("d", {"id": 4, "name": "new"})
    lake.script.change("u", {"id": 3, "name": "newer"})
    lake.run("changelog", marks=True)
    lake.session.read.format("delta").load(str(lake.folder / "lake" / TOPIC)).createOrReplaceTempView("orders")
    assert sorted((row["id"], row["name"]) for row in lake.session.sql(query).collect()) == [(2, "new"), (3, "newer")]


@BY_DRIVER
def test_what_empties_one_shard_names_it_in_a_changelog(lake: Lake) -> None:
    for shard in (1, 2):
        lake.script.change("c", {"id": shard, "name": "x"}, table=f"shard{shard}")
    lake.script.mark("drop", table="shard1")
    lake.run("changelog", marks=True, transforms=[ROUTER])
    columns = "__position", "id", "__op", "__table", "__dbz__physicalTableIdentifier"
    *_, last = lake.rows("script.shop.all", *columns)
    assert last[1:] == (None, "t", "shard1", "script.shop.shard1")


@BY_DRIVER
@pytest.mark.parametrize("kind", ["untold", "rename"])
def test_a_changelog_stops_as_a_mirror_does(lake: Lake, kind: str) -> None:
    lake.script.change("c", {"id": 1, "name": "one"})
    lake.script.mark(kind, previous="shop.other")
    with pytest.raises(SinkError, match=r"cdc resnapshot FILE --table shop\.customers"):
        lake.run("changelog", marks=True)
    lake.run("changelog", marks=True, **{"schema.evolution": "try_evolve"})
    assert lake.rows(TOPIC, "id", "__op") == [(1, "c")]


class Batches:
    """A sink that is handed batches of packets, as a runner hands them."""

    def __init__(self, session: SparkSession, lake: Path, small: int) -> None:
        self.session = session
        self.table = lake / "t"
        config, _ = LakeConfig.load({"path": str(lake), "mode": "mirror", "small.batch.rows": small}, "sink")
        self.sink = LakeSink(config)
        self.sink.open(session, TableContext("p", "g", marks=True))

    def write(self, batch: int, packets: list[Packet]) -> None:
        self.sink.write(self.frame(packets), batch)

    def frame(self, packets: list[Packet]) -> DataFrame:
        return self.session.createDataFrame(pa.Table.from_batches([table_packets(packets)]).to_pandas(), PACKET_SCHEMA)

    def version(self) -> int:
        [(found,)] = DeltaTable.forPath(self.session, str(self.table)).history(1).select("version").collect()
        return int(found)

    def rows(self) -> list[tuple[Any, ...]]:
        frame = self.session.read.format("delta").load(str(self.table))
        return sorted(tuple(row) for row in frame.select("id", "name").collect())


def _mark(kind: MarkKind, position: str) -> Packet:
    return Mark(kind, position, "d.a", "d.a").packet("t")


def _rows(*events: tuple[str, int, str, str]) -> list[Packet]:
    made = [event(op, number, name).replace(position=position) for op, number, name, position in events]
    return list(TableEncoder("mirror", "gone")(made))


@pytest.mark.parametrize(
    "small", [pytest.param(0, id="spark"), pytest.param(1000, id="driver", marks=pytest.mark.nightly)]
)
def test_a_batch_in_segments_is_there_once(session: SparkSession, tmp_path: Path, small: int, nightly: bool) -> None:
    """Also where it was killed behind its first segment, which Spark wrote: what is there is not written again."""
    batches = Batches(session, tmp_path, small)
    batches.write(0, _rows(("c", 1, "a", "001"), ("c", 9, "z", "009")))
    packets = [
        *_rows(
            ("c", 10, "b", "010"),
            ("c", 12, "c", "012"),
            ("c", 21, "d", "021"),
            ("d", 12, "c", "022"),
            ("c", 41, "e", "041"),
        ),
        _mark(MarkKind.TRUNCATE, "011"),
        _mark(MarkKind.ALTER, "015"),
        _mark(MarkKind.ALTER, "040"),
    ]
    rows = tables_of(batches.frame(packets))["t"]
    first, *_ = segments(rows.marks)
    target = batches.sink._target("t")
    assert isinstance(target, DeltaTarget)
    mirror = Mirror(target, target.columns(), BatchId("p/g/1", 1), "gone", Fitting())
    mirror.write(rows, first, emptied(first.marks, {"d.a"}, target))
    assert batches.rows() == [(12, "c")]
    killed = batches.version()
    for _ in range(2 if nightly else 1):
        batches.write(1, packets)
        assert (batches.rows(), batches.version() - killed) == ([(21, "d"), (41, "e")], 2)
