"""The Spark runner's planner with a live server, and its splits read as workers read them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cdckit.api.marks import MarkKind, TableMark
from cdckit.api.record import Batch, Record
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
