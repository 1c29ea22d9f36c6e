"""What a pipeline's ledger costs: `python -m benchmarks.ledger`.

The same batches of a real server are encoded over and over, without the ledger and with it in turn, in one process: the
least of many rounds hardly moves, whatever else the machine does. What it adds is set against a whole run's cost.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import click

from benchmarks import workload
from cdckit.api.messages import Messages
from cdckit.api.record import Batch
from cdckit.api.source import SourceContext
from cdckit.api.struct import TemplateStruct
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.keeper import ledger_of
from cdckit.engine.pipeline import Encoder, make_encoder, make_source
from cdckit.engine.runners.garbage import spare_collections
from cdckit.engine.state.sqlite import SqliteStateStore
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer

_WHOLE = {"snapshot": 7.2, "stream, 100 rows a statement": 7.3, "stream, one row a transaction": 35.0}
"""The least that a whole run to a file takes an event, in µs: docs/benchmarks.md."""


def _batches(server: MySQLServer, folder: Path, rows: int) -> tuple[ResolvedPipeline, dict[str, list[Batch]]]:
    """What a pipeline reads of each scenario."""
    content = {
        "runner": "direct",
        "ledger": True,
        "state": str(folder / "state"),
        "serializer": {"schemas.enable": False},
        "source": source_of(server, workload.DATABASE),
        "sink": {"type": "file", "path": "/dev/null"},
    }
    (folder / "pipeline.json").write_text(json.dumps(content))
    workload.create(server)
    workload.write(server, workload.inserts(0, rows, 500))
    pipeline = load_pipeline(folder / "pipeline.json")
    with closing(SqliteStateStore(folder / "read")) as state, closing(make_source(pipeline)) as source:
        source.open(SourceContext(pipeline.name, state))
        found: dict[str, list[Batch]] = {}
        offset = source.initial_offset()
        for scenario, statements in (
            ("snapshot", ()),
            ("stream, 100 rows a statement", workload.bulk("t", rows, rows * 4 // 5, rows // 5)),
            ("stream, one row a transaction", workload.inserts(3 * rows, rows // 5, 1)),
        ):
            workload.write(server, statements)
            end = source.latest_offset(offset)
            found[scenario] = [batch for split in source.plan(offset, end) for batch in source.read(split)]
            offset = end
        return pipeline, found


def _taken(pipeline: ResolvedPipeline, folder: Path, batches: Sequence[Batch], *, kept: bool) -> float:
    """Seconds of CPU that one round takes."""
    encoder = make_encoder(pipeline)
    for record in (record for batch in batches for record in batch.records):
        if isinstance(record.value, TemplateStruct):
            record.value.template.derived = None  # in a run, each is new
    with closing(SqliteStateStore(folder / "sums")) as state:
        take: Callable[[Messages], None] = _nothing
        took: Callable[[Batch], None] = _nothing
        if kept:
            ledger = ledger_of(pipeline, encoder, state)
            take, took = ledger.take, ledger.took
        begun = time.process_time()
        _round(encoder, batches, take, took)
        return time.process_time() - begun


def _round(
    encoder: Encoder, batches: Sequence[Batch], take: Callable[[Messages], None], took: Callable[[Batch], None]
) -> None:
    for batch in batches:
        for messages in encoder.portions(batch.records):
            take(messages)
        took(batch)


def _nothing(_: object) -> None:
    """Without the ledger."""


@click.command()
@click.option("--rows", default=20_000, help="How many rows the table has; as many events come.")
@click.option("--rounds", default=15, help="How often each is done.")
def main(rows: int, rounds: int) -> None:
    """Measures what the ledger adds to an event."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-ledger-"))
    try:
        with MySQLServer() as server:
            create_reader(server)
            pipeline, scenarios = _batches(server, folder, rows)
        spare_collections()
        for scenario, batches in scenarios.items():
            events = sum(len(batch.records) for batch in batches)
            taken: dict[bool, list[float]] = {False: [], True: []}
            for _ in range(rounds):
                for kept, found in taken.items():
                    found.append(_taken(pipeline, folder, batches, kept=kept))
            before, after = (min(found) / events * 1e6 for found in taken.values())
            whole = _WHOLE[scenario]
            print(
                f"{scenario:<30} {events:>7,} events  encoding {before:5.2f} µs, with the ledger {after:5.2f} µs: "
                f"{after - before:+5.2f} µs, {(after - before) / whole:+.1%} of {whole} µs",
                flush=True,
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
