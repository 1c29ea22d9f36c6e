"""The Spark runner's planner with a live server, and its splits read as workers read them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cdckit.api.batch import Batch
from cdckit.api.marks import MarkKind, TableMark
from cdckit.api.record import Record
from cdckit.api.source import SourceContext, Split
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.planner import SPOOL, Planner
from cdckit_mysql.streaming import planning
from mysql.capture import changes
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def pipeline(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[ResolvedPipeline]:
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    create_reader(mysql_server)
    written = to_file(tmp_path, source_of(mysql_server, unique_name, snapshot_mode="no_data")).written()
    yield load_pipeline(Path(written), runner="spark")
    mysql_server.execute(f"DROP DATABASE {unique_name}")


@contextmanager
def _planner(job: Job) -> Iterator[Planner]:
    planner = Planner(job)
    try:
        yield planner
    finally:
        planner.close()


def _read(job: Job, split: Split) -> list[Batch]:
    with closing(make_source(job.pipeline)) as source:
        source.open(SourceContext("p", marks=job.marks))
        return list(source.read(pickle.loads(pickle.dumps(split))))


def _batches(planner: Planner, job: Job, start: dict[str, object]) -> Iterator[tuple[Sequence[Split], list[Batch]]]:
    """The batches up to the log's end."""
    while (end := planner.latest_offset(start, job.max_bytes)) != start:
        splits = planner.splits(start, end).splits
        yield splits, [batch for split in splits for batch in _read(job, split)]
        start = end


