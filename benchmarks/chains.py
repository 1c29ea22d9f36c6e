"""Measures a chain of Debezium's transforms beside the decoding of the same rows: `python -m benchmarks.chains`.

ReadToInsertEvent, ByLogicalTableRouter and ExtractNewRecordState, alone and together, on the records that the source
makes of a log, as rows that a snapshot reads; CPU of this process a row, the best of five readings, and Debezium's own
classes beside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import click
from rich.console import Console
from rich.table import Table as Report

from benchmarks import debezium, workload
from benchmarks.decoding import READINGS, USER, events_in, position, receive, snapshot, table_of
from benchmarks.java_transforms import CHANGES, measured
from benchmarks.report import machine
from cdckit import Record
from cdckit.engine.chain import build_chain
from cdckit.engine.runners.garbage import spare_collections
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersion, TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.rows import RowDecoder
from cdckit_mysql.server.facts import RowLogging
from testkit.servers.mysql import MySQLServer

PACKAGE = "io.debezium.transforms"
STEPS: tuple[tuple[str, dict[str, str]], ...] = (
    ("io.debezium.connector.mysql.transforms.ReadToInsertEvent", {}),
    (f"{PACKAGE}.ByLogicalTableRouter", {"topic.regex": "(.*)\\.t(.*)", "topic.replacement": "$1.all"}),
    (
        f"{PACKAGE}.ExtractNewRecordState",
        {"add.fields": "op,source.ts_ms", "delete.tombstone.handling.mode": "rewrite"},
    ),
)
TOGETHER = "the three together"
BATCH = 2000
"""So many records pass through a chain at once, as in a pipeline."""


@click.command()
@click.option("--rows", default=50_000, help="How many rows.")
def main(rows: int) -> None:
    """Measures the chain and the decoding."""
    show(rows)


def show(rows: int) -> None:
    """Prints what each part takes of a row."""
    with MySQLServer().start(binlog_rows_query_log_events=False) as server:
        server.create_user(USER, USER)
        workload.create(server)
        events = []
        for first, count, per_statement in ((0, rows, 100), (rows, rows // 10, 1)):
            start = position(server)
            workload.write(server, workload.inserts(first, count, per_statement))
            events.append(receive(server, start))
        version, versions = _version(server)
        values = [value for _, value in version.shown]
        read = _best(lambda: snapshot(server, values), 11 * rows // 10)
    java = measured([[step] for step in STEPS] + [list(STEPS)], rows, READINGS, CHANGES) if debezium.installed() else []
    report = Report("what", "100 rows an event", "one row an event", "Java's", title=f"µs a row ({machine()})")
    report.add_row("a snapshot's rows received and decoded", f"{read:.2f}", "", "")
    for name, one in _costs(events[0], version, versions).items():
        single = _costs(events[1], version, versions)[name]
        beside = dict(zip([*(step.rpartition(".")[2] for step, _ in STEPS), TOGETHER], java, strict=False)).get(name)
        report.add_row(name, f"{one:.2f}", f"{single:.2f}", "" if beside is None else f"{beside:.2f}")
    Console(width=100).print(report)


def _version(server: MySQLServer) -> tuple[TableVersion, TableVersions]:
    config, _ = MySqlConfig.load({"topic.prefix": "p", "database.user": USER}, "source")
    versions = TableVersions(config, Filters(config), RowLogging(mariadb=False, complete=True), run_id="bench")
    return versions.of(table_of(server)), versions


def _costs(spans: list[Span], version: TableVersion, versions: TableVersions) -> dict[str, float]:
    """What each part takes of a row, in the order of the work."""
    records = [record for made in _records(spans, version, versions) for record in made]
    costs = {
        "decoding: the log's events to rows": _best(lambda: _decoded(spans, version), len(records)),
        "the same, and records": _best(lambda: sum(map(len, _records(spans, version, versions))), len(records)),
    }
    for name, options in STEPS:
        costs[name.rpartition(".")[2]] = _chain([(name, options)], records)
    return {**costs, TOGETHER: _chain(STEPS, records)}


def _chain(steps: Sequence[tuple[str, dict[str, str]]], records: Sequence[Record]) -> float:
    chain = build_chain([{"type": name, **options} for name, options in steps], {})
    batches = [records[at : at + BATCH] for at in range(0, len(records), BATCH)]

    def apply() -> None:
        for batch in batches:
            chain.apply(batch)

    return _best(apply, len(records))


def _best(work: Callable[[], object], count: int) -> float:
    found = []
    spare_collections()
    for _ in range(READINGS):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found) / count * 1e6


def _decoded(spans: list[Span], version: TableVersion) -> int:
    decoder: RowDecoder | None = None
    rows = 0
    for event in events_in(spans):
        if isinstance(event, RowsEvent):
            decoder = decoder or RowDecoder(event.table, version.values)
            rows += len(decoder.write_rows(event))
    return rows


def _records(spans: list[Span], version: TableVersion, versions: TableVersions) -> Iterator[list[Record]]:
    """Those of each event."""
    decoder: RowDecoder | None = None
    for event in events_in(spans):
        if isinstance(event, RowsEvent):
            decoder = decoder or RowDecoder(event.table, version.values)
            source = versions.blocks.block(version.table.id, 1_700_000_000_000_000, "binlog.000001", event.start)
            yield version.events.reads(decoder.write_rows(event), source, f"{event.end:020d}")


if __name__ == "__main__":
    main()