def test_a_backlog_with_marks(
    pipeline: ResolvedPipeline, mysql_server: MySQLServer, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Marks ask which other tables there are, and those of statements are told in the batch that has them."""
    monkeypatch.setattr(planning, "KEPT_BYTES", 1000)
    monkeypatch.setattr(planning, "LEAST_PIECE", 500)
    monkeypatch.setattr(planning, "CERTAIN_BYTES", 0)
    job = Job(pipeline, parallelism=3, max_bytes=4000, wait_seconds=0.0, spools=True, marks=True)
    mysql_server.run_sql(
        f"USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY);"
    )
    with _planner(job) as planner:
        start = planner.initial_offset()
        for _, _ in _batches(planner, job, start):
            pass
        start = planner.latest_offset(start, None)
        rows = "".join(f"INSERT INTO t VALUES ({n});" for n in range(60))
        more = "".join(f"INSERT INTO t VALUES ({n}, {n});" for n in range(60, 120))
        mysql_server.run_sql(f"USE {unique_name}; {rows} ALTER TABLE t ADD v INT; TRUNCATE TABLE u; {more}")
        found: list[Record] = []
        marks: list[TableMark] = []
        spooled = 0
        for splits, batches in _batches(planner, job, start):
            spooled += sum(split.payload.spooled is not None for split in splits)
            found += [record for batch in batches for record in batch.records]
            marks += [mark for batch in batches for mark in batch.marks]
        assert spooled > 3
        assert (pipeline.folder / SPOOL).is_dir()
    assert not (pipeline.folder / SPOOL).exists()
    rows_read = [change[3] for change in changes([record for record in found if record.topic.endswith(".t")])]
    assert rows_read == [*((n,) for n in range(60)), *((n, n) for n in range(60, 120))]
    assert [mark.kind for mark in marks] == [MarkKind.ALTER, MarkKind.TRUNCATE]
    names = {f"{unique_name}.t", f"{unique_name}.u"}
    assert all({example.table for example in mark.captured()} == names for mark in marks)
    positions = [record.position for record in found]
    assert positions == sorted(positions)


def test_a_snapshot_in_batches_with_marks(
    pipeline: ResolvedPipeline, mysql_server: MySQLServer, unique_name: str
) -> None:
    """Each table begins and ends once, with its first and its last rows; the log's end comes behind the snapshot."""
    rows = ",".join(f"({n})" for n in range(40))
    mysql_server.run_sql(
        f"USE {unique_name}; CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY);"
        f"CREATE TABLE c (id INT PRIMARY KEY); INSERT INTO a VALUES {rows}; INSERT INTO c VALUES {rows};"
    )
    given = {"snapshot_mode": "initial", "snapshot_batch_rows": 16}
    config = pipeline.source.config.model_copy(update=given)
    job = Job(
        replace(pipeline, source=replace(pipeline.source, config=config)), parallelism=2, wait_seconds=0.0, marks=True
    )
    told: list[list[tuple[str, str, bool | None]]] = []
    names: list[set[str]] = []
    with _planner(job) as planner:
        planner.end_at_log_end()
        start = planner.initial_offset()
        for _, batches in _batches(planner, job, start):
            found = [mark for batch in batches for mark in batch.marks]
            told.append([(mark.kind, mark.table.partition(".")[2], mark.of_shared) for mark in found])
            records = [record for batch in batches for record in batch.records]
            names.append({change[1] for change in changes(records)})
            mysql_server.run_sql(f"USE {unique_name}; INSERT INTO a VALUES ({-len(told)});")
    begin, end = MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END
    assert names[:5] == [{"a"}, {"a"}, {"a", "c"}, {"c"}, {"c"}]
    assert told[0] == [(begin, "a", None), (begin, "b", True), (begin, "c", True)]
    assert told[1] == told[3] == []
    assert set(told[2]) == {(begin, "b", False), (begin, "c", False), (end, "a", None), (end, "b", None)}
    assert told[4] == [(end, "c", None)]
    assert names[5:] == [{"a"}], "what came while the snapshot was read, up to the log's end behind it"


def test_a_table_that_goes_while_its_rows_are_read_has_begun_once(
    pipeline: ResolvedPipeline, mysql_server: MySQLServer, unique_name: str
) -> None:
    """A second begin would say that the rows of before are no more, which the log is to tell."""
    rows = ",".join(f"({n})" for n in range(40))
    tables = f"CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b LIKE a; INSERT INTO a VALUES {rows};"
    mysql_server.run_sql(f"USE {unique_name}; {tables} INSERT INTO b VALUES {rows};")
    config = pipeline.source.config.model_copy(update={"snapshot_mode": "initial", "snapshot_batch_rows": 16})
    changed = replace(pipeline, source=replace(pipeline.source, config=config))
    told: list[tuple[str, str]] = []
    with _planner(Job(changed, parallelism=2, wait_seconds=0.0, marks=True)) as planner:
        planner.end_at_log_end()
        for _, batches in _batches(planner, planner.job, planner.initial_offset()):
            marks = [mark for batch in batches for mark in batch.marks]
            told += [(mark.kind, mark.table.partition(".")[2]) for mark in marks]
            mysql_server.run_sql(f"USE {unique_name}; DROP TABLE IF EXISTS a;")
    assert [told.count((kind, "a")) for kind in (MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END)] == [1, 1]
    assert [told.count((kind, "b")) for kind in (MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END)] == [2, 1]


def test_tables_are_kept_whole_unless_rows_are_told(
    pipeline: ResolvedPipeline, mysql_server: MySQLServer, unique_name: str
) -> None:
    """Parts of a table would be merged into one another by a sink that keeps tables; others take them one by one."""
    mysql_server.run_sql(f"USE {unique_name}; CREATE TABLE a (id INT PRIMARY KEY, v LONGTEXT);")
    rows = ",".join(f"({n}, REPEAT('x', 7000))" for n in range(5000))
    mysql_server.run_sql(f"USE {unique_name}; INSERT INTO a VALUES {rows}; ANALYZE TABLE a; CREATE TABLE b LIKE a;")
    mysql_server.run_sql(f"USE {unique_name}; INSERT INTO b SELECT * FROM a LIMIT 10;")
    config = pipeline.source.config.model_copy(update={"snapshot_mode": "initial"})
    whole = replace(pipeline, source=replace(pipeline.source, config=config))
    ends = []
    for marks in (True, False):
        with _planner(Job(whole, wait_seconds=0.0, marks=marks)) as planner:
            start = planner.initial_offset()
            ends.append(planner.latest_offset(start, 1)["cdckit_snapshot_cursor"])
    assert [end["table"].rpartition(".")[2] for end in ends] == ["b", "a"]
    assert int(ends[1]["key"][0]) < 4999
